import { isJsonObject, JsonInputError, parseJson, RawJson, toJsonText } from '#platform/json';
import { type CsvLayout, isLonger, quoteShort } from './csv.columns';
import type { CsvRecord } from './csv.scanner';

/** A row, as a case. */
export interface CsvCase {
  /** Row number in the file, from 1. */
  row: number;
  case_id: string;
  /** The cell of the column `input`, or an object that maps columns to cells. Cells are strings. */
  input: RawJson;
  /** Like `input`, for the columns of `expected`. Null if there are none. */
  expected: RawJson | null;
  /** An object that maps columns to cells, with the members of the column `metadata`. */
  metadata: RawJson;
  tags: string[];
}

/** Turns the rows of one file into cases. */
export class CaseMaker {
  private readonly idAt: number;
  private readonly input: Value;
  private readonly expected: Value | null;
  private readonly metadata: Member[];
  private readonly json: JsonMetadata;
  private readonly tagsAt: number[];

  constructor(layout: CsvLayout) {
    const { columns, caseIdColumn, mapping, valueColumns } = layout;
    const places = new Map(columns.map((column, index) => [column, index]));
    const member = (column: string): Member => ({
      at: places.get(column)!,
      name: `${JSON.stringify(column)}:`,
    });
    this.idAt = caseIdColumn === null ? -1 : places.get(caseIdColumn)!;
    const valueFrom = (part: readonly string[]): Value => {
      const [column] = part;
      return column !== undefined && valueColumns.includes(column) ? places.get(column)! : part.map(member);
    };
    this.input = valueFrom(mapping.input);
    this.expected = mapping.expected.length > 0 ? valueFrom(mapping.expected) : null;
    this.metadata = mapping.metadata.map(member);
    this.json = new JsonMetadata(layout);
    this.tagsAt = mapping.tags.map((column) => places.get(column)!);
  }

  /**
   * Returns the case of a row. Errors: those of `JsonMetadata`.
   *
   * @param cells the texts of all fields of the row
   * @param jsonOf returns the JSON text of the cell with this index, as a value of a case
   */
  make(
    row: number,
    cells: readonly (string | undefined)[],
    jsonOf: JsonOf = (at) => JSON.stringify(cells[at]),
  ): CsvCase {
    return {
      row,
      case_id: this.idAt < 0 ? String(row) : cells[this.idAt]!,
      input: valueOf(this.input, jsonOf),
      expected: this.expected === null ? null : valueOf(this.expected, jsonOf),
      metadata: this.metadataOf(cells, jsonOf),
      tags: this.tagsAt.length > 0 ? tagsOf(this.tagsAt.map((at) => cells[at]!)) : [],
    };
  }

  private metadataOf(cells: readonly (string | undefined)[], jsonOf: JsonOf): RawJson {
    const { json, metadata } = this;
    if (json.at < 0) return objectOf(metadata, jsonOf);
    const members = metadata.map((one) =>
      one.at === json.at ? json.membersOf(cells[one.at]!) : memberText(one, jsonOf),
    );
    return new RawJson(`{${members.filter((text) => text !== '').join(',')}}`);
  }
}

/** Returns the approximate size of a case as JSON, in bytes: everything but its member names and punctuation. */
export const caseBytes = ({ case_id, input, expected, metadata, tags }: CsvCase): number =>
  [case_id, input.text, expected?.text ?? '', metadata.text, ...tags].reduce(
    (sum, text) => sum + Buffer.byteLength(text),
    0,
  );

interface Member {
  at: number;
  /** As JSON, with a colon. */
  name: string;
}

/** The members of an object, or the index of the cell that is the whole value. */
type Value = readonly Member[] | number;
type JsonOf = (at: number) => string;

const valueOf = (value: Value, jsonOf: JsonOf): RawJson =>
  typeof value === 'number' ? new RawJson(jsonOf(value)) : objectOf(value, jsonOf);

const memberText = ({ at, name }: Member, jsonOf: JsonOf): string => name + jsonOf(at);

/** Builds text, because a JavaScript object would reorder columns named 2 and 1. */
const objectOf = (members: readonly Member[], jsonOf: JsonOf): RawJson =>
  new RawJson(`{${members.map((member) => memberText(member, jsonOf)).join(',')}}`);

const TAGS_MAX = 100;
const TAG_LENGTH_MAX = 255;

/**
 * Returns the tags of a case, each once: its cells, split at commas and semicolons, and trimmed. A cell that is a JSON array
 * of strings is read as these strings, so that a tag may contain any character.
 */
export function tagsOf(cells: readonly string[]): string[] {
  const tags = cells.length === 1 ? tagsOfCell(cells[0]!) : cells.flatMap(tagsOfCell);
  return [...new Set(tags)];
}

/** Returns the fault of a case's tags, or null. */
export function faultOfTags(tags: readonly string[]): string | null {
  if (tags.length > TAGS_MAX) return `has more than ${TAGS_MAX} tags`;
  const long = tags.find((tag) => isLonger(tag, TAG_LENGTH_MAX));
  return long === undefined
    ? null
    : `has a tag of more than ${TAG_LENGTH_MAX} characters, ${quoteShort(long)}`;
}

const tagsOfCell = (cell: string): string[] =>
  tagsOfArray(cell) ??
  cell
    .split(/[,;]/)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

function tagsOfArray(cell: string): string[] | null {
  const text = cell.trim();
  if (!text.startsWith('[') || !text.endsWith(']')) return null;
  try {
    const value: unknown = JSON.parse(text);
    const isTexts = Array.isArray(value) && value.every((one) => typeof one === 'string' && isStorable(one));
    return isTexts ? (value as string[]).filter((tag) => tag !== '') : null;
  } catch {
    return null;
  }
}

/** Whether PostgreSQL can store a text. JSON escapes can spell characters that it cannot store. */
const isStorable = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);

/** Maximum size of a row number as a JSON string, in bytes. */
const ROW_NUMBER_BYTES = 10;

/**
 * Computes the size of rows as cases, in bytes of JSON in UTF-8, without building the cases. A row of control characters
 * is six times as large in JSON as in its file.
 */
export class CaseSize {
  /** Bytes of every case besides its cells and tags. */
  private readonly frame: number;
  /** Index of the column of the case ids. -1 if row numbers are the case ids. */
  readonly idAt: number;
  readonly tagsAt: readonly number[];
  readonly json: JsonMetadata;
  private readonly isIdMapped: boolean;

  constructor(layout: CsvLayout) {
    const { columns, caseIdColumn, mapping, valueColumns } = layout;
    const { input, expected, tags } = mapping;
    this.json = new JsonMetadata(layout);
    const names = [input, expected, this.json.others].map((part) => {
      if (part[0] !== undefined && valueColumns.includes(part[0])) return '';
      const members = part.map((column) => `${JSON.stringify(column)}:`);
      return `{${members.join(',')}}`;
    });
    if (expected.length === 0) names[1] = 'null';
    this.frame = Buffer.byteLength(
      `{"case_id":,"input":${names[0]},"expected":${names[1]},"metadata":${names[2]},"tags":}`,
    );
    this.idAt = caseIdColumn === null ? -1 : columns.indexOf(caseIdColumn);
    this.isIdMapped = Object.values(mapping).some((part) => part.includes(caseIdColumn ?? ''));
    this.tagsAt = tags.map((column) => columns.indexOf(column));
  }

  /**
   * Returns the total size of cells, as JSON strings, up to which a row certainly has at most `bytes` as a case. A case
   * repeats at most its id, tags at most double their characters, and a number such as `1e20` in metadata gets 21 digits.
   */
  cellsWithin(bytes: number): number {
    return (bytes - this.frame - ROW_NUMBER_BYTES) / (this.json.at < 0 ? 2 : 8);
  }

  /**
   * Returns the size of a row as a case.
   *
   * @param record with an exact `jsonBytes`
   * @param members of the cell of JSON metadata, as text. Empty without any
   */
  of({ cells, jsonBytes }: CsvRecord, row: number, tags: readonly string[], members: string): number {
    let bytes = this.frame + jsonBytes + bytesOf(tags);
    for (const at of this.tagsAt) bytes -= bytesOf(cells[at]);
    if (this.json.at >= 0) bytes -= bytesOf(cells[this.json.at]);
    bytes += Buffer.byteLength(members);
    if (members !== '' && this.json.others.length > 0) bytes++; // a comma
    if (this.idAt < 0) bytes += bytesOf(String(row));
    else if (this.isIdMapped) bytes += bytesOf(cells[this.idAt]);
    return bytes;
  }
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/**
 * Maximum size of a cell of tags or JSON metadata, in bytes, so that no cell takes long to parse. 100 tags of 255 characters
 * need less.
 */
export const PARSED_CELL_BYTES = 256 * 1024;

/** A fault in a cell of tags or JSON metadata. The detail is the predicate of a sentence about the row. */
export class CellFault extends Error {
  /** @param pointer to the cell, if the row has one for it */
  constructor(
    readonly detail: string,
    readonly pointer = '',
  ) {
    super(detail);
    this.name = 'CellFault';
  }
}

/** Reads the column of JSON metadata of a file without a mapping. */
export class JsonMetadata {
  /** Index of the column. -1 if the file has none. */
  readonly at: number;
  /** The columns of metadata whose cell is a member of the metadata. */
  readonly others: readonly string[];

  constructor({ columns, mapping, valueColumns }: CsvLayout) {
    const column = mapping.metadata.find((one) => valueColumns.includes(one));
    this.at = column === undefined ? -1 : columns.indexOf(column);
    this.others = mapping.metadata.filter((one) => one !== column);
  }

  /**
   * Returns the members of the object in a cell, as JSON text without braces. A blank cell has none. Errors: `CellFault`,
   * including for a member with the name of another column, because one value would hide the other.
   */
  membersOf(cell: string): string {
    if (cell.trim() === '') return '';
    const value = parse(cell);
    if (!isJsonObject(value)) throw new CellFault('has metadata that is not a JSON object');
    const duplicate = this.others.find((column) => Object.hasOwn(value, column));
    if (duplicate !== undefined) {
      throw new CellFault(
        `has metadata with the member ${quoteShort(duplicate)}, but the file has a column of this name. Rename one of them`,
      );
    }
    return toJsonText(value).slice(1, -1);
  }
}

function parse(cell: string): unknown {
  try {
    return parseJson(Buffer.from(cell));
  } catch (error) {
    if (!(error instanceof JsonInputError)) throw error;
    const { pointer, detail, syntaxFault } = error;
    const fault = syntaxFault?.replace(/ at line \d+, column/, ' at column');
    throw new CellFault(
      fault
        ? `has metadata that is not JSON: ${fault}`
        : `has metadata that cannot be stored${pointer && `, at ${pointer}`}: ${detail}`,
    );
  }
}

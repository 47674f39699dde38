import { RawJson } from '#platform/json';
import { type CsvLayout, isLonger, shown } from './csv.columns';
import type { CsvRecord } from './csv.scanner';

/** A row, as a case. */
export interface CsvCase {
  /** From 1, in the order of the file. */
  row: number;
  id: string;
  /** Object of column and cell; cells are texts. */
  input: RawJson;
  /** Object of column and cell; null where no column is mapped to it. */
  expected: RawJson | null;
  metadata: RawJson;
  tags: string[];
}

/** Makes cases of the rows of one file. */
export class CaseMaker {
  private readonly idAt: number;
  private readonly input: Member[];
  private readonly expected: Member[];
  private readonly metadata: Member[];
  private readonly tagsAt: number[];

  constructor({ columns, caseIdColumn, mapping }: CsvLayout) {
    const places = new Map(columns.map((column, index) => [column, index]));
    const member = (column: string): Member => ({
      at: places.get(column)!,
      name: `${JSON.stringify(column)}:`,
    });
    this.idAt = caseIdColumn === null ? -1 : places.get(caseIdColumn)!;
    this.input = mapping.input.map(member);
    this.expected = mapping.expected.map(member);
    this.metadata = mapping.metadata.map(member);
    this.tagsAt = mapping.tags.map((column) => places.get(column)!);
  }

  /** @param cells the texts of all fields of the row */
  make(row: number, cells: readonly (string | undefined)[]): CsvCase {
    return {
      row,
      id: this.idAt < 0 ? String(row) : cells[this.idAt]!,
      input: objectOf(this.input, cells),
      expected: this.expected.length > 0 ? objectOf(this.expected, cells) : null,
      metadata: objectOf(this.metadata, cells),
      tags: this.tagsAt.length > 0 ? tagsOf(this.tagsAt.map((at) => cells[at]!)) : [],
    };
  }
}

/** About how many bytes a case is in JSON: all but its braces and its own names. */
export const caseBytes = ({ id, input, expected, metadata, tags }: CsvCase): number =>
  [id, input.text, expected?.text ?? '', metadata.text, ...tags].reduce(
    (sum, text) => sum + Buffer.byteLength(text),
    0,
  );

interface Member {
  at: number;
  /** As JSON, with its colon. */
  name: string;
}

/** Written as text: an object of JavaScript would put columns called 2 and 1 into another order. */
const objectOf = (members: readonly Member[], cells: readonly (string | undefined)[]): RawJson =>
  new RawJson(`{${members.map(({ at, name }) => name + JSON.stringify(cells[at])).join(',')}}`);

const TAGS_MAX = 100;
const TAG_LENGTH_MAX = 255;

/** Largest cell of tags, in bytes, as it stands in a file: more than 100 tags of 255 characters need. */
export const TAGS_BYTES = 256 * 1024;

/**
 * The tags of a case: what stands between commas and semicolons in its cells, without the blanks around it. A cell that
 * is a JSON array of texts is taken as these texts, so that a tag may hold any character. Each tag counts once.
 */
export function tagsOf(cells: readonly string[]): string[] {
  const tags = cells.length === 1 ? ofCell(cells[0]!) : cells.flatMap(ofCell);
  return [...new Set(tags)];
}

/** What is wrong with the tags of a case; null for nothing. */
export function faultOfTags(tags: readonly string[]): string | null {
  if (tags.length > TAGS_MAX) return `has more than ${TAGS_MAX} tags`;
  const long = tags.find((tag) => isLonger(tag, TAG_LENGTH_MAX));
  return long === undefined ? null : `has a tag of more than ${TAG_LENGTH_MAX} characters, ${shown(long)}`;
}

const ofCell = (cell: string): string[] =>
  ofArray(cell) ??
  cell
    .split(/[,;]/)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

function ofArray(cell: string): string[] | null {
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

/** Escapes of JSON can spell what no text of PostgreSQL holds. */
const isStorable = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);

/** What a row's number may have as JSON, in quotes. */
const ROW_NUMBER_BYTES = 10;

/**
 * How many bytes rows are as cases, in JSON and in UTF-8, without making cases of them: a row of control characters is
 * six times as long there as in its file.
 */
export class CaseSize {
  /** Of what every case has besides its cells and its tags. */
  private readonly frame: number;
  private readonly idAt: number;
  private readonly isIdMapped: boolean;
  private readonly tagsAt: readonly number[];

  constructor({ columns, caseIdColumn, mapping }: CsvLayout) {
    const { input, expected, metadata, tags } = mapping;
    const names = [input, expected, metadata].map((part) => {
      const members = part.map((column) => `${JSON.stringify(column)}:`);
      return `{${members.join(',')}}`;
    });
    if (expected.length === 0) names[1] = 'null';
    this.frame = Buffer.byteLength(
      `{"id":,"input":${names[0]},"expected":${names[1]},"metadata":${names[2]},"tags":}`,
    );
    this.idAt = caseIdColumn === null ? -1 : columns.indexOf(caseIdColumn);
    this.isIdMapped = Object.values(mapping).some((part) => part.includes(caseIdColumn ?? ''));
    this.tagsAt = tags.map((column) => columns.indexOf(column));
  }

  /**
   * How long all cells may be together, as strings of JSON, so that their row surely has at most `bytes` as a case: a
   * case repeats no more than its id, and tags make at most two characters of each of theirs.
   */
  cellsWithin(bytes: number): number {
    return (bytes - this.frame - ROW_NUMBER_BYTES) / 2;
  }

  /** @param record with `jsonBytes` that are exact */
  of({ cells, jsonBytes }: CsvRecord, row: number, tags: readonly string[]): number {
    let bytes = this.frame + jsonBytes + bytesOf(tags);
    for (const at of this.tagsAt) bytes -= bytesOf(cells[at]);
    if (this.idAt < 0) bytes += bytesOf(String(row));
    else if (this.isIdMapped) bytes += bytesOf(cells[this.idAt]);
    return bytes;
  }
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

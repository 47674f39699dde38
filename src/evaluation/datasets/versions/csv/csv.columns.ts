import { length } from 'class-validator';
import { CsvFault, type CsvRecord, type KeptBytes } from './csv.scanner';

export const COLUMNS_MAX = 256;
export const COLUMN_NAME_MAX = 255;

/** Bytes that hold 255 characters, however they are quoted, and so suffice to detect a longer text. */
export const SHORT_TEXT_BYTES = 4096;

/** The parts of a case that columns map to. */
export const CASE_PARTS = ['input', 'expected', 'metadata', 'tags'] as const;
export type CasePart = (typeof CASE_PARTS)[number];
export type CsvMapping = Record<CasePart, string[]>;

/** How the client wants the columns of a file to be read. */
export interface CsvOptions {
  caseIdColumn: string | null;
  /** Null to recognize columns by their names. A name instead of a list makes the cell the whole value of its part. */
  mapping: { readonly [Part in CasePart]?: string | readonly string[] | null | undefined } | null;
}

/** How the columns of a file are read. */
export interface CsvLayout {
  columns: readonly string[];
  /** Null if row numbers are the case ids. */
  caseIdColumn: string | null;
  /** Contains every column once. The column of the case ids is in it only on request. */
  mapping: CsvMapping;
  /**
   * The columns whose cell is the whole value of its part: text for `input` and `expected`, a JSON object for `metadata`.
   * Other columns of these parts are members of an object.
   */
  valueColumns: readonly string[];
}

/** A fault in the options: they name a column that does not exist, or name one twice. */
export class LayoutFault extends Error {
  /** @param pointer into the options: `/case_id_column`, `/mapping/input/0` */
  constructor(
    readonly pointer: string,
    readonly detail: string,
  ) {
    super(detail);
    this.name = 'LayoutFault';
  }
}

/** The bytes to keep of a header: enough of each name, and one more column than allowed. */
export const HEADER_KEEP: KeptBytes = Array.from({ length: COLUMNS_MAX + 1 }, () => SHORT_TEXT_BYTES);

/**
 * Returns the names in a header row. An empty name, as pandas writes for its index, becomes `column_<n>`. Errors: `CsvFault`
 * for too many names, a blank row, and a long or repeated name.
 */
export function columnsOf(cells: readonly (string | undefined)[], count: number, line: number): string[] {
  if (count > COLUMNS_MAX) {
    throw new CsvFault(line, `names more than ${COLUMNS_MAX} columns`);
  }
  if (count === 1 && !cells[0]) {
    throw new CsvFault(line, 'is empty: a header row with the names of the columns is required');
  }
  const places = new Map<string, number>();
  return cells.slice(0, count).map((cell, index) => {
    const name = cell || `column_${index + 1}`;
    if (isLonger(name, COLUMN_NAME_MAX)) {
      throw new CsvFault(line, `gives column ${index + 1} a name of more than ${COLUMN_NAME_MAX} characters`);
    }
    const before = places.get(name);
    if (before !== undefined) {
      throw new CsvFault(line, `gives columns ${before} and ${index + 1} the same name, ${quoteShort(name)}`);
    }
    places.set(name, index + 1);
    return name;
  });
}

/** What a column becomes. */
export const BECOMES = ['case_id', ...CASE_PARTS] as const;
export type Becomes = (typeof BECOMES)[number];

/** Returns what a column becomes. The column of the case ids is `case_id`, even if the mapping names it. */
export const becomesOf = ({ caseIdColumn, mapping }: CsvLayout, column: string): Becomes =>
  column === caseIdColumn ? 'case_id' : CASE_PARTS.find((part) => mapping[part].includes(column))!;

const ID_HEADERS = ['case_id', 'id'];
/** Names of the column of `expected`. The first one that a file has is used. */
export const EXPECTED_HEADERS = [
  'expected',
  'expected_output',
  'ground_truth',
  'answer',
  'reference',
  'reference_answer',
  'target',
  'ideal',
];
/** Returns a header in lower case and trimmed, because people write `input, expected`. */
export const plainName = (column: string): string => column.trim().toLowerCase();

/** Separates the words of a name in camel case: `groundTruth` becomes `ground_Truth`. */
export const splitCamelCase = (column: string): string => column.replaceAll(/([a-z\d])([A-Z])/g, '$1_$2');

/** Returns a header in snake case, because people write `Ground Truth`, `ground-truth` and `groundTruth`. */
const snakeName = (column: string): string => plainName(splitCamelCase(column)).replaceAll(/[\s_-]+/g, '_');

const isPlainly = (column: string, name: string): boolean => plainName(column) === name;

/** Whether a column has this name of an expected value, in any case and with any separators between its words. */
const isSpelled = (column: string, name: string): boolean =>
  isPlainly(column, name) || snakeName(column) === name;

/** Whether a column has one of the names of an expected value. */
export const isExpectedHeader = (column: string): boolean =>
  EXPECTED_HEADERS.some((name) => isSpelled(column, name));

/** Whether a name says what its column becomes. */
const isRecognized = (name: string): boolean =>
  isExpectedHeader(name) || [...ID_HEADERS, 'input', 'metadata', 'tags'].includes(plainName(name));

/** Whether a column never forms the input unless a mapping names it there. */
const isNeverInput = (column: string): boolean =>
  isExpectedHeader(column) || ['metadata', 'tags'].includes(plainName(column));

/**
 * Returns the index of the first of these names among the columns, in any case, or -1. The exact name takes precedence over
 * other spellings.
 */
export function headerOf(columns: readonly string[], names: readonly string[], isName = isPlainly): number {
  const places = names.flatMap((name) => [
    columns.indexOf(name),
    columns.findIndex((column) => isName(column, name)),
  ]);
  return places.find((place) => place >= 0) ?? -1;
}

/** Returns the column that `headerOf` finds, in a list. */
function headersIn(columns: readonly string[], names: readonly string[]): string[] {
  const place = headerOf(columns, names);
  return place < 0 ? [] : [columns[place]!];
}

/**
 * Returns how the columns of a file are read: by the mapping, or by their names. The column of the case ids is in no part
 * unless the mapping names it, and never in `input`. Errors: `LayoutFault`.
 */
export function layoutOf(columns: readonly string[], { caseIdColumn, mapping }: CsvOptions): CsvLayout {
  if (caseIdColumn !== null && !columns.includes(caseIdColumn))
    throw unknown('/case_id_column', caseIdColumn);
  const idColumn = caseIdColumn ?? headersIn(columns, ID_HEADERS)[0] ?? null;
  const requested = mapping ?? recognizedMapping(columns.filter((column) => column !== idColumn));
  return { columns, caseIdColumn: idColumn, ...applied(columns, idColumn, requested) };
}

/**
 * Applies a mapping. Columns that it does not name become metadata, or form the input if it names none for the input.
 * Columns with a name of another part never form the input, because an answer must not reach the prompt.
 */
function applied(
  columns: readonly string[],
  idColumn: string | null,
  requested: NonNullable<CsvOptions['mapping']>,
): Pick<CsvLayout, 'mapping' | 'valueColumns'> {
  const names = new Set(columns);
  const places = new Map<string, string>();
  for (const part of CASE_PARTS) {
    for (const [index, column] of namesOf(requested[part]).entries()) {
      const pointer = `/mapping/${part}${typeof requested[part] === 'string' ? '' : `/${index}`}`;
      if (!names.has(column)) throw unknown(pointer, column);
      const before = places.get(column);
      if (before !== undefined) {
        throw new LayoutFault(
          pointer,
          `names the column ${quoteShort(column)}, which ${before} already uses`,
        );
      }
      if (part === 'input' && column === idColumn) throw idAsInput(pointer, column);
      places.set(column, pointer.slice(1));
    }
  }
  const rest = columns.filter((column) => !places.has(column) && column !== idColumn);
  const named = (part: CasePart): string[] => namesOf(requested[part]);
  const hasInput = named('input').length > 0;
  const isInput = (column: string): boolean => !hasInput && !isNeverInput(column);
  const mapping = {
    input: [...named('input'), ...rest.filter(isInput)],
    expected: named('expected'),
    metadata: [...named('metadata'), ...rest.filter((column) => !isInput(column))],
    tags: named('tags'),
  };
  const values = (['input', 'expected', 'metadata'] as const).flatMap((part) =>
    typeof requested[part] === 'string' ? named(part) : [],
  );
  const json = typeof requested.metadata === 'string' ? [] : headersIn(mapping.metadata, ['metadata']);
  return { mapping, valueColumns: [...values, ...json] };
}

/** Returns the columns of a part of a requested mapping. */
export const namesOf = (part: string | readonly string[] | null | undefined): string[] =>
  typeof part === 'string' ? [part] : [...(part ?? [])];

/** Recognizes columns by their names. */
function recognizedMapping(columns: readonly string[]): NonNullable<CsvOptions['mapping']> {
  const find = (names: readonly string[]): string[] => headersIn(columns, names);
  return {
    input: find(['input'])[0],
    expected: columns[headerOf(columns, EXPECTED_HEADERS, isSpelled)],
    metadata: find(['metadata']),
    tags: find(['tags']),
  };
}

const idAsInput = (pointer: string, column: string): LayoutFault =>
  new LayoutFault(
    pointer,
    `names the column of the case ids, ${quoteShort(column)}, which is never part of the input. Set another case_id_column, or name other columns`,
  );

const unknown = (pointer: string, column: string): LayoutFault =>
  new LayoutFault(pointer, `names the column ${quoteShort(column)}, which the header does not have`);

/** Whether a text has more than `max` characters, counted as in the limits of all members. */
export const isLonger = (text: string, max: number): boolean => text.length > max && !length(text, 0, max);

/** Returns a client's name or id, shortened and quoted for a message. */
export const quoteShort = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);

/** Number of rows that are compared with the header. */
const ROWS_COMPARED = 10;

const OTHERS = [
  { delimiter: ';', plural: 'semicolons' },
  { delimiter: '\t', plural: 'tabs' },
  { delimiter: '|', plural: 'vertical bars' },
] as const;

/** The line that spreadsheets write before the header to name the delimiter, padded with commas when they save it again. */
const DELIMITER_LINE = /^sep=(.),*$/i;

/**
 * Returns whether a first record only says that fields are separated by commas. Errors: `CsvFault` if it names another
 * delimiter.
 */
export function isDelimiterLine({ cells, fieldCount, line }: CsvRecord): boolean {
  const [text, delimiter] = DELIMITER_LINE.exec(cells.slice(0, fieldCount).join(',')) ?? [];
  if (delimiter === undefined || delimiter === ',') return delimiter !== undefined;
  const detail = `is ${quoteShort(text!)}. Separate fields with commas, and remove this line or write "sep=,"`;
  throw new CsvFault(line, detail);
}

/**
 * Detects files with another delimiter. To a parser, they are well-formed CSV with one column, or with more if there are
 * commas in their fields. Rejects a header of one column that contains a recognized name between delimiters. Otherwise
 * suspects a delimiter if each of the first rows contains it as often as the header. A quoted field, or options that name
 * a column with the delimiter in it, clear the suspicion. Empty rows do not count.
 */
export class DelimiterCheck {
  /** The delimiters that are still possible, each with its count in the header. */
  private suspects: { delimiter: string; plural: string; count: number }[] = [];
  private rowsCompared = 0;
  private readonly line: number;

  constructor(
    private readonly columns: readonly string[],
    { line, quotedCount }: CsvRecord,
    options: CsvOptions,
  ) {
    this.line = line;
    if (quotedCount > 0) return;
    this.suspects = OTHERS.map((one) => ({ ...one, count: countOf(one.delimiter, columns) })).filter(
      ({ delimiter, count }) =>
        count > 0 && !columns.some((column) => column.includes(delimiter) && isNamed(column, options)),
    );
    for (const { delimiter, plural } of columns.length === 1 ? this.suspects : []) {
      const name = columns[0]!.split(delimiter).find(isRecognized);
      if (name === undefined) continue;
      throw new CsvFault(
        line,
        `is a header with one column, ${quoteShort(columns[0]!)}, in which ${plural} separate names such as ` +
          `${quoteShort(name.trim())}. Separate fields with commas, or name the column in mapping if it is one column`,
      );
    }
  }

  /** Whether it needs the next row. */
  get isOpen(): boolean {
    return this.suspects.length > 0;
  }

  /** The hint at the end of a row's fault. Empty if no other delimiter is possible. */
  get hint(): string {
    const [suspect] = this.suspects;
    return suspect ? `. Fields are separated by commas, not by ${suspect.plural}` : '';
  }

  /** Compares a row. Errors: `CsvFault` at the header's line, once enough rows have the same count. */
  take({ cells, quotedCount }: CsvRecord): void {
    if (cells.every((cell) => !cell) && quotedCount === 0) return;
    this.suspects = this.suspects.filter(
      ({ delimiter, count }) => quotedCount === 0 && countOf(delimiter, cells) === count,
    );
    if (++this.rowsCompared === ROWS_COMPARED) this.end();
  }

  /** Ends the rows. Errors: those of `take`. */
  end(): void {
    const [suspect] = this.suspects;
    if (!suspect || this.rowsCompared === 0) return;
    const { columns } = this;
    const [named, instead] =
      columns.length === 1
        ? [`one column, ${quoteShort(columns[0]!)}`, 'name the column in mapping if it is one column']
        : [
            `${columns.length} columns`,
            `name the columns with ${suspect.plural} in mapping if they are right`,
          ];
    throw new CsvFault(
      this.line,
      `is a header with ${named}, and the rows have as many ${suspect.plural} as the header. ` +
        `Separate fields with commas, or ${instead}`,
    );
  }
}

/** Counts up to the maximum length of a column name, because a cell may have millions. */
function countOf(delimiter: string, texts: readonly (string | undefined)[]): number {
  let count = 0;
  for (const text of texts) {
    for (let at = text?.indexOf(delimiter) ?? -1; at >= 0 && count <= COLUMN_NAME_MAX; count++) {
      at = text!.indexOf(delimiter, at + 1);
    }
  }
  return count;
}

const isNamed = (column: string, { caseIdColumn, mapping }: CsvOptions): boolean =>
  caseIdColumn === column || CASE_PARTS.some((part) => namesOf(mapping?.[part]).includes(column));

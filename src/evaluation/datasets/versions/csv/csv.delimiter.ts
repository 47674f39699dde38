import { CASE_PARTS, COLUMN_NAME_MAX, type CsvOptions, shown } from './csv.columns';
import { CsvFault } from './csv.scanner';
import type { CsvRecord } from './csv.scanner';

/** Rows that are compared with the header. */
const ROWS_COMPARED = 10;

const OTHERS = [
  { delimiter: ';', plural: 'semicolons' },
  { delimiter: '\t', plural: 'tabs' },
] as const;

/**
 * Detects files whose delimiter is a semicolon or a tab. To a parser these are well-formed CSV with one column. The
 * delimiter is suspected where each of the first rows has as many of it as the header. Quoted fields, empty rows, and a
 * column that the options name speak against it.
 */
export class DelimiterCheck {
  /** The delimiters that are still possible, and how often the header has each. */
  private suspects: { delimiter: string; plural: string; count: number }[] = [];
  private rowsCompared = 0;
  private readonly line: number;
  private readonly header: string;

  constructor(columns: readonly string[], { line, quotedCount }: CsvRecord, options: CsvOptions) {
    this.line = line;
    this.header = columns[0]!;
    if (columns.length > 1 || quotedCount > 0 || isNamed(this.header, options)) return;
    this.suspects = OTHERS.map((one) => ({ ...one, count: countOf(one.delimiter, this.header) })).filter(
      ({ count }) => count > 0,
    );
  }

  /** Whether it needs the next row. */
  get isOpen(): boolean {
    return this.suspects.length > 0;
  }

  /** The hint that a fault of a row ends with; empty where no other delimiter is possible. */
  get hint(): string {
    const [suspect] = this.suspects;
    return suspect ? `; fields are separated by commas, not by ${suspect.plural}` : '';
  }

  /** Errors: `CsvFault` of the header's line, as soon as rows enough had as many. */
  take({ cells, quotedCount }: CsvRecord): void {
    const cell = cells[0] ?? '';
    if (cell === '' && quotedCount === 0) return;
    this.suspects = this.suspects.filter(
      ({ delimiter, count }) => quotedCount === 0 && countOf(delimiter, cell) === count,
    );
    if (++this.rowsCompared === ROWS_COMPARED) this.end();
  }

  /** Ends the rows. Errors: as of `take`. */
  end(): void {
    const [suspect] = this.suspects;
    if (!suspect || this.rowsCompared === 0) return;
    throw new CsvFault(
      this.line,
      `is a header of one column, ${shown(this.header)}, and the rows have as many ${suspect.plural} as it has, as if ` +
        'fields were separated by them; separate fields by commas, or name that column in mapping if it is one',
    );
  }
}

/** Counts at most as many as a name can have, because a cell may have millions. */
function countOf(delimiter: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(delimiter); at >= 0 && count <= COLUMN_NAME_MAX; count++) {
    at = text.indexOf(delimiter, at + 1);
  }
  return count;
}

const isNamed = (column: string, { caseIdColumn, mapping }: CsvOptions): boolean =>
  caseIdColumn === column || CASE_PARTS.some((part) => mapping[part]?.includes(column));

import { CASE_PARTS, COLUMN_NAME_MAX, type CsvOptions, quoteShort } from './csv.columns';
import { CsvFault } from './csv.scanner';
import type { CsvRecord } from './csv.scanner';

/** Number of rows that are compared with the header. */
const ROWS_COMPARED = 10;

const OTHERS = [
  { delimiter: ';', plural: 'semicolons' },
  { delimiter: '\t', plural: 'tabs' },
] as const;

/**
 * Detects files whose delimiter is a semicolon or a tab. To a parser, they are well-formed CSV with one column. Suspects a
 * delimiter if each of the first rows contains it as often as the header. A quoted field, or options that name the column,
 * clear the suspicion. Empty rows do not count.
 */
export class DelimiterCheck {
  /** The delimiters that are still possible, each with its count in the header. */
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

  /** The hint at the end of a row's fault. Empty if no other delimiter is possible. */
  get hint(): string {
    const [suspect] = this.suspects;
    return suspect ? `. Fields are separated by commas, not by ${suspect.plural}` : '';
  }

  /** Compares a row. Errors: `CsvFault` at the header's line, once enough rows have the same count. */
  take({ cells, quotedCount }: CsvRecord): void {
    const cell = cells[0] ?? '';
    if (cell === '' && quotedCount === 0) return;
    this.suspects = this.suspects.filter(
      ({ delimiter, count }) => quotedCount === 0 && countOf(delimiter, cell) === count,
    );
    if (++this.rowsCompared === ROWS_COMPARED) this.end();
  }

  /** Ends the rows. Errors: those of `take`. */
  end(): void {
    const [suspect] = this.suspects;
    if (!suspect || this.rowsCompared === 0) return;
    throw new CsvFault(
      this.line,
      `is a header with one column, ${quoteShort(this.header)}, and the rows have as many ${suspect.plural} as the header. ` +
        'Separate fields with commas, or name the column in mapping if it is one column',
    );
  }
}

/** Counts up to the maximum length of a column name, because a cell may have millions. */
function countOf(delimiter: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(delimiter); at >= 0 && count <= COLUMN_NAME_MAX; count++) {
    at = text.indexOf(delimiter, at + 1);
  }
  return count;
}

const isNamed = (column: string, { caseIdColumn, mapping }: CsvOptions): boolean =>
  caseIdColumn === column || CASE_PARTS.some((part) => mapping?.[part]?.includes(column));

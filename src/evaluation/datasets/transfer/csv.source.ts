import type { SpooledFile } from '#platform/http';
import { JsonInputError, parseJson } from '#platform/json';
import { problem } from '#platform/problem';
import { CaseMaker } from '../versions/csv/csv.case';
import { columnsOf, type CsvLayout, HEADER_KEPT, shown } from '../versions/csv/csv.columns';
import { CsvEncoding } from '../versions/csv/csv.reader';
import { CsvFault } from '../versions/csv/csv.scanner';
import { CHUNK_BYTES, piecesOf } from '../versions/csv/csv.reader';
import { type CsvRecord, CsvScanner } from '../versions/csv/csv.scanner';
import { type ImportLine, type ImportSource, pointerOf } from './import-source';
import { CSV_COLUMNS, textOfCell } from './record-formats';

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** What a row becomes. @param row from 1 */
export type RowReader = (cells: readonly string[], line: number, row: number) => ImportLine;

/** CSV (RFC 4180) with a header row. */
export class CsvSource implements ImportSource {
  /**
   * @param cellBytes the longest cell, in bytes
   * @param readerOf what rows under these columns become; a `CsvFault` where they cannot be read
   */
  constructor(
    private readonly file: SpooledFile,
    private readonly cellBytes: number,
    private readonly readerOf: (columns: string[]) => RowReader,
  ) {}

  async *lines(): AsyncGenerator<ImportLine[], void, undefined> {
    const reading = new Reading(this.cellBytes, this.readerOf);
    try {
      for await (const chunk of this.file.chunks(CHUNK_BYTES)) {
        for await (const piece of piecesOf(chunk)) yield reading.push(piece);
      }
      yield reading.end();
    } catch (error) {
      if (!(error instanceof CsvFault)) throw error;
      throw problem.invalidFields([{ pointer: pointerOf(error.line), detail: error.detail }]);
    }
  }

  checkOpen(): void {
    this.file.checkOpen();
  }
}

/** No character has more than three bytes for each of its units in JavaScript. */
const isLarger = (text: string, bytes: number): boolean =>
  text.length * 3 > bytes && Buffer.byteLength(text) > bytes;

class Reading {
  private readonly encoding = new CsvEncoding();
  private scanner: CsvScanner | undefined;
  private columns: string[] = [];
  private reader: RowReader | undefined;
  private rows = 0;
  private found: ImportLine[] = [];

  constructor(
    private readonly cellBytes: number,
    private readonly readerOf: (columns: string[]) => RowReader,
  ) {}

  push(piece: Buffer): ImportLine[] {
    const hasMark = !this.scanner && piece.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    const bytes = hasMark ? piece.subarray(BYTE_ORDER_MARK.length) : piece;
    this.scanner ??= new CsvScanner(HEADER_KEPT, (record) => this.take(record));
    const misspelt = this.encoding.faultIn(bytes, this.scanner.line);
    if (misspelt) throw misspelt;
    this.scanner.push(bytes);
    return this.taken();
  }

  end(): ImportLine[] {
    const misspelt = this.scanner && this.encoding.faultAtEnd(this.scanner.line);
    if (misspelt) throw misspelt;
    this.scanner?.end();
    if (!this.reader)
      throw new CsvFault(1, 'is missing: a header row with the names of the columns is required');
    return this.taken();
  }

  private take(record: CsvRecord): void {
    const { cells, fieldCount, isCut, line } = record;
    if (!this.reader) {
      this.columns = columnsOf(cells, fieldCount, line);
      this.reader = this.readerOf(this.columns);
      // as they stand in the file, with quotes around them and those within doubled
      this.scanner!.keep = this.columns.map(() => 2 * this.cellBytes + 2);
      return;
    }
    if (isCut || (cells as string[]).some((cell) => isLarger(cell, this.cellBytes))) {
      throw new CsvFault(line, `has a field of more than ${this.cellBytes} bytes`);
    }
    if (fieldCount !== this.columns.length) {
      throw new CsvFault(
        line,
        `has ${fieldCount} fields, and the header names ${this.columns.length} columns`,
      );
    }
    this.rows++;
    this.found.push(this.reader(cells as string[], line, this.rows));
  }

  private taken(): ImportLine[] {
    const { found } = this;
    this.found = [];
    return found;
  }
}

const KNOWN = new Set<string>(CSV_COLUMNS);
const AS_JSON = new Set<string>(['input', 'expected', 'metadata', 'tags']);

const sizeOf = (cells: readonly string[]): number => cells.reduce((sum, cell) => sum + cell.length, 0);

/** Whether a file has the columns that an export has, in any order, and nobody said what they are. */
export const isExport = ({ columns, mapping }: CsvLayout): boolean =>
  columns.length === KNOWN.size &&
  columns.every((column) => KNOWN.has(column)) &&
  [mapping.expected, mapping.metadata, mapping.tags].every((named) => named.length === 0);

/**
 * Rows as an export writes them. Columns may be left out, but for `input`, and stand in any order. Errors: `CsvFault`
 * for columns that an export does not have.
 */
export function exportedRows(columns: string[]): RowReader {
  const unknown = columns.find((column) => !KNOWN.has(column));
  if (unknown !== undefined) {
    throw new CsvFault(
      1,
      `names the unknown column ${shown(unknown)}. The columns are ${CSV_COLUMNS.join(', ')}`,
    );
  }
  if (!columns.includes('input')) throw new CsvFault(1, 'does not name the column input');
  return (cells, line) => {
    const value: Record<string, unknown> = {};
    for (const [place, column] of columns.entries()) {
      const cell = cells[place]!;
      if (cell === '') continue;
      try {
        value[column] = AS_JSON.has(column) ? parseJson(Buffer.from(cell)) : textOfCell(cell);
      } catch (error) {
        if (!(error instanceof JsonInputError)) throw error;
        const detail = `must be JSON text: ${error.detail.replace(/^The body/, 'the field')}`;
        const fault = problem.invalidFields([
          { pointer: pointerOf(line, `/${column}${error.pointer}`), detail },
        ]);
        return { line, value: null, fault, size: 0 };
      }
    }
    return { line, value, fault: null, size: sizeOf(cells) };
  };
}

/** Rows as the cases of a version, whose id is the record's own key. */
export function caseRows(layout: CsvLayout): RowReader {
  const maker = new CaseMaker(layout);
  return (cells, line, row) => {
    const { id, input, expected, metadata, tags } = maker.make(row, cells);
    const value = { input, expected, metadata, tags, source_kind: 'external', external_id: id };
    return { line, value, fault: null, size: sizeOf(cells) };
  };
}

import type { SpooledFile } from '#platform/http';
import { JsonInputError, type Outline } from '#platform/json';
import { problem } from '#platform/problem';
import { columnsOf, HEADER_KEEP, quoteShort } from '../../versions/csv/csv.columns';
import { DelimiterCheck } from '../../versions/csv/csv.delimiter';
import { CHUNK_BYTES, CsvEncoding, piecesOf } from '../../versions/csv/csv.reader';
import { CsvFault, type CsvRecord, CsvScanner } from '../../versions/csv/csv.scanner';
import { type ImportLine, type ImportSource, pointerOf } from './import-source';
import type { LargeJson } from './large-json';
import { textOfCell } from '../transfer-formats';
import { CONTENT_FIELDS } from '../record.entity';

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Reads a row as a record to import. @param row counted from 1 */
export type RowReader = (cells: readonly string[], line: number, row: number) => Promise<ImportLine>;

/** CSV (RFC 4180) with a header row. */
export class CsvSource implements ImportSource {
  /**
   * @param cellBytes maximum size of a cell, in bytes
   * @param readerOf returns a reader of rows with these columns, or throws a `CsvFault`
   * @param isChecked whether the file is known to be separated by commas
   */
  constructor(
    private readonly file: SpooledFile,
    private readonly cellBytes: number,
    private readonly readerOf: (columns: string[]) => RowReader,
    private readonly isChecked = false,
  ) {}

  async *lines(): AsyncGenerator<ImportLine[], void, undefined> {
    const reading = new Reading(this.cellBytes, this.readerOf, this.isChecked);
    try {
      for await (const chunk of this.file.chunks(CHUNK_BYTES)) {
        for await (const piece of piecesOf(chunk)) yield await Promise.all(reading.push(piece));
      }
      yield await Promise.all(reading.end());
    } catch (error) {
      if (!(error instanceof CsvFault)) throw error;
      throw problem.invalidFields([{ pointer: pointerOf(error.line), detail: error.detail }]);
    }
  }

  checkOpen(): void {
    this.file.checkOpen();
  }
}

/** Whether a text has more than this many bytes in UTF-8. A UTF-16 code unit takes at most three. */
export const isLarger = (text: string, bytes: number): boolean =>
  text.length * 3 > bytes && Buffer.byteLength(text) > bytes;

const NO_OPTIONS = { caseIdColumn: null, mapping: null };

/** One reading of a file, piece by piece. */
class Reading {
  private readonly encoding = new CsvEncoding();
  private scanner: CsvScanner | undefined;
  private columns: string[] = [];
  private reader: RowReader | undefined;
  private delimiter: DelimiterCheck | undefined;
  private rows = 0;
  private pending: Promise<ImportLine>[] = [];

  constructor(
    private readonly cellBytes: number,
    private readonly readerOf: (columns: string[]) => RowReader,
    private readonly isChecked: boolean,
  ) {}

  push(piece: Buffer): Promise<ImportLine>[] {
    const hasMark = !this.scanner && piece.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    const bytes = hasMark ? piece.subarray(BYTE_ORDER_MARK.length) : piece;
    this.scanner ??= new CsvScanner(HEADER_KEEP, (record) => this.take(record));
    const fault = this.encoding.faultIn(bytes, this.scanner.line);
    if (fault) throw fault;
    this.scanner.push(bytes);
    return this.takePending();
  }

  end(): Promise<ImportLine>[] {
    const fault = this.scanner && this.encoding.faultAtEnd(this.scanner.line);
    if (fault) throw fault;
    this.scanner?.end();
    this.delimiter?.end();
    if (!this.reader)
      throw new CsvFault(1, 'is missing: a header row with the names of the columns is required');
    return this.takePending();
  }

  private take(record: CsvRecord): void {
    const { cells, fieldCount, isCut, line } = record;
    if (!this.reader) {
      this.columns = columnsOf(cells, fieldCount, line);
      this.reader = this.readerOf(this.columns);
      if (!this.isChecked) this.delimiter = new DelimiterCheck(this.columns, record, NO_OPTIONS);
      // The scanner counts bytes of the file, including the enclosing quotes and doubled quotes.
      this.scanner!.keep = this.columns.map(() => 2 * this.cellBytes + 2);
      return;
    }
    if (isCut || (cells as string[]).some((cell) => isLarger(cell, this.cellBytes))) {
      throw new CsvFault(line, `has a field of more than ${this.cellBytes} bytes`);
    }
    if (fieldCount !== this.columns.length) {
      throw new CsvFault(
        line,
        `has ${fieldCount} fields, but the header names ${this.columns.length} columns${this.delimiter?.hint ?? ''}`,
      );
    }
    if (this.delimiter?.isOpen) this.delimiter.take(record);
    this.rows++;
    const read = this.reader(cells as string[], line, this.rows);
    // Prevents an unhandled rejection if a later row has a fault and nothing awaits this one.
    read.catch(() => undefined);
    this.pending.push(read);
  }

  private takePending(): Promise<ImportLine>[] {
    const { pending } = this;
    this.pending = [];
    return pending;
  }
}

const KNOWN = new Set<string>(CONTENT_FIELDS);
const AS_JSON: Readonly<Record<string, Outline | undefined>> = {
  input: { kind: 'freeForm' },
  expected: { kind: 'freeForm' },
  metadata: { kind: 'freeForm' },
  tags: { kind: 'whole' },
};

const sizeOf = (cells: readonly string[]): number => cells.reduce((sum, cell) => sum + cell.length, 0);

/**
 * Returns a reader of rows as an export writes them. Columns may be in any order, and only `input` is required. Errors:
 * `CsvFault` for unknown columns, and without `input`.
 */
export function exportedRows(columns: string[], json: LargeJson): RowReader {
  const unknown = columns.find((column) => !KNOWN.has(column));
  if (unknown !== undefined) {
    throw new CsvFault(
      1,
      `names the unknown column ${quoteShort(unknown)}. With cells=json, the known columns are ${CONTENT_FIELDS.join(', ')}`,
    );
  }
  if (!columns.includes('input')) throw new CsvFault(1, 'does not name the column input, which is required');
  return async (cells, line) => {
    const value: Record<string, unknown> = {};
    for (const [place, column] of columns.entries()) {
      const cell = cells[place]!;
      if (cell === '') continue;
      const outline = AS_JSON[column];
      try {
        value[column] = outline
          ? await json.parse(`${line}/${column}`, Buffer.from(cell), outline)
          : textOfCell(cell);
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

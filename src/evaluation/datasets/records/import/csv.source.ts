import type { SpooledFile } from '#platform/http';
import { problem } from '#platform/problem';
import { columnsOf, DelimiterCheck } from '../../versions/csv/csv.columns';
import { CHUNK_BYTES, CsvInput, missingHeader, piecesOf } from '../../versions/csv/csv.reader';
import { CsvFault, type CsvRecord } from '../../versions/csv/csv.scanner';
import { type ImportLine, type ImportSource, pointerOf } from './import-source';

/** Reads a row as a record to import. @param row counted from 1 */
export type RowReader = (cells: readonly string[], line: number, row: number) => ImportLine;

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
        for await (const piece of piecesOf(chunk)) yield reading.push(piece);
      }
      yield reading.end();
    } catch (error) {
      if (!(error instanceof CsvFault)) throw error;
      throw problem.invalidField(pointerOf(error.line), error.detail);
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
  private readonly input = new CsvInput((record) => this.take(record));
  private columns: string[] = [];
  private reader: RowReader | undefined;
  private delimiter: DelimiterCheck | undefined;
  private rows = 0;
  private pending: ImportLine[] = [];

  constructor(
    private readonly cellBytes: number,
    private readonly readerOf: (columns: string[]) => RowReader,
    private readonly isChecked: boolean,
  ) {}

  push(piece: Buffer): ImportLine[] {
    this.input.push(piece);
    return this.takePending();
  }

  end(): ImportLine[] {
    this.input.end();
    this.delimiter?.end();
    if (!this.reader) throw missingHeader();
    return this.takePending();
  }

  private take(record: CsvRecord): void {
    const { cells, fieldCount, isCut, line } = record;
    if (!this.reader) {
      this.columns = columnsOf(cells, fieldCount, line);
      this.reader = this.readerOf(this.columns);
      if (!this.isChecked) this.delimiter = new DelimiterCheck(this.columns, record, NO_OPTIONS);
      // The scanner counts bytes of the file, including the enclosing quotes and doubled quotes.
      this.input.scanner.keep = this.columns.map(() => 2 * this.cellBytes + 2);
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
    this.pending.push(this.reader(cells as string[], line, this.rows));
  }

  private takePending(): ImportLine[] {
    const { pending } = this;
    this.pending = [];
    return pending;
  }
}

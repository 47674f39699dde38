import type { SpooledFile } from '#platform/http';
import { problem } from '#platform/problem';
import { columnsOf, HEADER_KEPT } from '../../dataset-versions/csv/csv.columns';
import { CsvEncoding } from '../../dataset-versions/csv/csv.encoding';
import { CsvFault } from '../../dataset-versions/csv/csv.fault';
import { CHUNK_BYTES, piecesOf } from '../../dataset-versions/csv/csv.reader';
import { type CsvRecord, CsvScanner } from '../../dataset-versions/csv/csv.scanner';
import { type ImportLine, type ImportSource, pointerOf } from './import-source';

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
      this.scanner!.keep = this.columns.map(() => this.cellBytes);
      return;
    }
    if (isCut) throw new CsvFault(line, `has a field of more than ${this.cellBytes} bytes`);
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

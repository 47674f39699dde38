import type { SpooledFile } from '#platform/http';
import { problem } from '#platform/problem';
import type { CsvOptions } from '../../versions/csv/csv.columns';
import { CHUNK_BYTES, CsvInput, piecesOf } from '../../versions/csv/csv.reader';
import { CsvFault, type CsvRecord } from '../../versions/csv/csv.scanner';
import { type ImportLine, type ImportSource, pointerOf } from './import-source';

/** Reads a row as a record to import. @param row counted from 1 */
export type RowReader = (cells: readonly string[], line: number, row: number) => ImportLine;

/** CSV (RFC 4180) with a header row. */
export class CsvSource implements ImportSource {
  /**
   * @param cellBytes maximum size of a cell, in bytes
   * @param readerOf returns a reader of rows with these columns, or throws a `CsvFault`
   * @param options of a CSV version, whose columns are known to be separated by commas
   */
  constructor(
    private readonly file: SpooledFile,
    private readonly cellBytes: number,
    private readonly readerOf: (columns: string[]) => RowReader,
    private readonly options: CsvOptions = { caseIdColumn: null, mapping: null },
  ) {}

  async *lines(): AsyncGenerator<ImportLine[], void, undefined> {
    // The scanner counts bytes of the file, including the enclosing quotes and doubled quotes.
    const fieldBytes = 2 * this.cellBytes + 2;
    let read!: RowReader;
    let lines: ImportLine[] = [];
    const rows = {
      header: (columns: string[]) => {
        read = this.readerOf(columns);
        return { keep: columns.map(() => fieldBytes) };
      },
      row: (record: CsvRecord, row: number) => void lines.push(read(this.cellsOf(record), record.line, row)),
    };
    const input = new CsvInput(rows, this.options, fieldBytes);
    try {
      for await (const chunk of this.file.chunks(CHUNK_BYTES)) {
        for await (const piece of piecesOf(chunk)) {
          input.push(piece);
          yield lines;
          lines = [];
        }
      }
      input.end();
      yield lines;
    } catch (error) {
      if (!(error instanceof CsvFault)) throw error;
      throw problem.invalidField(pointerOf(error.line), error.detail);
    }
  }

  checkOpen(): void {
    this.file.checkOpen();
  }

  private cellsOf({ cells, isCut, line }: CsvRecord): string[] {
    const texts = cells as string[];
    if (!isCut && !texts.some((cell) => isLarger(cell, this.cellBytes))) return texts;
    throw new CsvFault(line, `has a field of more than ${this.cellBytes} bytes`);
  }
}

/** Whether a text has more than this many bytes in UTF-8. A UTF-16 code unit takes at most three. */
export const isLarger = (text: string, bytes: number): boolean =>
  text.length * 3 > bytes && Buffer.byteLength(text) > bytes;

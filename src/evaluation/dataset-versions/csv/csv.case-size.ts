import type { CsvLayout } from './csv.columns';
import type { CsvRecord } from './csv.scanner';

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

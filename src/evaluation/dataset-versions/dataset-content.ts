import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { PAGE_BYTES } from '#platform/paging';
import { caseBytes, type CsvCase, CaseMaker } from './csv/csv.case';
import { CHUNK_BYTES, piecesOf } from './csv/csv.reader';
import { CsvScanner, type KeptBytes } from './csv/csv.scanner';
import type { DatasetVersionRow } from './dataset-version.entity';
import { type ChunkRow, DatasetVersionRepository } from './dataset-version.repository';

/** What a version of a dataset holds: its bytes, and its rows as cases. Read piece by piece, outside any transaction. */
@Injectable()
export class DatasetContent {
  constructor(private readonly versions: DatasetVersionRepository) {}

  /** The very bytes. */
  async *bytes(scope: Scope, version: DatasetVersionRow): AsyncGenerator<Buffer, void, undefined> {
    for (let ordinal = 0; ordinal < chunksOf(version); ordinal++) {
      yield (await this.chunk(scope, version, ordinal)).data;
    }
  }

  /**
   * Cases in the order of their rows, from one row on: at most `limit`, and none after those that fill a page by their
   * bytes. It reads no more of the file than these.
   */
  async page(
    scope: Scope,
    version: DatasetVersionRow,
    from: number,
    limit: number,
    signal: AbortSignal,
  ): Promise<CsvCase[]> {
    if (limit === 0 || from > version.row_count) return [];
    let chunk = await this.versions.chunkOfRow(scope, version.content_id, from);
    if (!chunk) throw new Error(`Of content ${version.content_id} the chunk of row ${from} is missing.`);
    const reading = new PageReading(version, from, limit, chunk.rows_before);
    await reading.push(chunk.data.subarray(chunk.row_offset ?? 0));
    while (!reading.isFull && chunk.ordinal + 1 < chunksOf(version)) {
      signal.throwIfAborted();
      chunk = await this.chunk(scope, version, chunk.ordinal + 1);
      await reading.push(chunk.data);
    }
    return reading.end();
  }

  private async chunk(scope: Scope, { content_id }: DatasetVersionRow, ordinal: number): Promise<ChunkRow> {
    const chunk = await this.versions.chunk(scope, content_id, ordinal);
    if (!chunk) throw new Error(`Of content ${content_id} chunk ${ordinal} is missing.`);
    return chunk;
  }
}

const chunksOf = ({ size_bytes }: DatasetVersionRow): number => Math.ceil(size_bytes / CHUNK_BYTES);

/** Makes cases of a file's bytes, from one of its rows on, until a page is full. */
class PageReading {
  private readonly maker: CaseMaker;
  private readonly scanner: CsvScanner;
  private readonly all: KeptBytes;
  private readonly found: CsvCase[] = [];
  private bytes = 0;

  /** @param row the one before the first of the bytes */
  constructor(
    version: DatasetVersionRow,
    private readonly from: number,
    private readonly limit: number,
    private row: number,
  ) {
    this.maker = new CaseMaker({
      columns: version.columns,
      caseIdColumn: version.case_id_column,
      mapping: version.mapping,
    });
    this.all = version.columns.map(() => Infinity);
    this.scanner = new CsvScanner(this.keptOfNext(), ({ cells }) => {
      this.row++;
      if (this.row >= from && !this.isFull) this.add(this.maker.make(this.row, cells));
      this.scanner.keep = this.keptOfNext();
    });
  }

  get isFull(): boolean {
    return this.found.length >= this.limit || this.bytes >= PAGE_BYTES;
  }

  async push(bytes: Buffer): Promise<void> {
    for await (const piece of piecesOf(bytes)) {
      this.scanner.push(piece);
      if (this.isFull) return;
    }
  }

  end(): CsvCase[] {
    if (!this.isFull) this.scanner.end();
    return this.found;
  }

  private add(one: CsvCase): void {
    this.found.push(one);
    this.bytes += caseBytes(one);
  }

  private keptOfNext(): KeptBytes {
    return this.row + 1 < this.from || this.isFull ? [] : this.all;
  }
}

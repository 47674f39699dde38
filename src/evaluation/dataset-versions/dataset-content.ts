import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type CsvCase, CaseMaker } from './csv/csv.case';
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
   * The cases in the order of the rows, some at a time, for as long as they are asked for.
   *
   * @param from the row to begin with
   */
  async *cases(
    scope: Scope,
    version: DatasetVersionRow,
    from = 1,
  ): AsyncGenerator<CsvCase[], void, undefined> {
    const first = await this.versions.chunkOfRow(scope, version.content_id, from);
    if (!first || from > version.row_count) return;
    const reading = new CaseReading(version, from, first.rows_before);
    yield* reading.push(first.data.subarray(first.row_offset ?? 0));
    for (let ordinal = first.ordinal + 1; ordinal < chunksOf(version); ordinal++) {
      yield* reading.push((await this.chunk(scope, version, ordinal)).data);
    }
    yield reading.end();
  }

  private async chunk(scope: Scope, { content_id }: DatasetVersionRow, ordinal: number): Promise<ChunkRow> {
    const chunk = await this.versions.chunk(scope, content_id, ordinal);
    if (!chunk) throw new Error(`Of content ${content_id} chunk ${ordinal} is missing.`);
    return chunk;
  }
}

const chunksOf = ({ size_bytes }: DatasetVersionRow): number => Math.ceil(size_bytes / CHUNK_BYTES);

/** Makes cases of a file's bytes from one of its rows on. */
class CaseReading {
  private readonly maker: CaseMaker;
  private readonly scanner: CsvScanner;
  private readonly all: KeptBytes;
  private found: CsvCase[] = [];

  /** @param row the one before the first of the bytes */
  constructor(
    version: DatasetVersionRow,
    private readonly from: number,
    private row: number,
  ) {
    this.maker = new CaseMaker({
      columns: version.columns,
      caseIdColumn: version.case_id_column,
      mapping: version.mapping,
    });
    this.all = version.columns.map(() => Infinity);
    this.scanner = new CsvScanner(this.keptOf(row + 1), ({ cells }) => {
      this.row++;
      if (this.row >= from) this.found.push(this.maker.make(this.row, cells));
      this.scanner.keep = this.keptOf(this.row + 1);
    });
  }

  async *push(bytes: Buffer): AsyncGenerator<CsvCase[], void, undefined> {
    for await (const piece of piecesOf(bytes)) {
      this.scanner.push(piece);
      yield this.taken();
    }
  }

  end(): CsvCase[] {
    this.scanner.end();
    return this.taken();
  }

  private keptOf(row: number): KeptBytes {
    return row < this.from ? [] : this.all;
  }

  private taken(): CsvCase[] {
    const { found } = this;
    this.found = [];
    return found;
  }
}

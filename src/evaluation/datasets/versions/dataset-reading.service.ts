import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import type { SqlExecutor } from '#platform/db';
import { type Reply, streamed } from '#platform/http';
import { decodeCursor, encodeCursor, type Page, PAGE_BYTES, PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import type { CaseFilter } from '../records/record.repository';
import { caseBytes, CaseMaker, type CsvCase } from './csv/csv.case';
import { CHUNK_BYTES, piecesOf } from './csv/csv.reader';
import { CsvScanner, type KeptBytes } from './csv/csv.scanner';
import { CSV_MEDIA } from './dataset-upload';
import { type DatasetCaseDto, type DatasetCaseListQueryDto, toDatasetCaseDto } from './dataset-version.dto';
import {
  type ChunkRow,
  DatasetVersionRepository,
  type DatasetVersionRow,
  layoutOfVersion,
} from './dataset-version.repository';
import { DatasetVersionService } from './dataset-version.service';

/** Reads the content of a version as bytes or as cases, chunk by chunk and outside any transaction. */
@Injectable()
export class DatasetContent {
  constructor(private readonly versions: DatasetVersionRepository) {}

  /** Yields the bytes of a version. */
  async *bytes(scope: Scope, version: DatasetVersionRow): AsyncGenerator<Buffer, void, undefined> {
    for (let ordinal = 0; ordinal < chunksOf(version); ordinal++) {
      yield (await this.chunk(scope, version, ordinal)).data;
    }
  }

  /**
   * Returns cases in row order, starting at row `from`: at most `limit`, and fewer once they fill a page. Reads only the
   * chunks that hold them.
   */
  async page(
    scope: Scope,
    version: DatasetVersionRow,
    from: number,
    limit: number,
    signal: AbortSignal,
  ): Promise<CsvCase[]> {
    if (limit === 0 || from > version.row_count) return [];
    let chunk = await this.chunkOfRow(scope, version, from);
    const selection = new CaseSelection(
      (row) => row >= from,
      (count, bytes) => count >= limit || bytes >= PAGE_BYTES,
    );
    const reading = new CaseReading(version, chunk.rows_before, selection);
    await reading.push(chunk.data.subarray(chunk.row_offset ?? 0));
    while (!selection.isFull && chunk.ordinal + 1 < chunksOf(version)) {
      signal.throwIfAborted();
      chunk = await this.chunk(scope, version, chunk.ordinal + 1);
      await reading.push(chunk.data);
    }
    reading.end();
    return selection.cases;
  }

  /**
   * Returns the cases of these rows, in row order. Reads only the chunks that hold them, each once. Ends with the case that
   * reaches `maxBytes`.
   *
   * @param rows row numbers, ascending
   */
  async readRows(
    on: SqlExecutor,
    scope: Scope,
    version: DatasetVersionRow,
    rows: readonly number[],
    maxBytes: number,
  ): Promise<CsvCase[]> {
    const rowNumbers = new Set(rows);
    const selection = new CaseSelection(
      (row) => rowNumbers.has(row),
      (count, bytes) => count >= rowNumbers.size || bytes >= maxBytes,
    );
    let reading: CaseReading | undefined;
    let ordinal = -1;
    while (!selection.isFull) {
      const row = rows[selection.cases.length]!;
      const chunk: ChunkRow =
        reading?.nextRow === row // The row may begin in the last chunk.
          ? await this.chunk(scope, version, ordinal + 1, on)
          : await this.chunkOfRow(scope, version, row, on);
      const isNextChunk: boolean = reading !== undefined && chunk.ordinal === ordinal + 1;
      if (!isNextChunk) reading = new CaseReading(version, chunk.rows_before, selection);
      await reading!.push(isNextChunk ? chunk.data : chunk.data.subarray(chunk.row_offset ?? 0));
      ordinal = chunk.ordinal;
      if (ordinal + 1 < chunksOf(version)) continue;
      reading!.end();
      break;
    }
    return selection.cases;
  }

  private async chunkOfRow(
    scope: Scope,
    { content_id }: DatasetVersionRow,
    row: number,
    on?: SqlExecutor,
  ): Promise<ChunkRow> {
    const chunk = await this.versions.chunkOfRow(scope, content_id, row, on);
    if (!chunk) throw new Error(`The chunk of row ${row} of content ${content_id} is missing.`);
    return chunk;
  }

  private async chunk(
    scope: Scope,
    { content_id }: DatasetVersionRow,
    ordinal: number,
    on?: SqlExecutor,
  ): Promise<ChunkRow> {
    const chunk = await this.versions.chunk(scope, content_id, ordinal, on);
    if (!chunk) throw new Error(`Chunk ${ordinal} of content ${content_id} is missing.`);
    return chunk;
  }
}

const chunksOf = ({ size_bytes }: DatasetVersionRow): number => Math.ceil(size_bytes / CHUNK_BYTES);

/** The cases to read from a file, and those read so far. */
class CaseSelection {
  readonly cases: CsvCase[] = [];
  private bytes = 0;

  constructor(
    readonly includes: (row: number) => boolean,
    private readonly isEnough: (count: number, bytes: number) => boolean,
  ) {}

  get isFull(): boolean {
    return this.isEnough(this.cases.length, this.bytes);
  }

  add(one: CsvCase): void {
    this.cases.push(one);
    this.bytes += caseBytes(one);
  }
}

/** Turns a file's bytes into the cases of a selection, until it is full. */
class CaseReading {
  private readonly maker: CaseMaker;
  private readonly scanner: CsvScanner;
  private readonly keepAll: KeptBytes;

  /** @param row number of the row before the first byte */
  constructor(
    version: DatasetVersionRow,
    private row: number,
    private readonly selection: CaseSelection,
  ) {
    this.maker = new CaseMaker(layoutOfVersion(version));
    this.keepAll = version.columns.map(() => Infinity);
    this.scanner = new CsvScanner(this.keepForNext(), ({ cells }) => {
      this.row++;
      if (selection.includes(this.row) && !selection.isFull) selection.add(this.maker.make(this.row, cells));
      this.scanner.keep = this.keepForNext();
    });
  }

  /** Number of the row that ends next. */
  get nextRow(): number {
    return this.row + 1;
  }

  async push(bytes: Buffer): Promise<void> {
    for await (const piece of piecesOf(bytes)) {
      this.scanner.push(piece);
      if (this.selection.isFull) return;
    }
  }

  end(): void {
    if (!this.selection.isFull) this.scanner.end();
  }

  private keepForNext(): KeptBytes {
    return !this.selection.includes(this.nextRow) || this.selection.isFull ? [] : this.keepAll;
  }
}

/** The name in cursors of the only sort order of rows. */
const BY_ROW = 'row';

/** Maximum number of concurrent page reads of an organization. One more can run for others. Each may take about 60 MiB. */
const PAGES_AT_ONCE = 2;
const PAGES_WAITING = 200;
/** Number of cases that are read together when a whole file is read. */
const CASES_AT_ONCE = 1_000;

/** Serves the bytes and the rows of CSV versions. */
@Injectable()
export class DatasetReadingService {
  private readonly limiter = new FairLimiter({
    share: PAGES_AT_ONCE,
    maxWaiting: PAGES_WAITING,
  });

  constructor(
    private readonly versions: DatasetVersionService,
    private readonly content: DatasetContent,
  ) {}

  /** Streams the bytes of a version. */
  async bytes(scope: Scope, datasetId: string, number: number): Promise<Reply> {
    const version = await this.versions.find(scope, datasetId, number);
    return streamed(this.content.bytes(scope, version), {
      type: `${CSV_MEDIA}; charset=utf-8`,
      length: version.size_bytes,
      filename: `${datasetId}-v${number}.csv`,
      sha256: version.sha256,
    });
  }

  /** Counts the cases of a version that have all of these tags and one of these ids. Reads the file piece by piece. */
  countCases(
    scope: Scope,
    version: DatasetVersionRow,
    { tags = [], caseIds }: CaseFilter,
    signal: AbortSignal,
  ): Promise<number> {
    const ids = caseIds && new Set(caseIds);
    const matches = (one: CsvCase): boolean =>
      (!ids || ids.has(one.id)) && tags.every((tag) => one.tags.includes(tag));
    return this.limiter.run(scope, signal, async () => {
      let count = 0;
      for (let from = 1; from <= version.row_count;) {
        const cases = await this.content.page(scope, version, from, CASES_AT_ONCE, signal);
        count += cases.filter(matches).length;
        from += cases.length;
      }
      return count;
    });
  }

  /**
   * Returns a page of a version's rows, as cases. It ends early at `PAGE_BYTES`. Errors: 503 `service_overloaded` when too
   * many requests wait.
   */
  async cases(
    scope: Scope,
    datasetId: string,
    number: number,
    query: DatasetCaseListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<DatasetCaseDto>> {
    const before = rowsBefore(query);
    const version = await this.versions.find(scope, datasetId, number);
    const limit = query.limit ?? PAGE_SIZE_DEFAULT;
    const cases = await this.limiter.run(scope, signal, () =>
      this.content.page(scope, version, before + 1, limit, signal),
    );
    const last = cases.at(-1)?.row;
    return {
      items: cases.map(toDatasetCaseDto),
      page: {
        limit,
        offset: query.offset ?? 0,
        total: version.row_count,
        next_cursor:
          last !== undefined && last < version.row_count
            ? encodeCursor({ sort: BY_ROW, key: null, id: String(last) })
            : null,
      },
    };
  }
}

/** Returns the number of rows before a page. Errors: 400 for a cursor of another list, or together with an offset. */
function rowsBefore({ cursor, offset }: DatasetCaseListQueryDto): number {
  if (cursor === undefined) return offset ?? 0;
  if (offset !== undefined) throw problem.invalidQuery('cursor', 'cannot be combined with offset');
  const { sort, key, id } = decodeCursor(cursor);
  if (sort !== BY_ROW || key !== null || !/^[1-9]\d{0,8}$/.test(id)) {
    throw problem.invalidQuery('cursor', 'belongs to another list or sort');
  }
  return Number(id);
}

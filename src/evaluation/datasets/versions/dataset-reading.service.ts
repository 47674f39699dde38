import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import type { SqlExecutor } from '#platform/db';
import { type Reply, streamed } from '#platform/http';
import {
  checkStart,
  decodeCursor,
  encodeCursor,
  foreignCursor,
  type Page,
  pageOf,
  PAGE_BYTES,
  PAGE_SIZE_DEFAULT,
  type PageQueryDto,
  type RowPage,
  scanEnd,
  toPage,
} from '#platform/paging';
import type { CaseFilter } from '../records/record.repository';
import { caseBytes, CaseMaker, type CsvCase } from './csv/csv.case';
import { CHUNK_BYTES, piecesOf } from './csv/csv.reader';
import { CsvScanner, type KeptBytes } from './csv/csv.scanner';
import { CSV_MEDIA } from './dataset-upload';
import { type DatasetCaseDto, type DatasetCaseListQueryDto, toDatasetCaseDto } from './dataset-version.dto';
import {
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
      yield (await this.versions.chunk(scope, version.content_id, { ordinal })).data;
    }
  }

  /**
   * Returns the cases of these rows, in row order. Reads only the chunks that hold them, each once. Ends with the case that
   * reaches `maxBytes`.
   *
   * @param rows numbers of existing rows, ascending
   */
  async readRows(
    on: SqlExecutor | undefined,
    scope: Scope,
    version: DatasetVersionRow,
    rows: readonly number[],
    maxBytes: number,
    signal?: AbortSignal,
  ): Promise<CsvCase[]> {
    const reading = new CaseReading(version, rows, maxBytes);
    for (let ordinal = -1; !reading.isFull;) {
      signal?.throwIfAborted();
      const row = rows[reading.cases.length]!;
      // The next row may begin in the last chunk.
      const isNext = reading.nextRow === row;
      const place = isNext ? { ordinal: ordinal + 1 } : { row };
      const chunk = await this.versions.chunk(scope, version.content_id, place, on);
      if (!isNext) reading.startAfter(chunk.rows_before);
      await reading.push(isNext ? chunk.data : chunk.data.subarray(chunk.row_offset ?? 0));
      ordinal = chunk.ordinal;
      if (ordinal + 1 < chunksOf(version)) continue;
      reading.end();
      break;
    }
    return reading.cases;
  }
}

const chunksOf = ({ size_bytes }: DatasetVersionRow): number => Math.ceil(size_bytes / CHUNK_BYTES);

/** Turns a file's bytes into the cases of some rows, until they are complete or reach `maxBytes`. */
class CaseReading {
  readonly cases: CsvCase[] = [];
  /** Number of the row that ends next. 0 before the start. */
  nextRow = 0;
  private bytes = 0;
  private readonly maker: CaseMaker;
  private readonly keepAll: KeptBytes;
  private scanner: CsvScanner;

  constructor(
    version: DatasetVersionRow,
    private readonly rows: readonly number[],
    private readonly maxBytes: number,
  ) {
    this.maker = new CaseMaker(layoutOfVersion(version));
    this.keepAll = version.columns.map(() => Infinity);
    this.scanner = this.newScanner();
  }

  get isFull(): boolean {
    return this.cases.length >= this.rows.length || this.bytes >= this.maxBytes;
  }

  /** Starts at the beginning of a row. @param rowsBefore number of the row before it */
  startAfter(rowsBefore: number): void {
    this.nextRow = rowsBefore + 1;
    this.scanner = this.newScanner();
  }

  async push(bytes: Buffer): Promise<void> {
    for await (const piece of piecesOf(bytes)) {
      this.scanner.push(piece);
      if (this.isFull) return;
    }
  }

  end(): void {
    if (!this.isFull) this.scanner.end();
  }

  private newScanner(): CsvScanner {
    return new CsvScanner(this.keepForNext(), ({ cells }) => {
      if (this.isNextWanted()) {
        const one = this.maker.make(this.nextRow, cells);
        this.cases.push(one);
        this.bytes += caseBytes(one);
      }
      this.nextRow++;
      this.scanner.keep = this.keepForNext();
    });
  }

  private isNextWanted(): boolean {
    return !this.isFull && this.rows[this.cases.length] === this.nextRow;
  }

  private keepForNext(): KeptBytes {
    return this.isNextWanted() ? this.keepAll : [];
  }
}

/** The name in cursors of the only sort order of rows. */
const BY_ROW = 'row';

/** Maximum number of concurrent page reads of an organization. One more can run for others. Each may take about 60 MiB. */
const PAGES_AT_ONCE = 2;
const PAGES_WAITING = 200;
/** Number of cases that are read together when a whole file is read. */
const CASES_AT_ONCE = 1_000;

/** Which cases of a version a list has. */
export interface CaseSelection {
  filter: CaseFilter | null;
  /** Filters cases by what the file does not say. Keeps their order. Absent: keeps all. */
  keep?: ((cases: CsvCase[]) => Promise<CsvCase[]>) | undefined;
  /** Counts all selected cases. */
  count: () => Promise<number | null>;
}

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
    filter: CaseFilter,
    signal: AbortSignal,
  ): Promise<number> {
    return this.limiter.run(scope, signal, async () => {
      const rows = filter.caseIds ? await this.rowsOf(scope, version, filter.caseIds) : null;
      let count = 0;
      for (let after = 0; ;) {
        const cases = await this.read(scope, version, { rows, after, limit: CASES_AT_ONCE }, signal);
        if (cases.length === 0) return count;
        count += cases.filter((one) => hasTags(one, filter)).length;
        after = cases.at(-1)!.row;
      }
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
    const version = await this.versions.find(scope, datasetId, number);
    const selection = { filter: null, count: () => Promise.resolve(version.row_count) };
    return toPage(await this.select(scope, version, query, selection, signal), toDatasetCaseDto);
  }

  /**
   * Returns a page of the selected cases of a version, in row order. It ends early at `PAGE_BYTES`, and at `scanEnd` if few
   * cases match. Errors: those of `cases`.
   */
  async select(
    scope: Scope,
    version: DatasetVersionRow,
    query: PageQueryDto,
    { filter, keep, count }: CaseSelection,
    signal: AbortSignal,
  ): Promise<RowPage<CsvCase>> {
    checkStart(query);
    const { cursor, offset = 0, limit = PAGE_SIZE_DEFAULT } = query;
    const isWhole = filter === null && !keep;
    const after = cursor === undefined ? (isWhole ? offset : 0) : rowOfCursor(cursor);
    const place = { after, skip: isWhole || cursor !== undefined ? 0 : offset, limit };
    const { cases, next } = await this.limiter.run(scope, signal, () =>
      this.scan(scope, version, place, { filter, keep }, signal),
    );
    const nextCursor = next === null ? null : encodeCursor({ sort: BY_ROW, key: null, id: String(next) });
    return pageOf(query, cases, nextCursor, count);
  }

  /** Reads batches of rows until the page is full. `next` is the row after which the next page continues, if there is one. */
  private async scan(
    scope: Scope,
    version: DatasetVersionRow,
    { after, skip, limit }: { after: number; skip: number; limit: number },
    { filter, keep = (cases) => Promise.resolve(cases) }: Pick<CaseSelection, 'filter' | 'keep'>,
    signal: AbortSignal,
  ): Promise<{ cases: CsvCase[]; next: number | null }> {
    const rows = filter?.caseIds ? await this.rowsOf(scope, version, filter.caseIds) : null;
    const until = scanEnd({});
    const cases: CsvCase[] = [];
    let bytes = 0;
    let left = skip;
    let batch = limit === 0 ? 0 : limit + 1;
    for (let last = after; ; batch = Math.min(2 * batch, CASES_AT_ONCE)) {
      const read = await this.read(scope, version, { rows, after: last, limit: batch }, signal);
      if (read.length === 0) return { cases, next: null };
      for (const one of await keep(read.filter((row) => hasTags(row, filter)))) {
        if (left-- > 0) continue;
        const isFull = cases.length === limit || (cases.length > 0 && bytes + caseBytes(one) > PAGE_BYTES);
        if (isFull) return { cases, next: cases.at(-1)!.row };
        bytes += caseBytes(one);
        cases.push(one);
      }
      last = read.at(-1)!.row;
      if (left <= 0 && performance.now() > until) return { cases, next: last };
    }
  }

  /** Returns the numbers of the rows with these case ids, in row order. */
  private async rowsOf(
    scope: Scope,
    version: DatasetVersionRow,
    caseIds: readonly string[],
  ): Promise<number[]> {
    const rows = await this.versions.existingCases(scope, version, caseIds);
    return [...rows.values()].sort((a, b) => a - b);
  }

  /** Returns at most `limit` cases after a row, or those of the selected rows after it, and fewer once they fill a page. */
  private read(
    scope: Scope,
    version: DatasetVersionRow,
    { rows, after, limit }: { rows: readonly number[] | null; after: number; limit: number },
    signal: AbortSignal,
  ): Promise<CsvCase[]> {
    const length = Math.max(0, Math.min(limit, version.row_count - after));
    const wanted = rows
      ? rows.filter((row) => row > after).slice(0, limit)
      : Array.from({ length }, (_, index) => after + 1 + index);
    return this.content.readRows(undefined, scope, version, wanted, PAGE_BYTES, signal);
  }
}

const hasTags = ({ tags }: CsvCase, filter: CaseFilter | null): boolean =>
  (filter?.tags ?? []).every((tag) => tags.includes(tag));

/** Returns the row of a cursor. Errors: 400 for a cursor of another list. */
function rowOfCursor(cursor: string): number {
  const { sort, key, id } = decodeCursor(cursor);
  if (sort !== BY_ROW || key !== null || !/^[1-9]\d{0,8}$/.test(id)) throw foreignCursor();
  return Number(id);
}

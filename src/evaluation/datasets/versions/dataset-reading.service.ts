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
  PAGE_BYTES,
  PAGE_SIZE_DEFAULT,
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
      (!ids || ids.has(one.case_id)) && tags.every((tag) => one.tags.includes(tag));
    return this.limiter.run(scope, signal, async () => {
      let count = 0;
      for (let from = 1; from <= version.row_count;) {
        const cases = await this.page(scope, version, from, CASES_AT_ONCE, signal);
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
      this.page(scope, version, before + 1, limit, signal),
    );
    const last = cases.at(-1)?.row;
    return {
      items: cases.map(toDatasetCaseDto),
      page: {
        limit,
        offset: query.offset ?? 0,
        total: query.total === false ? null : version.row_count,
        next_cursor:
          last !== undefined && last < version.row_count
            ? encodeCursor({ sort: BY_ROW, key: null, id: String(last) })
            : null,
      },
    };
  }

  /** Returns at most `limit` cases from row `from` on, and fewer once they fill a page. */
  private page(
    scope: Scope,
    version: DatasetVersionRow,
    from: number,
    limit: number,
    signal: AbortSignal,
  ): Promise<CsvCase[]> {
    const length = Math.max(0, Math.min(limit, version.row_count - from + 1));
    const rows = Array.from({ length }, (_, index) => from + index);
    return this.content.readRows(undefined, scope, version, rows, PAGE_BYTES, signal);
  }
}

/** Returns the number of rows before a page. Errors: 400 for a cursor of another list, or together with an offset. */
function rowsBefore(query: DatasetCaseListQueryDto): number {
  checkStart(query);
  if (query.cursor === undefined) return query.offset ?? 0;
  const { sort, key, id } = decodeCursor(query.cursor);
  if (sort !== BY_ROW || key !== null || !/^[1-9]\d{0,8}$/.test(id)) throw foreignCursor();
  return Number(id);
}

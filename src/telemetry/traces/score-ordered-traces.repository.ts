import type { Scope } from '#platform/auth';
import { join, type Sql, sql, type SqlExecutor } from '#platform/db';
import {
  checkStart,
  decodeCursor,
  encodeCursor,
  foreignCursor,
  type ListSpec,
  PAGE_SIZE_DEFAULT,
  pageOf,
  type RowPage,
  type RowPlace,
  scanEnd,
  type ScanRules,
} from '#platform/paging';
import { timesOf } from '../list-conditions.sql';
import { SUMMARY } from './trace-columns.sql';
import { checksOf, tracesOf } from './trace-filters.sql';
import type { ScoreSort } from './score-query';
import type { TraceListQueryDto } from './trace-query.dto';
import type { ScorePosition, TraceScores } from './trace-scores';
import type { TraceSummary } from './trace.dto';

/** Number of traces that the first statement of a page reads by their scores. Each further statement reads twice as many. */
const FIRST_BATCH = 100;
/** Maximum number of traces per statement. */
const BATCH_MAX = 2_000;
/** Maximum number of traces per page. */
const PAGE_MAX = 20_000;
/** Maximum number of traces per page if the filters also read spans. */
const LOOKUP_PAGE_MAX = 2_000;

/** Where a page starts. */
interface Start {
  after: ScorePosition | undefined;
  /** Number of traces that remain to be skipped. */
  toSkip: number;
}

/** The sort in a cursor, with the number of rows that remain to be skipped. */
const CURSOR_SORT = /^(.+?)(?:\+([1-9]\d{0,9}))?$/;

/** Lists the traces with a score by a scorer, in the order of the scores. */
export class ScoreOrderedTraces {
  private readonly sort: string;
  private readonly descending: boolean;

  constructor(
    private readonly database: SqlExecutor,
    private readonly scores: TraceScores,
    private readonly scope: Scope,
    private readonly query: TraceListQueryDto,
    private readonly by: ScoreSort,
    private readonly keep: ListSpec['keep'],
  ) {
    this.descending = query.sort?.startsWith('-') === true;
    this.sort = `${this.descending ? '-' : ''}${by.key}`;
  }

  /**
   * @param traceIds all traces that match the times and names of the query, if they are few, because a scan in the order of
   *   all scores might reach them late
   * @param total counts the traces of all pages
   */
  async list(
    traceIds: readonly string[] | undefined,
    total: () => Promise<number | null>,
  ): Promise<RowPage<TraceSummary>> {
    const { limit = PAGE_SIZE_DEFAULT, offset = 0, cursor } = this.query;
    const rows: TraceSummary[] = [];
    const start = this.startOf(cursor, offset);
    const next = limit > 0 ? await this.addScored(rows, start, limit, traceIds) : null;
    return pageOf(this.query, rows, next, total);
  }

  /** @returns the cursor of the next page, or null after the last trace with a score */
  private async addScored(
    rows: TraceSummary[],
    start: Start,
    limit: number,
    traceIds: readonly string[] | undefined,
  ): Promise<string | null> {
    const checks = checksOf(this.query, timesOf('t.started_at', this.query));
    const readMax = 'lookup' in checks ? LOOKUP_PAGE_MAX : PAGE_MAX;
    const deadline = scanEnd(this.database);
    const selection = { scorer: this.by.scorer, source: this.query.score_source ?? null, traceIds };
    let { after } = start;
    const mayContinue = (read: number): boolean =>
      read < readMax || (rows.length === 0 && start.toSkip === 0 && performance.now() < deadline);
    for (let read = 0, batch = FIRST_BATCH; mayContinue(read); batch = Math.min(batch * 2, BATCH_MAX)) {
      const order = { ...selection, descending: this.descending, after, limit: batch };
      const scored = await this.scores.listByScore(this.database, this.scope, order);
      const traces = await this.read(scored.map(({ trace_id }) => trace_id), checks); // oxfmt-ignore
      for (const position of scored) {
        const trace = traces.get(position.trace_id);
        if (trace && rows.length === limit) return this.cursorAfter(after!, 0);
        if (trace && start.toSkip > 0) start.toSkip -= 1;
        else if (trace) rows.push(trace);
        after = position;
      }
      if (scored.length < batch) return null;
      read += scored.length;
    }
    return this.cursorAfter(after!, start.toSkip);
  }

  private async read(
    traceIds: readonly string[],
    { condition, lookup }: ScanRules,
  ): Promise<Map<string, TraceSummary>> {
    const checks = [condition, lookup].filter((one): one is Sql => one !== undefined);
    const where = checks.length > 0 ? sql`WHERE ${join(checks, ' AND ')}` : sql``;
    const traces = await this.database.query<TraceSummary & RowPlace>(
      sql`SELECT ${SUMMARY}, NULL AS page_key, t.trace_id AS page_id FROM ${tracesOf(this.scope, traceIds)} t ${where}`,
    );
    const matching = this.keep ? await this.keep(traces) : traces;
    return new Map(matching.map((trace) => [trace.page_id, trace]));
  }

  private cursorAfter({ score, score_id }: ScorePosition, toSkip: number): string {
    const sort = `${this.sort}${toSkip > 0 ? `+${toSkip}` : ''}`;
    return encodeCursor({ sort, key: String(score), id: score_id });
  }

  private startOf(cursor: string | undefined, offset: number): Start {
    checkStart(this.query);
    if (cursor === undefined) return { after: undefined, toSkip: offset };
    const position = decodeCursor(cursor);
    const [, sort, skip] = CURSOR_SORT.exec(position.sort) ?? [];
    const score = Number(position.key ?? NaN);
    if (sort !== this.sort || !Number.isFinite(score)) throw foreignCursor();
    return { after: { score, score_id: position.id }, toSkip: Number(skip ?? 0) };
  }
}

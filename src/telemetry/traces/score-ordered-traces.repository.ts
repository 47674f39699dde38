import type { Scope } from '#platform/auth';
import { join, type Sql, sql, type SqlExecutor } from '#platform/db';
import {
  decodeCursor,
  encodeCursor,
  totalOf,
  withTotal,
  PAGE_SIZE_DEFAULT,
  type RowPage,
  scanEnd,
  type ScanSpec,
} from '#platform/paging';
import { problem } from '#platform/problem';
import { SUMMARY } from './trace-columns.sql';
import { checksOf, timesOf, tracesOf } from './trace-filters.sql';
import type { TraceListQueryDto, TraceSort } from './trace-query.dto';
import type { ScorePosition, TraceScores } from './trace-scores';
import type { TraceSummary } from './trace.dto';

/** Traces that one statement reads by their scores, at first and at most, and that a page reads at most. */
const FIRST_BATCH = 100;
const BATCH_MAX = 2_000;
const PAGE_MAX = 20_000;
/** The last, if the filters also read spans. */
const LOOKUP_PAGE_MAX = 2_000;

/** Where a page starts: after a trace, and the traces that remain to be skipped. */
interface Start {
  after: ScorePosition | undefined;
  toSkip: number;
}

/** The sort of a cursor, and the rows that remain to be skipped. */
const CURSOR_SORT = /^(.+?)(?:\+([1-9]\d{0,9}))?$/;

/** Reads the traces with a score of a scorer in the order of the scores. */
export class ScoreOrderedTraces {
  private readonly sort: string;
  private readonly descending: boolean;

  constructor(
    private readonly database: SqlExecutor,
    private readonly scores: TraceScores,
    private readonly scope: Scope,
    private readonly query: TraceListQueryDto,
    private readonly by: TraceSort & { by: 'score' },
    private readonly keep: ScanSpec['keep'],
  ) {
    this.descending = query.sort?.startsWith('-') === true;
    this.sort = `${this.descending ? '-' : ''}${by.key}`;
  }

  /**
   * @param traceIds all traces that the times and names of the query leave, if they are few: the order of all scores might
   *   meet them late
   * @param total counts the traces of all pages
   */
  async list(
    traceIds: readonly string[] | undefined,
    total: () => Promise<number | null>,
  ): Promise<RowPage<TraceSummary>> {
    const { limit = PAGE_SIZE_DEFAULT, offset = 0, cursor } = this.query;
    const rows: TraceSummary[] = [];
    const start = this.startOf(cursor, offset);
    const next_cursor = limit > 0 ? await this.addScored(rows, start, limit, traceIds) : null;
    const isLast = limit > 0 && next_cursor === null && offset === 0;
    const all = await totalOf(this.query, { rows: rows.length, isLast }, total);
    return {
      rows,
      page: { limit, offset, total: all, next_cursor: next_cursor && withTotal(next_cursor, all) },
    };
  }

  /** @returns the cursor of the next page, or null after the last trace with a score */
  private async addScored(
    rows: TraceSummary[],
    start: Start,
    limit: number,
    traceIds: readonly string[] | undefined,
  ): Promise<string | null> {
    const checks = checksOf(this.query, timesOf(this.query));
    const most = 'lookup' in checks ? LOOKUP_PAGE_MAX : PAGE_MAX;
    const until = scanEnd(this.database);
    const selection = { scorer: this.by.scorer, source: this.query.score_source ?? null, traceIds };
    let { after } = start;
    const goesOn = (read: number): boolean =>
      read < most || (rows.length === 0 && start.toSkip === 0 && performance.now() < until);
    for (let read = 0, batch = FIRST_BATCH; goesOn(read); batch = Math.min(batch * 2, BATCH_MAX)) {
      const order = { ...selection, descending: this.descending, after, limit: batch };
      const places = await this.scores.ordered(this.database, this.scope, order);
      const found = await this.read(places.map(({ trace_id }) => trace_id), checks); // prettier-ignore
      for (const place of places) {
        const trace = found.get(place.trace_id);
        if (trace && rows.length === limit) return this.cursorAfter(after!, 0);
        if (trace && start.toSkip > 0) start.toSkip -= 1;
        else if (trace) rows.push(trace);
        after = place;
      }
      if (places.length < batch) return null;
      read += places.length;
    }
    return this.cursorAfter(after!, start.toSkip);
  }

  private async read(
    traceIds: readonly string[],
    { condition, lookup }: Pick<ScanSpec, 'condition' | 'lookup'>,
  ): Promise<Map<string, TraceSummary>> {
    const checks = [condition, lookup].filter((one): one is Sql => one !== undefined);
    const where = checks.length > 0 ? sql`WHERE ${join(checks, ' AND ')}` : sql``;
    const found = await this.database.query<TraceSummary & { page_key: null; page_id: string }>(
      sql`SELECT ${SUMMARY}, t.trace_id AS page_id FROM ${tracesOf(this.scope, traceIds)} t ${where}`,
    );
    const kept = this.keep ? await this.keep(found) : found;
    return new Map(kept.map((trace) => [trace.page_id, trace as unknown as TraceSummary]));
  }

  private cursorAfter({ score, score_id }: ScorePosition, toSkip: number): string {
    const sort = `${this.sort}${toSkip > 0 ? `+${toSkip}` : ''}`;
    return encodeCursor({ sort, key: String(score), id: score_id });
  }

  private startOf(cursor: string | undefined, offset: number): Start {
    if (cursor === undefined) return { after: undefined, toSkip: offset };
    if (this.query.offset !== undefined)
      throw problem.invalidQuery('cursor', 'cannot be combined with offset');
    const position = decodeCursor(cursor);
    const [, sort, skip] = CURSOR_SORT.exec(position.sort) ?? [];
    const score = Number(position.key ?? NaN);
    if (sort !== this.sort || !Number.isFinite(score)) {
      throw problem.invalidQuery('cursor', 'belongs to another list or sort');
    }
    return { after: { score, score_id: position.id }, toSkip: Number(skip ?? 0) };
  }
}

import type { Scope } from '#platform/auth';
import { join, type Sql, sql, type SqlExecutor, Where } from '#platform/db';
import {
  decodeCursor,
  encodeCursor,
  PAGE_SIZE_DEFAULT,
  type RowPage,
  scanPage,
  type ScanSpec,
} from '#platform/paging';
import { problem } from '#platform/problem';
import { SUMMARY } from './trace-columns.sql';
import { checksOf, timesOf, tracesOf } from './trace-filters.sql';
import type { TraceListQueryDto, TraceSort } from './trace-query.dto';
import type { ScorePlace, TraceScores } from './trace-scores';
import type { TraceSummary } from './trace.dto';

/** Traces that one statement reads by their scores, at first and at most, and that a page reads at most. */
const FIRST_BATCH = 100;
const BATCH_MAX = 2_000;
const PAGE_MAX = 20_000;
/** The last, if the filters also read spans. */
const LOOKUP_PAGE_MAX = 2_000;

/** Where a page starts: among the traces with a score, or among those without. */
interface Start {
  isUnscored: boolean;
  after: ScorePlace | undefined;
  /** The cursor among the traces without a score. */
  cursor: string | undefined;
  toSkip: number;
}

/** The sort of a cursor, `/1` for the traces without a score, and the rows that remain to be skipped. */
const PLACE = /^(.+?)(\/1)?(?:\+([1-9]\d{0,9}))?$/;

/** Reads the traces with a score of a scorer in the order of the scores, and then those without, by start. */
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

  /** @param total counts the traces of all pages */
  async list(total: () => Promise<number | null>): Promise<RowPage<TraceSummary>> {
    const { limit = PAGE_SIZE_DEFAULT, offset = 0, cursor } = this.query;
    const start = this.startOf(cursor, offset);
    const rows: TraceSummary[] = [];
    let next_cursor: string | null = null;
    if (limit > 0 && !start.isUnscored) next_cursor = await this.addScored(rows, start, limit);
    if (limit > 0 && next_cursor === null) next_cursor = await this.addUnscored(rows, start, limit);
    const isWhole = limit > 0 && next_cursor === null && offset === 0 && cursor === undefined;
    return { rows, page: { limit, offset, total: isWhole ? rows.length : await total(), next_cursor } };
  }

  /** @returns the cursor of the next page, or null after the last trace with a score */
  private async addScored(rows: TraceSummary[], start: Start, limit: number): Promise<string | null> {
    const checks = checksOf(this.query, timesOf(this.query));
    const most = 'lookup' in checks ? LOOKUP_PAGE_MAX : PAGE_MAX;
    const { scorer } = this.by;
    let { after } = start;
    for (let read = 0, batch = FIRST_BATCH; read < most; batch = Math.min(batch * 2, BATCH_MAX)) {
      const order = { scorer, descending: this.descending, after, limit: batch };
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

  /** @returns the cursor of the next page, or null after the last trace */
  private async addUnscored(rows: TraceSummary[], start: Start, limit: number): Promise<string | null> {
    if (rows.length === limit)
      return encodeCursor({ sort: this.placeOf('/1', start.toSkip), key: null, id: '' });
    const { cursor, toSkip } = start;
    const { scorer, key } = this.by;
    const spec: ScanSpec = {
      ...checksOf(this.query, timesOf(this.query)),
      columns: SUMMARY,
      table: 'traces',
      where: Where.estimatedByAverage(this.scope.key),
      id: 't.trace_id',
      sorts: { [key]: { expression: 't.started_at', type: 'timestamptz' } },
      defaultSort: key,
      keep: async (found) => {
        const ids = found.map(({ page_id }) => page_id);
        const every = [{ scorer, from: -Infinity, to: Infinity }];
        const scored = await this.scores.among(this.database, this.scope, ids, every);
        const unscored = found.filter(({ page_id }) => !scored.has(page_id));
        return this.keep ? this.keep(unscored) : unscored;
      },
    };
    const part = {
      sort: this.sort,
      limit: limit - rows.length,
      ...(cursor === undefined ? { offset: toSkip } : { cursor }),
    };
    const { rows: found, page } = await scanPage<TraceSummary>(this.database, spec, part);
    rows.push(...found);
    if (page.next_cursor === null) return null;
    const position = decodeCursor(page.next_cursor);
    const [, , , skip] = PLACE.exec(position.sort) ?? [];
    return encodeCursor({ ...position, sort: this.placeOf('/1', Number(skip ?? 0)) });
  }

  private cursorAfter({ score, score_id }: ScorePlace, toSkip: number): string {
    return encodeCursor({ sort: this.placeOf('', toSkip), key: String(score), id: score_id });
  }

  private placeOf(range: string, toSkip: number): string {
    return `${this.sort}${range}${toSkip > 0 ? `+${toSkip}` : ''}`;
  }

  private startOf(cursor: string | undefined, offset: number): Start {
    if (cursor === undefined)
      return { isUnscored: false, after: undefined, cursor: undefined, toSkip: offset };
    if (this.query.offset !== undefined)
      throw problem.invalidQuery('cursor', 'cannot be combined with offset');
    const position = decodeCursor(cursor);
    const [, sort, range, skip] = PLACE.exec(position.sort) ?? [];
    const toSkip = Number(skip ?? 0);
    if (sort === this.sort && range !== undefined) {
      const isStart = position.id === '';
      const inner = encodeCursor({ ...position, sort: `${this.sort}${toSkip > 0 ? `+${toSkip}` : ''}` });
      return { isUnscored: true, after: undefined, cursor: isStart ? undefined : inner, toSkip };
    }
    const score = Number(position.key ?? NaN);
    if (sort !== this.sort || !Number.isFinite(score)) {
      throw problem.invalidQuery('cursor', 'belongs to another list or sort');
    }
    return { isUnscored: false, after: { score, score_id: position.id }, cursor: undefined, toSkip };
  }
}

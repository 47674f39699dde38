import type { Scope } from '#platform/auth';
import { firstRow, followIndexes, raw, sql, type Sql, type SqlExecutor, Where } from '#platform/db';
import { listPage, type ListSpec, type RowPage, type RowPlace, type SortKey } from '#platform/paging';
import { problem } from '#platform/problem';
import { addTimes, timesOf } from '../list-conditions.sql';
import { SORT_MEASURES, SUMMARY } from './trace-columns.sql';
import { checksOf, tracesOf, useIndex } from './trace-filters.sql';
import { checkScorerNames, readScoreFilters, readScoreSort } from './score-query';
import { TRACE_SORTS, type TraceListQueryDto } from './trace-query.dto';
import { ScoreOrderedTraces } from './score-ordered-traces.repository';
import type { ScoreCondition, TraceScores } from './trace-scores';
import type { TraceSummary } from './trace.dto';

/**
 * If at most this many traces match the model or the scores, only these are read. If more match, a scan of all traces finds
 * some soon.
 */
const RARE_MAX = 1_000;

/**
 * If an index finds at most this many traces, they are sorted. If it finds more, a scan in the requested order reaches some
 * soon.
 */
const SORTED_MAX = 20_000;

const BY_START: Record<string, SortKey> = { started_at: { expression: 't.started_at', type: 'timestamptz' } };

const LIST = { columns: SUMMARY, id: 't.trace_id', sorts: BY_START, defaultSort: '-started_at' };

/** Changes a query so that it only counts. */
const COUNT_ONLY = { sort: undefined, limit: 0, offset: undefined, cursor: undefined };

/** A requested list. */
interface ListRequest {
  scope: Scope;
  query: TraceListQueryDto;
  /** Checks the conditions on scores. Absent without such conditions. */
  keep?: ListSpec['keep'];
  /** A table of at most RARE_MAX traces that include all traces of the list. Absent: the table of all traces. */
  superset?: Sql;
}

/** Lists traces by start, duration, cost or score. */
export class TraceListRepository {
  constructor(
    private readonly database: SqlExecutor,
    private readonly scores: TraceScores,
  ) {}

  /**
   * Reads a page of the traces that meet all filters. An index serves the sort, or the times and one filter. The remaining
   * filters are checked on a bounded number of traces, see `listPage`.
   *
   * Errors: 400 for a malformed `score` and for `score_source` without a score; 422 for an unknown operator in `score`, for an
   * unknown sort, and for a scorer name that no scorer has, and no score.
   */
  async list(scope: Scope, query: TraceListQueryDto): Promise<RowPage<TraceSummary>> {
    const page = await this.listTraces(scope, query);
    // a trace in the list has a score by each scorer that the query names
    if (page.rows.length === 0) await this.checkScorers(scope, query);
    return page;
  }

  private checkScorers(scope: Scope, { sort = '-started_at', score }: TraceListQueryDto): Promise<void> {
    return checkScorerNames(readScoreSort(TRACE_SORTS, sort), readScoreFilters(score), (names) =>
      this.scores.unknownScorers(this.database, scope, names),
    );
  }

  private async listTraces(scope: Scope, query: TraceListQueryDto): Promise<RowPage<TraceSummary>> {
    const sort = readScoreSort(TRACE_SORTS, query.sort ?? '-started_at');
    const conditions = readScoreFilters(query.score).map((one) => ({
      ...one,
      source: query.score_source ?? null,
    }));
    if (query.score_source !== undefined && conditions.length === 0 && sort.by !== 'score') {
      throw problem.invalidQuery('score_source', 'requires `score` or a sort by a score');
    }
    const request: ListRequest = { scope, query };
    await followIndexes(this.database);
    if (conditions.length > 0) request.keep = this.scoreFilter(scope, conditions);
    if (sort.by === 'score') {
      const ordered = new ScoreOrderedTraces(this.database, this.scores, scope, query, sort, request.keep);
      const scored = {
        scorer: sort.scorer,
        source: query.score_source ?? null,
        from: -Infinity,
        to: Infinity,
      };
      const countRequest = { ...request, keep: this.scoreFilter(scope, [...conditions, scored]) };
      return ordered.list(await this.idsByTimesAndNames(scope, query), () => this.count(countRequest));
    }
    const scored =
      conditions.length > 0
        ? await this.scores.findMatching(this.database, scope, conditions, RARE_MAX)
        : null;
    const { model, session_id } = query;
    if (scored) request.superset = tracesOf(scope, scored);
    else if (model !== undefined && session_id === undefined && (await this.isRare(scope, model))) {
      request.superset = tracesOfModel(scope, model);
      request.query = { ...query, model: undefined };
    }
    if (sort.by === 'started_at') return this.listByStart(request);
    return this.listByMeasure(request, sort.by);
  }

  private async listByStart({ scope, query, superset, keep }: ListRequest): Promise<RowPage<TraceSummary>> {
    const where = addTimes(Where.estimatedByAverage(scope.key), 'started_at', query);
    const spec = { ...LIST, where, ...(keep && { keep }) };
    if (superset)
      return listPage(this.database, { ...spec, from: sql`${superset} t`, scan: checksOf(query) }, query);
    const others = useIndex(where, query);
    const checks = checksOf(others);
    if (Object.keys(checks).length > 0 || keep) {
      return listPage(this.database, { ...spec, from: 'traces t', scan: checks }, query);
    }
    const isUnfiltered = others === query && query.since === undefined && query.until === undefined;
    return listPage(
      this.database,
      { ...LIST, from: 'traces t', where, ...(isUnfiltered && { name: 'trace.list' }) },
      query,
    );
  }

  /**
   * Reads the traces in the order of an index on the measure, and traces without the measure last. If another index finds few
   * traces, sorts these instead, because a scan in the order of the measure might reach them late.
   */
  private async listByMeasure(
    request: ListRequest,
    by: keyof typeof SORT_MEASURES,
  ): Promise<RowPage<TraceSummary>> {
    const { scope, query, keep, superset } = request;
    const { expression, isNullable } = SORT_MEASURES[by];
    const narrow = addTimes(Where.estimatedByAverage(scope.key), 'started_at', query);
    const others = superset ? query : useIndex(narrow, query);
    const isSmall = superset !== undefined || (await this.isAtMost(narrow, SORTED_MAX));
    const descending = query.sort?.startsWith('-') === true;
    const range = (isKnown: boolean): ListSpec => {
      const condition = raw(isNullable ? `(${expression}) IS ${isKnown ? 'NOT NULL' : 'NULL'}` : 'true');
      const order = { ...LIST, ...(keep && { keep }), defaultSort: by, count: () => this.count(request) };
      const key = (one: string): Record<string, SortKey> => ({
        [by]: isKnown ? { expression: one, type: 'float8' } : { expression: '' },
      });
      if (!isSmall) {
        const where = Where.estimatedByAverage(scope.key).add(condition);
        return {
          ...order,
          from: 'traces t',
          scan: checksOf(query, timesOf('t.started_at', query)),
          where,
          sorts: key(expression),
        };
      }
      const source = sql`${superset ?? raw('traces')} t WHERE ${narrow.sql} AND ${condition}`;
      const from = sql`${sortedByMeasure(source, expression, isKnown, descending)} t`;
      const where = Where.acrossTenants(); // the table contains only this tenant's rows
      return { ...order, from, scan: checksOf(others), where, id: 'sort_id', sorts: key('sort_measure') };
    };
    const ranges = isNullable ? [range(true), range(false)] : [range(true)];
    return listPage<TraceSummary>(this.database, ranges, query);
  }

  /** Counts the list in the order of starts, where the index that serves its filters counts fastest. */
  private async count(request: ListRequest): Promise<number | null> {
    return (await this.listByStart({ ...request, query: { ...request.query, ...COUNT_ONLY } })).page.total;
  }

  private scoreFilter(scope: Scope, conditions: readonly ScoreCondition[]) {
    return async <Row extends RowPlace>(rows: readonly Row[]): Promise<Row[]> => {
      const ids = rows.map(({ page_id }) => page_id);
      const matching = await this.scores.filterMatching(this.database, scope, ids, conditions);
      return rows.filter(({ page_id }) => matching.has(page_id));
    };
  }

  private async isRare({ workspaceId }: Scope, model: string): Promise<boolean> {
    const row = await firstRow<{ count: number }>(
      this.database,
      'trace-list.count-of-model',
      sql`SELECT count(*) AS count FROM (
        SELECT 1 FROM trace_models WHERE workspace_id = ${workspaceId} AND model = ${model}
        LIMIT ${raw(String(RARE_MAX + 1))}) counted`,
    );
    return row!.count <= RARE_MAX;
  }

  /** Returns the ids of the traces that match a query's times and names; undefined for too many, and without such filters. */
  private async idsByTimesAndNames(scope: Scope, query: TraceListQueryDto): Promise<string[] | undefined> {
    const narrow = addTimes(Where.estimatedByAverage(scope.key), 'started_at', query);
    const others = useIndex(narrow, query);
    if (others === query && query.since === undefined && query.until === undefined) return undefined;
    const rows = await this.database.query<{ trace_id: string }>(
      sql`SELECT trace_id FROM traces WHERE ${narrow.sql} LIMIT ${SORTED_MAX + 1}`,
    );
    return rows.length > SORTED_MAX ? undefined : rows.map(({ trace_id }) => trace_id);
  }

  private async isAtMost(where: Where, limit: number): Promise<boolean> {
    const [row] = await this.database.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM (SELECT 1 FROM traces WHERE ${where.sql} LIMIT ${limit + 1}) counted`,
    );
    return row!.count <= limit;
  }
}

/** Returns a table of the traces of a model. OFFSET keeps PostgreSQL from joining the whole tables. */
const tracesOfModel = ({ workspaceId }: Scope, model: string): Sql => sql`(SELECT t.* FROM trace_models m
    CROSS JOIN LATERAL (
      SELECT * FROM traces o WHERE o.workspace_id = m.workspace_id AND o.trace_id = m.trace_id OFFSET 0) t
    WHERE m.workspace_id = ${workspaceId} AND m.model = ${model})`;

/** Returns a sorted table of traces. Sorts only the ids, and looks up their traces in that order, because rows are large. */
function sortedByMeasure(source: Sql, measure: string, isKnown: boolean, descending: boolean): Sql {
  const direction = raw(descending ? 'DESC' : 'ASC');
  const order = isKnown ? sql`sort_measure ${direction}, sort_id ${direction}` : sql`sort_id ${direction}`;
  return sql`(SELECT o.*, k.sort_measure, k.sort_id FROM (
      SELECT t.workspace_id, t.trace_id AS sort_id, ${raw(measure)} AS sort_measure FROM ${source} ORDER BY ${order}
    ) k CROSS JOIN LATERAL (
      SELECT * FROM traces o WHERE o.workspace_id = k.workspace_id AND o.trace_id = k.sort_id LIMIT 1) o)`;
}

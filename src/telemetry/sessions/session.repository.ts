import type { Scope } from '#platform/auth';
import { followIndexes, type SqlExecutor, Where } from '#platform/db';
import { type ListQueryDto, type RowPage, scanPage, type SortKey, TOTAL_MAX } from '#platform/paging';
import type { SessionListFilters, SessionSummary } from '../trace-list';
import { costOfTrace } from '../traces/trace-cost';
import { addTimes } from '../traces/trace-list.repository';

/** Traces of a session that its totals are over: the last ones. */
export const SESSION_TRACES_MAX = 10_000;

/** Names of models, and of services, that are told of a session. */
const NAMES_MAX = 100;

/** The last trace of a session stands for it in the list. Asked of a trace `t`, by keys that it carries. */
const IS_LAST = `NOT EXISTS (
  SELECT 1 FROM traces o WHERE o.workspace_id = t.workspace_id AND o.session_id = t.session_id
    AND (o.started_at, o.trace_id) > (t.started_at, t.trace_id) OFFSET 0)`;

const SORTS: Record<string, SortKey> = {
  last_started_at: { expression: 't.started_at', type: 'timestamptz' },
};

const INPUT = 'coalesce(t.input_tokens, t.step_input_tokens)';
const OUTPUT = 'coalesce(t.output_tokens, t.step_output_tokens)';
const COST = costOfTrace('t.');

/** Sorted names of a session, each once. */
const namesOf = (column: string, from: string): string => `ARRAY(
  SELECT ${column} COLLATE "C" AS name FROM ${from} GROUP BY name ORDER BY name LIMIT ${NAMES_MAX})`;

/**
 * Those of these sessions that have traces, in the order in which they are given. The traces of each are read once, up to
 * one more than its totals are over.
 */
const TOTALS = {
  name: 'session.totals',
  text: `SELECT s.session_id, first.started_at AS first_started_at, totals.*
    FROM unnest($2::text[]) WITH ORDINALITY s(session_id, place)
    CROSS JOIN LATERAL (
      SELECT started_at FROM traces WHERE workspace_id = $1 AND session_id = s.session_id
      ORDER BY started_at, trace_id LIMIT 1
    ) first
    CROSS JOIN LATERAL (
      WITH read AS MATERIALIZED (
        SELECT t.started_at, t.span_count, t.error_count, t.models, t.service_name, ${INPUT} AS input, ${OUTPUT} AS output,
          ${COST} AS cost, row_number() OVER (ORDER BY t.started_at DESC, t.trace_id DESC) AS place
        FROM traces t WHERE t.workspace_id = $1 AND t.session_id = s.session_id
        ORDER BY t.started_at DESC, t.trace_id DESC LIMIT ${SESSION_TRACES_MAX + 1}
      ), last AS NOT MATERIALIZED (SELECT * FROM read WHERE read.place <= ${SESSION_TRACES_MAX})
      SELECT max(started_at) AS last_started_at, count(*) AS trace_count, sum(span_count) AS span_count,
        sum(error_count) AS error_count, sum(input)::float8 AS input_tokens, sum(output)::float8 AS output_tokens,
        CASE WHEN NOT bool_or(cost IS NULL AND coalesce(input, 0) + coalesce(output, 0) > 0) THEN sum(cost)::float8 END
          AS cost_usd,
        ${namesOf('model', '(SELECT DISTINCT models FROM last) named, unnest(models) model')} AS models,
        ${namesOf('service_name', 'last WHERE service_name IS NOT NULL')} AS service_names,
        EXISTS (SELECT 1 FROM read WHERE read.place > ${SESSION_TRACES_MAX}) AS is_truncated
      FROM last
    ) totals
    ORDER BY s.place`,
};

/** From one session to the next by the index: what that takes grows with the sessions, and not with their traces. */
const COUNT = {
  name: 'session.count',
  text: `WITH RECURSIVE found AS (
      (SELECT session_id FROM traces WHERE workspace_id = $1 AND session_id IS NOT NULL ORDER BY session_id LIMIT 1)
      UNION ALL
      SELECT (SELECT t.session_id FROM traces t WHERE t.workspace_id = $1 AND t.session_id > found.session_id
              ORDER BY t.session_id LIMIT 1)
      FROM found WHERE found.session_id IS NOT NULL
    )
    SELECT count(session_id) AS total FROM (SELECT session_id FROM found LIMIT ${TOTAL_MAX + 2}) counted`,
};

/** Sessions, as the traces that name them tell of them. */
export class SessionRepository {
  constructor(private readonly database: SqlExecutor) {}

  /**
   * A page of sessions, by their last trace. Traces are gone through in the order of their starts, and only those that
   * are the last of their session count: a bounded number of them, see `scanPage`. Where that does not tell the total, the
   * sessions are counted for a first page alone.
   */
  async list(
    scope: Scope,
    filters: SessionListFilters,
    query: ListQueryDto,
  ): Promise<RowPage<SessionSummary>> {
    await followIndexes(this.database);
    const { rows, page } = await scanPage<{ session_id: string }>(
      this.database,
      {
        columns: 't.session_id',
        table: 'traces',
        where: addTimes(Where.estimatedByAverage(scope.key), filters),
        condition: () => 't.session_id IS NOT NULL',
        lookup: () => IS_LAST,
        cost: '1',
        id: 't.trace_id',
        sorts: SORTS,
        defaultSort: '-last_started_at',
      },
      query,
    );
    const isNarrowed = filters.since_us !== undefined || filters.until_us !== undefined;
    const isCounted = page.total === null && !isNarrowed && query.cursor === undefined;
    const total = isCounted ? await this.count(scope) : page.total;
    const ids = rows.map(({ session_id }) => session_id);
    return { rows: await this.totals(scope, ids), page: { ...page, total } };
  }

  /** Sessions with their totals, in the order of these ids, each of which is given once. Unknown ones are left out. */
  async totals(scope: Scope, ids: readonly string[]): Promise<SessionSummary[]> {
    return ids.length === 0 ? [] : this.database.query<SessionSummary>(TOTALS, [scope.workspaceId, ids]);
  }

  private async count(scope: Scope): Promise<number | null> {
    const [row] = await this.database.query<{ total: number }>(COUNT, [scope.workspaceId]);
    return row && row.total <= TOTAL_MAX ? row.total : null;
  }
}

import type { Scope } from '#platform/auth';
import { followIndexes, type SqlExecutor, timeOfMicroseconds, Where } from '#platform/db';
import { type ListQueryDto, listPage, type RowPage, type SortKey } from '#platform/paging';
import type { SessionListFilters, SessionSummary } from '../trace-list';
import { costOfTrace } from '../traces/trace-cost';

/** Traces of a session that its totals are over: the last ones. */
export const SESSION_TRACES_MAX = 10_000;

/** Names of models, and of services, that are told of a session. */
const NAMES_MAX = 100;

const SORTS: Record<string, SortKey> = {
  last_started_at: { expression: 's.last_started_at', type: 'timestamptz' },
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

const TIME = timeOfMicroseconds('?');

/** Sessions, as the traces that name them tell of them. */
export class SessionRepository {
  constructor(private readonly database: SqlExecutor) {}

  /** A page of sessions, by the start of their last trace. */
  async list(
    scope: Scope,
    { since_us, until_us }: SessionListFilters,
    query: ListQueryDto,
  ): Promise<RowPage<SessionSummary>> {
    await followIndexes(this.database);
    const { rows, page } = await listPage<{ session_id: string }>(
      this.database,
      {
        columns: 's.session_id',
        from: 'trace_sessions s',
        where: Where.estimatedByAverage(scope.key)
          .addIf(since_us, `s.last_started_at >= ${TIME}`)
          .addIf(until_us, `s.last_started_at < ${TIME}`),
        id: 's.session_id',
        sorts: SORTS,
        defaultSort: '-last_started_at',
      },
      query,
    );
    const ids = rows.map(({ session_id }) => session_id);
    return { rows: await this.totals(scope, ids), page };
  }

  /** Sessions with their totals, in the order of these ids, each of which is given once. Unknown ones are left out. */
  async totals(scope: Scope, ids: readonly string[]): Promise<SessionSummary[]> {
    return ids.length === 0 ? [] : this.database.query<SessionSummary>(TOTALS, [scope.workspaceId, ids]);
  }
}

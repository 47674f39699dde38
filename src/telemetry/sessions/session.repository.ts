import type { Scope } from '#platform/auth';
import {
  followIndexes,
  join,
  microsecondsToTime,
  prepared,
  raw,
  type Sql,
  sql,
  type SqlExecutor,
  timeToMicroseconds,
  Where,
} from '#platform/db';
import { listPage, type RowPage, type SortKey } from '#platform/paging';
import { addTimes, timesOf } from '../list-conditions.sql';
import type { TimedListQueryDto } from '../list-query.dto';
import { MEASURES } from '../traces/trace-columns.sql';
import { labelConditions } from '../traces/trace-filters.sql';
import type { SessionDto, SessionListQueryDto } from './session.dto';

/** The totals of a session include at most this many traces: the last ones. */
export const SESSION_TRACES_MAX = 10_000;

/** Maximum number of model names, and of service names, of a session. */
const NAMES_MAX = 100;

const SORTS: Record<string, SortKey> = {
  last_started_at: { expression: 't.last_started_at', type: 'timestamptz' },
};

/** Returns an expression for sorted distinct names. */
const namesOf = (column: string, from: string) =>
  raw(
    `ARRAY(SELECT ${column} COLLATE "C" AS name FROM ${from} GROUP BY name ORDER BY name LIMIT ${NAMES_MAX})`,
  );

/** The place of a trace in its session. */
export interface SessionTracePlace {
  trace_id: string;
  /** Its start, in microseconds since 1970. */
  started_us: string;
}

/** A part of a session's traces. */
export interface SessionTraceRange extends Pick<TimedListQueryDto, 'since' | 'until'> {
  from?: SessionTracePlace | undefined;
  before?: SessionTracePlace | undefined;
}

const LIMIT = raw(String(SESSION_TRACES_MAX));

/** Returns the condition that a trace `o` of a session `t` meets conditions. */
const hasTrace = (conditions: readonly Sql[]): Sql =>
  sql`EXISTS (SELECT 1 FROM traces o WHERE o.workspace_id = t.workspace_id AND o.session_id = t.session_id
    AND ${join(conditions, ' AND ')} OFFSET 0)`;

/** The cost of looking up the traces of a session, in rows. Most sessions have few. */
const LOOKUP_COST = raw('10');

/** Returns the value of the last trace that has one. */
const lastOf = (column: string, named = column) =>
  raw(`(array_agg(${column} ORDER BY place) FILTER (WHERE ${named} IS NOT NULL))[1] AS ${column}`);

/** Reads sessions from the traces that name them. */
export class SessionRepository {
  constructor(private readonly database: SqlExecutor) {}

  /** Reads a page of sessions, by the start of their last trace. */
  async list(scope: Scope, query: SessionListQueryDto): Promise<RowPage<SessionDto>> {
    await followIndexes(this.database);
    const labels = labelConditions(query, 'o');
    const { rows, page } = await listPage<{ session_id: string }>(
      this.database,
      {
        columns: 't.session_id',
        from: 'trace_sessions t',
        where: addTimes(Where.estimatedByAverage(scope.key), 't.last_started_at', query),
        id: 't.session_id',
        sorts: SORTS,
        defaultSort: '-last_started_at',
        ...(labels.length > 0 && { scan: { lookup: hasTrace(labels), cost: LOOKUP_COST } }),
        ...(labels.length === 0 &&
          query.since === undefined &&
          query.until === undefined && { name: 'session.list' }),
      },
      query,
    );
    const ids = rows.map(({ session_id }) => session_id);
    return { rows: await this.totals(scope, ids), page };
  }

  /**
   * Reads the traces of a session in order of time: from a position on, or the last ones before it, which are returned in order
   * of time as well.
   */
  async traces(
    { workspaceId }: Scope,
    sessionId: string,
    { from, before, ...times }: SessionTraceRange,
    limit: number,
  ): Promise<SessionTracePlace[]> {
    await followIndexes(this.database);
    const at = ({ started_us, trace_id }: SessionTracePlace): Sql =>
      sql`(${microsecondsToTime(sql`${started_us}::bigint`)}, ${trace_id})`;
    const conditions = [
      sql`t.workspace_id = ${workspaceId} AND t.session_id = ${sessionId}`,
      ...timesOf('t.started_at', times),
      ...(from ? [sql`(t.started_at, t.trace_id) >= ${at(from)}`] : []),
      ...(before ? [sql`(t.started_at, t.trace_id) < ${at(before)}`] : []),
    ];
    const order = raw(before ? 't.started_at DESC, t.trace_id DESC' : 't.started_at, t.trace_id');
    const rows = await this.database.query<SessionTracePlace>(
      sql`SELECT t.trace_id, ${timeToMicroseconds(raw('t.started_at'))}::text AS started_us FROM traces t
        WHERE ${join(conditions, ' AND ')} ORDER BY ${order} LIMIT ${limit}`,
    );
    return before ? rows.reverse() : rows;
  }

  /**
   * Reads sessions with their totals, in the order of the distinct ids. Omits unknown ids. Reads the traces of each session
   * once, and one more trace than the totals include, to detect truncation.
   */
  async totals({ workspaceId }: Scope, ids: readonly string[]): Promise<SessionDto[]> {
    if (ids.length === 0) return [];
    return this.database.query<SessionDto>(
      prepared(
        'session.totals',
        sql`SELECT s.session_id, first.started_at AS first_started_at, first.input_preview, totals.*
          FROM unnest(${ids}::text[]) WITH ORDINALITY s(session_id, place)
          CROSS JOIN LATERAL (
            SELECT started_at, input_preview FROM traces WHERE workspace_id = ${workspaceId} AND session_id = s.session_id
            ORDER BY started_at, trace_id LIMIT 1
          ) first
          CROSS JOIN LATERAL (
            WITH newest AS MATERIALIZED (
              SELECT t.started_at, t.span_count, t.error_count, t.models, t.service_name, t.user_id,
                t.environment, t.prompt_name, t.prompt_version, t.tags, t.output_preview,
                ${raw(MEASURES.input_tokens)} AS input, ${raw(MEASURES.output_tokens)} AS output,
                ${raw(MEASURES.cost_usd)} AS cost, row_number() OVER (ORDER BY t.started_at DESC, t.trace_id DESC) AS place
              FROM traces t WHERE t.workspace_id = ${workspaceId} AND t.session_id = s.session_id
              ORDER BY t.started_at DESC, t.trace_id DESC LIMIT ${raw(String(SESSION_TRACES_MAX + 1))}
            ), counted AS NOT MATERIALIZED (SELECT * FROM newest WHERE newest.place <= ${LIMIT})
            SELECT max(started_at) AS last_started_at, count(*) AS trace_count, sum(span_count) AS span_count,
              sum(error_count) AS error_count, sum(input)::float8 AS input_tokens, sum(output)::float8 AS output_tokens,
              sum(cost)::float8 AS cost_usd,
              count(*) FILTER (WHERE cost IS NULL AND coalesce(input, 0) + coalesce(output, 0) > 0) AS unpriced_count,
              ${lastOf('user_id')}, ${lastOf('environment')}, ${lastOf('prompt_name')},
              ${lastOf('prompt_version', 'prompt_name')},
              ${namesOf('tag', '(SELECT DISTINCT tags FROM counted) lists, unnest(tags) tag')} AS tags,
              max(output_preview) FILTER (WHERE place = 1) AS output_preview,
              ${namesOf('model', '(SELECT DISTINCT models FROM counted) lists, unnest(models) model')} AS models,
              ${namesOf('service_name', 'counted WHERE service_name IS NOT NULL')} AS service_names,
              EXISTS (SELECT 1 FROM newest WHERE newest.place > ${LIMIT}) AS is_truncated
            FROM counted
          ) totals
          ORDER BY s.place`,
      ),
    );
  }
}

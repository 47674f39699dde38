import { Inject, Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { arrayParameter, Database, followIndexes, type SqlExecutor, Where } from '#platform/db';
import type { KeptIds, SessionRef, TraceRef, TraceRow, TraceSelection, TraceSummary } from '../trace-store';
import { costOfTrace } from './trace-cost';
import type { PlacedTrace } from './trace-place';

/** A trace without what its root was given and answered: the members of a `TraceSummary`. */
export const SUMMARY = `trace_id, root_name, started_at, ended_at,
  greatest(extract(epoch FROM ended_at - started_at) * 1000, 0)::float8 AS duration_ms, span_count, error_count,
  coalesce(input_tokens, step_input_tokens) AS input_tokens,
  coalesce(output_tokens, step_output_tokens) AS output_tokens,
  ${costOfTrace()}::float8 AS cost_usd, models, session_id, service_name`;

const columnsWhere = (fits: string) =>
  `${SUMMARY}, content_size, CASE WHEN ${fits} THEN input END AS input, CASE WHEN ${fits} THEN output END AS output`;

const FIND_MANY = {
  name: 'trace.find-many',
  text: `SELECT ${columnsWhere('content_size <= $3')} FROM traces
    WHERE workspace_id = $1 AND trace_id = ANY($2::text[])`,
};

const SUMMARIZE = {
  name: 'trace.summarize',
  text: `SELECT ${SUMMARY} FROM traces WHERE workspace_id = $1 AND trace_id = ANY($2::text[])`,
};

const FIND_PLACE = {
  name: 'trace.find-place',
  text: `SELECT trace_id, day::text AS day, trace_no, span_count FROM traces
    WHERE workspace_id = $1 AND trace_id = $2`,
};

const COUNT = {
  name: 'trace.count',
  text: `SELECT count(*) AS found FROM traces WHERE workspace_id = $1 AND trace_id = ANY($2::text[])`,
};

const OF_SESSION = {
  name: 'trace.of-session',
  text: `SELECT ${columnsWhere('contents <= $4')}
    FROM (
      SELECT *, sum(content_size) OVER (ORDER BY started_at, trace_id ROWS UNBOUNDED PRECEDING) AS contents
      FROM traces WHERE workspace_id = $1 AND session_id = $2 ORDER BY started_at, trace_id LIMIT $3
    ) first ORDER BY started_at, trace_id`,
};

@Injectable()
export class TraceRepository {
  constructor(@Inject(Database) private readonly database: SqlExecutor) {}

  /** Content of more than `maxBytes` is not read. */
  findMany(scope: Scope, traceIds: readonly string[], maxBytes: number): Promise<TraceRow[]> {
    return this.database.query<TraceRow>(FIND_MANY, [scope.workspaceId, traceIds, maxBytes]);
  }

  summarize(scope: Scope, traceIds: readonly string[]): Promise<TraceSummary[]> {
    return this.database.query<TraceSummary>(SUMMARIZE, [scope.workspaceId, traceIds]);
  }

  /** Undefined where it is not there. */
  async findPlace(scope: Scope, traceId: string): Promise<PlacedTrace | undefined> {
    const [trace] = await this.database.query<PlacedTrace>(FIND_PLACE, [scope.workspaceId, traceId]);
    return trace;
  }

  async count(scope: Scope, traceIds: readonly string[]): Promise<number> {
    const ids = arrayParameter('text', traceIds); // there may be 100,000
    const [row] = await this.database.query<{ found: number }>(COUNT, [scope.workspaceId, ids]);
    return row?.found ?? 0;
  }

  async refs(scope: Scope, selection: TraceSelection, limit: number): Promise<TraceRef[]> {
    const where = selected(scope, selection, 'trace_id');
    const { since: _, until: __, ...others } = selection;
    // of times alone: by the index of starts, whatever the statistics say
    if (Object.values(others).every((one) => one === undefined)) await followIndexes(this.database);
    return this.database.query<TraceRef>(
      `SELECT trace_id, session_id, started_at FROM traces WHERE ${where.toString()}
       ORDER BY started_at DESC, trace_id DESC LIMIT ${where.parameter(limit)}`,
      where.values,
    );
  }

  sessionRefs(scope: Scope, selection: TraceSelection, limit: number): Promise<SessionRef[]> {
    const where = selected(scope, selection, 'session_id').add('session_id IS NOT NULL');
    return this.database.query<SessionRef>(
      `SELECT session_id, max(started_at) AS last_started_at FROM traces WHERE ${where.toString()}
       GROUP BY session_id ORDER BY max(started_at) DESC, session_id DESC LIMIT ${where.parameter(limit)}`,
      where.values,
    );
  }

  async countSelected(
    scope: Scope,
    selection: TraceSelection,
    of: 'trace_id' | 'session_id',
  ): Promise<number> {
    const where = selected(scope, selection, of);
    const counted = of === 'trace_id' ? '*' : 'DISTINCT session_id';
    const [row] = await this.database.query<{ found: number }>(
      `SELECT count(${counted}) AS found FROM traces WHERE ${where.toString()}`,
      where.values,
    );
    return row?.found ?? 0;
  }

  /** Content is read from the first trace on, as long as it comes to no more than `maxBytes`. */
  ofSession(scope: Scope, sessionId: string, limit: number, maxBytes: number): Promise<TraceRow[]> {
    return this.database.query<TraceRow>(OF_SESSION, [scope.workspaceId, sessionId, limit, maxBytes]);
  }
}

function selected(scope: Scope, selection: TraceSelection, id: 'trace_id' | 'session_id'): Where {
  const { trace_ids, session_ids, since, until, among = [], except = [] } = selection;
  const where = Where.estimatedByAverage(scope.key)
    .addIf(trace_ids, 'trace_id = ANY(?::text[])')
    .addIf(session_ids, 'session_id = ANY(?::text[])')
    .addIf(since, 'started_at >= ?')
    .addIf(until, 'started_at < ?');
  const isIn = ({ select }: KeptIds) =>
    `EXISTS (SELECT 1 FROM (${select}) kept(id) WHERE kept.id = traces.${id})`;
  for (const ids of among) where.add(isIn(ids), ...ids.values);
  // anti-joins, which stop with the last row that is asked for
  for (const ids of except) where.add(`NOT ${isIn(ids)}`, ...ids.values);
  return where;
}

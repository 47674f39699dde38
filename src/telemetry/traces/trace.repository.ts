import type { Scope } from '#platform/auth';
import {
  empty,
  followIndexes,
  microsecondsToTime,
  prepared,
  raw,
  type Sql,
  sql,
  type SqlExecutor,
  timeToMicroseconds,
  Where,
} from '#platform/db';
import { meetAll, MEASURES, SUMMARY } from './trace-columns.sql';
import type { TraceRow, TraceSummary, TraceUsage } from './trace.dto';
import type {
  LocatedTrace,
  SessionPosition,
  SessionRef,
  TracePosition,
  TraceRef,
  TraceSelection,
} from './trace.types';

/** Returns the columns of a trace `t` for a `TraceRow`, with content if a condition holds. */
const columnsWhere = (fits: Sql): Sql => sql`${SUMMARY}, t.content_size,
  CASE WHEN ${fits} THEN t.input END AS input, CASE WHEN ${fits} THEN t.output END AS output`;

/** Returns a table `t` of these traces. `OFFSET 0` makes PostgreSQL look up each, even in a workspace without statistics. */
const withIds = ({ workspaceId }: Scope, ids: readonly string[]): Sql =>
  sql`(SELECT DISTINCT unnest(${ids}::text[]) AS trace_id) ids CROSS JOIN LATERAL (
    SELECT * FROM traces WHERE workspace_id = ${workspaceId} AND trace_id = ids.trace_id OFFSET 0) t`;

/** Reads traces by their ids, and selects traces and sessions for scoring. */
export class TraceRepository {
  constructor(private readonly database: SqlExecutor) {}

  /** Reads traces, without content if it exceeds `maxBytes`. */
  findMany(scope: Scope, traceIds: readonly string[], maxBytes: number): Promise<TraceRow[]> {
    const columns = columnsWhere(sql`t.content_size <= ${maxBytes}`);
    return this.database.query<TraceRow>(
      prepared('trace.find-many', sql`SELECT ${columns} FROM ${withIds(scope, traceIds)}`),
    );
  }

  /** Reads traces. The smallest traces include content, up to `maxBytes` in total. */
  findBatch(scope: Scope, traceIds: readonly string[], maxBytes: number): Promise<TraceRow[]> {
    return this.database.query<TraceRow>(
      prepared(
        'trace.find-together',
        sql`SELECT ${columnsWhere(sql`t.contents <= ${maxBytes}`)}
          FROM (
            SELECT t.*, sum(t.content_size) OVER (ORDER BY t.content_size, t.trace_id ROWS UNBOUNDED PRECEDING) AS contents
            FROM ${withIds(scope, traceIds)}
          ) t`,
      ),
    );
  }

  /** Locks traces against deletion until the transaction ends. Returns the ids of those that exist. */
  async lock({ workspaceId }: Scope, traceIds: readonly string[]): Promise<Set<string>> {
    const rows = await this.database.query<{ trace_id: string }>(
      sql`SELECT trace_id FROM traces WHERE workspace_id = ${workspaceId} AND trace_id = ANY (${traceIds}::text[])
        ORDER BY trace_id FOR KEY SHARE`,
    );
    return new Set(rows.map(({ trace_id }) => trace_id));
  }

  summarize(scope: Scope, traceIds: readonly string[]): Promise<TraceSummary[]> {
    return this.database.query<TraceSummary>(
      prepared('trace.summarize', sql`SELECT ${SUMMARY} FROM ${withIds(scope, traceIds)}`),
    );
  }

  usage(scope: Scope, traceIds: readonly string[]): Promise<TraceUsage[]> {
    return this.database.query<TraceUsage>(
      prepared(
        'trace.usage',
        sql`SELECT t.trace_id, ${raw(MEASURES.input_tokens)} AS input_tokens,
              ${raw(MEASURES.output_tokens)} AS output_tokens, ${raw(MEASURES.cost_usd)}::float8 AS cost_usd
            FROM ${withIds(scope, traceIds)}`,
      ),
    );
  }

  /** Returns undefined for an unknown trace. */
  async findLocation(scope: Scope, traceId: string): Promise<LocatedTrace | undefined> {
    return (await this.findLocations(scope, [traceId]))[0];
  }

  /** Returns the locations of existing traces, in the order of the ids. */
  findLocations({ workspaceId }: Scope, traceIds: readonly string[]): Promise<LocatedTrace[]> {
    return this.database.query<LocatedTrace>(
      prepared(
        'trace.find-places',
        sql`SELECT t.trace_id, t.day::text AS day, t.trace_no, t.span_count
          FROM unnest(${traceIds}::text[]) WITH ORDINALITY AS ids(trace_id, place)
          CROSS JOIN LATERAL (
            SELECT trace_id, day, trace_no, span_count FROM traces
            WHERE workspace_id = ${workspaceId} AND trace_id = ids.trace_id OFFSET 0
          ) t ORDER BY ids.place`,
      ),
    );
  }

  /** Returns the traces that exist, with their sessions. */
  async findExisting(scope: Scope, traceIds: readonly string[]): Promise<Map<string, string | null>> {
    const rows = await this.database.query<{ trace_id: string; session_id: string | null }>(
      prepared('trace.find-existing', sql`SELECT t.trace_id, t.session_id FROM ${withIds(scope, traceIds)}`),
    );
    return new Map(rows.map(({ trace_id, session_id }) => [trace_id, session_id]));
  }

  async count(scope: Scope, traceIds: readonly string[]): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      prepared('trace.count', sql`SELECT count(*) AS count FROM ${withIds(scope, traceIds)}`),
    );
    return row?.count ?? 0;
  }

  /** Reads the newest traces of a selection, starting after a position. */
  async refs(
    scope: Scope,
    selection: TraceSelection,
    limit: number,
    after?: TracePosition,
  ): Promise<TraceRef[]> {
    const where = whereSelected(scope, selection);
    if (after) {
      where.add(
        sql`(started_at, trace_id) < (${microsecondsToTime(sql`${after.started_us}`)}, ${after.trace_id})`,
      );
    }
    // with only times, the index on starts is right, whatever the statistics say
    if (!selection.trace_ids && !selection.session_ids) await followIndexes(this.database);
    return this.database.query<TraceRef>(
      sql`SELECT trace_id, session_id, started_at, ${timeToMicroseconds(raw('started_at'))}::text AS started_us
        FROM traces WHERE ${where.sql} ORDER BY started_at DESC, trace_id DESC LIMIT ${limit}`,
    );
  }

  /** Reads the sessions of a selection, newest first by their last trace, starting after a position. */
  sessionRefs(
    scope: Scope,
    selection: TraceSelection,
    limit: number,
    after?: SessionPosition,
  ): Promise<SessionRef[]> {
    const last = raw('max(started_at)');
    const next = after
      ? sql`HAVING (${last}, session_id) < (${microsecondsToTime(sql`${after.last_started_us}`)}, ${after.session_id})`
      : empty;
    const where = whereSelected(scope, selection).add(sql`session_id IS NOT NULL`);
    return this.database.query<SessionRef>(
      sql`SELECT session_id, ${last} AS last_started_at, ${timeToMicroseconds(last)}::text AS last_started_us
        FROM traces WHERE ${where.sql}
        GROUP BY session_id ${next} ORDER BY ${last} DESC, session_id DESC LIMIT ${limit}`,
    );
  }

  async countSelected(
    scope: Scope,
    selection: TraceSelection,
    column: 'trace_id' | 'session_id',
  ): Promise<number> {
    const counted = raw(column === 'trace_id' ? '*' : 'DISTINCT session_id');
    const [row] = await this.database.query<{ count: number }>(
      sql`SELECT count(${counted}) AS count FROM traces WHERE ${whereSelected(scope, selection).sql}`,
    );
    return row?.count ?? 0;
  }

  /**
   * Reads the first traces of each session, by start, with content up to `maxBytes` in total.
   *
   * @param limit maximum number of traces of each session
   */
  async findBySessions(
    { workspaceId }: Scope,
    sessionIds: readonly string[],
    limit: number,
    maxBytes: number,
  ): Promise<TraceRow[]> {
    await followIndexes(this.database);
    return this.database.query<TraceRow>(
      sql`SELECT ${columnsWhere(sql`t.contents <= ${maxBytes}`)}
        FROM (
          SELECT trace.*, sum(content_size) OVER (ORDER BY session_id, started_at, trace_id ROWS UNBOUNDED PRECEDING)
                   AS contents
          FROM unnest(${sessionIds}::text[]) AS ids(id)
          CROSS JOIN LATERAL (
            SELECT * FROM traces WHERE workspace_id = ${workspaceId} AND session_id = ids.id
            ORDER BY session_id, started_at, trace_id LIMIT ${limit}
          ) trace
        ) t ORDER BY t.session_id, t.started_at, t.trace_id`,
    );
  }
}

const whereSelected = (
  scope: Scope,
  { trace_ids, session_ids, since, until, filters = [] }: TraceSelection,
): Where => {
  const where = Where.estimatedByAverage(scope.key)
    .addIf(trace_ids, (ids) => sql`trace_id = ANY(${ids}::text[])`)
    .addIf(session_ids, (ids) => sql`session_id = ANY(${ids}::text[])`)
    .addIf(since, (time) => sql`started_at >= ${time}`)
    .addIf(until, (time) => sql`started_at < ${time}`);
  return filters.length === 0 ? where : where.add(meetAll(filters, raw('(SELECT traces.*) t')));
};

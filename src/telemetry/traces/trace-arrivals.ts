import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  BulkColumns,
  Database,
  empty,
  join,
  microsecondsToTime,
  prepared,
  raw,
  type Sql,
  sql,
  timeToMicroseconds,
  Where,
} from '#platform/db';
import { FILTERED_COLUMNS, traceCondition } from './trace-stats.conditions';
import type { TraceFilter } from './trace-stats.types';

/**
 * A position in the order in which traces arrive: by the time at which the last of their spans were stored, by the clock
 * of the database, and then by id. A trace that gets more spans moves to the end.
 */
export interface ArrivalPlace {
  /** Microseconds since 1970. */
  arrived_us: number;
  /** Empty: before all traces of that microsecond. */
  trace_id: string;
}

/** The positions after one and before another. */
export interface ArrivalSpan {
  after: ArrivalPlace;
  /** Microseconds since 1970, exclusive. At most `settled_us`, so that nothing can arrive before it any more. */
  before_us: number;
}

/** The clock of the database, in microseconds since 1970. */
export interface ArrivalClock {
  now_us: number;
  /** Everything that arrived before this is committed or rolled back: no open transaction can add to it. */
  settled_us: number;
}

/** Which arrivals to read. */
export interface ArrivalQuery extends ArrivalSpan {
  grain: 'trace' | 'session';
  /** All of them must hold for the trace, or for one trace of the session. */
  filters: readonly TraceFilter[];
  limit: number;
}

/** A trace that has arrived. */
export interface TraceArrival extends ArrivalPlace {
  session_id: string | null;
  /** The trace. By session: its session if nothing of the session arrived later, else null. */
  target_id: string | null;
  /** Whether the target meets the filters. */
  is_met: boolean;
}

/** Text fields that filters of arrivals may name. */
export const ARRIVAL_TEXTS = ['root_name', 'service_name', 'model', 'status', 'session_id'] as const;

const WATCHED = new BulkColumns<ArrivalSpan & { workspace_id: string; index: number }>([
  { name: 'place', type: 'int8', value: ({ index }) => index },
  { name: 'workspace_id', type: 'text', value: ({ workspace_id }) => workspace_id },
  { name: 'arrived_us', type: 'int8', value: ({ after }) => after.arrived_us },
  { name: 'trace_id', type: 'text', value: ({ after }) => after.trace_id },
  { name: 'before_us', type: 'int8', value: ({ before_us }) => before_us },
]);

/** Whether nothing of the session of a trace `t` arrived after it, settled or not. */
const IS_LAST_OF_SESSION = raw(`(SELECT true FROM traces o
  WHERE o.workspace_id = t.workspace_id AND o.session_id = t.session_id AND o.arrived_at >= t.arrived_at
    AND (o.arrived_at, o.trace_id) > (t.arrived_at, t.trace_id)
  ORDER BY o.arrived_at, o.trace_id LIMIT 1) IS NULL`);

const EARLIEST_SETTLED = raw(
  `greatest(least(statement_timestamp(), min(xact_start)), statement_timestamp() - interval '10 minutes')`,
);

/** Reads what has arrived, once and in its order. */
@Injectable()
export class TraceArrivals {
  constructor(private readonly database: Database) {}

  /**
   * Reads the clock. A transaction without a transaction id has not written yet, and stamps its rows after this statement
   * began; every other one began before all of its stamps. No transaction of the service stays open for ten minutes,
   * because its statements and pauses have limits. A foreign transaction that stays open longer delays nothing.
   */
  async clock(): Promise<ArrivalClock> {
    const [clock] = await this.database.query<ArrivalClock>(
      prepared(
        'trace-arrival.clock',
        sql`SELECT ${timeToMicroseconds(raw('statement_timestamp()'))} AS now_us,
            ${timeToMicroseconds(EARLIEST_SETTLED)} AS settled_us
          FROM pg_stat_activity
          WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()`,
      ),
    );
    return clock!;
  }

  /**
   * Returns the spans in which a trace arrived; for the service itself, which watches all workspaces. Reads one row for
   * each: a scalar that is looked up in the index, because a join could be planned to read all that arrived.
   */
  async whereAny<Watched extends ArrivalSpan & { workspace_id: string }>(
    watched: readonly Watched[],
  ): Promise<Watched[]> {
    const given = watched.map((one, index) => ({ ...one, index }));
    const found = await this.database.query<{ place: number }>(
      prepared(
        'trace-arrival.where-any',
        sql`SELECT w.place FROM ${WATCHED.table(given, 'w')}
          WHERE (SELECT true FROM traces t WHERE t.workspace_id = w.workspace_id
                   AND (t.arrived_at, t.trace_id) > (${microsecondsToTime(raw('w.arrived_us'))}, w.trace_id)
                   AND t.arrived_at < ${microsecondsToTime(raw('w.before_us'))}
                 ORDER BY t.arrived_at, t.trace_id LIMIT 1)`,
      ),
    );
    const places = new Set(found.map(({ place }) => place));
    return watched.filter((_, index) => places.has(index));
  }

  /** Reads traces in the order in which they arrived. */
  read(scope: Scope, { after, before_us, grain, filters, limit }: ArrivalQuery): Promise<TraceArrival[]> {
    const where = new Where(scope.key)
      .add(sql`(arrived_at, trace_id) > (${microsecondsToTime(sql`${after.arrived_us}`)}, ${after.trace_id})`)
      .add(sql`arrived_at < ${microsecondsToTime(sql`${before_us}`)}`);
    const [target, ofTarget] =
      grain === 'trace'
        ? [raw('t.trace_id'), raw('t.trace_id = p.trace_id')]
        : [sql`CASE WHEN ${IS_LAST_OF_SESSION} THEN t.session_id END`, raw('t.session_id = p.target_id')];
    return this.database.query<TraceArrival>(
      sql`WITH p AS MATERIALIZED (
         SELECT t.workspace_id, t.trace_id, t.session_id, t.arrived_at, ${target} AS target_id
         FROM (SELECT * FROM traces WHERE ${where.sql} ORDER BY arrived_at, trace_id LIMIT ${limit}) t
       )
       SELECT p.trace_id, p.session_id, ${timeToMicroseconds(raw('p.arrived_at'))} AS arrived_us, p.target_id,
         p.target_id IS NOT NULL${andMeets(filters, ofTarget)} AS is_met
       FROM p ORDER BY p.arrived_at, p.trace_id`,
    );
  }
}

/** A scalar by the keys of the row: filters are checked for the rows of the page only, and for each by an index. */
const andMeets = (filters: readonly TraceFilter[], ofTarget: Sql): Sql =>
  filters.length === 0
    ? empty
    : sql` AND coalesce((SELECT true FROM (
       SELECT ${FILTERED_COLUMNS} FROM traces t WHERE t.workspace_id = p.workspace_id AND ${ofTarget} OFFSET 0
     ) f WHERE ${join(filters.map(traceCondition), ') AND (', '(', ')')} LIMIT 1), false)`;

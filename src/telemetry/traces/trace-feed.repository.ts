import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  BulkColumns,
  Database,
  empty,
  firstRow,
  microsecondsToTime,
  prepared,
  raw,
  sql,
  type SqlExecutor,
  timeToMicroseconds,
  Where,
} from '#platform/db';
import { meetAll } from './trace-columns.sql';
import { TRACE_LABEL_FIELDS, type TraceFilter } from './trace-stats.types';

/**
 * A position in the trace feed. The feed orders traces by the time at which their last span was stored (by the clock of the
 * database), and then by id. A trace that gets another span moves to the end.
 */
export interface FeedPosition {
  /** Microseconds since 1970. */
  arrived_us: number;
  /** Empty for the position before all traces of that microsecond. */
  trace_id: string;
}

/** The part of the feed after a position and before a time. */
export interface FeedRange {
  after: FeedPosition;
  /** Microseconds since 1970, exclusive. At most `settled_us`, so that the range never gets another trace. */
  before_us: number;
}

/** The clock of the database, in microseconds since 1970. */
export interface FeedClock {
  now_us: number;
  /** The watermark: all earlier arrivals are committed or rolled back, and no open transaction can add to them. */
  settled_us: number;
}

export interface FeedQuery extends FeedRange {
  grain: 'trace' | 'session';
  /** A trace must meet all filters; with the grain `session`, one trace of the session must. */
  filters: readonly TraceFilter[];
  limit: number;
}

/** A trace in the feed. */
export interface FeedEntry extends FeedPosition {
  session_id: string | null;
  /** The trace's id. With the grain `session`: the session's id if this is the session's last entry, else null. */
  target_id: string | null;
  /** Whether the target meets the filters. */
  is_met: boolean;
}

/** Text fields that filters of the feed may name. */
export const FEED_TEXT_FIELDS = [
  'root_name',
  'service_name',
  'agent_version',
  'model',
  'status',
  'session_id',
  ...TRACE_LABEL_FIELDS,
] as const;

/** The traces of ranges. */
export interface Backlog {
  /** Number of traces, up to a limit. A trace counts for each range that contains it. */
  count: number;
  /** The longest time from the first trace of a range to the end of that range, in microseconds. 0 without traces. */
  lag_us: number;
}

const RANGES = new BulkColumns<FeedRange & { workspace_id: string; index: number }>([
  { name: 'place', type: 'int8', value: ({ index }) => index },
  { name: 'workspace_id', type: 'text', value: ({ workspace_id }) => workspace_id },
  { name: 'arrived_us', type: 'int8', value: ({ after }) => after.arrived_us },
  { name: 'trace_id', type: 'text', value: ({ after }) => after.trace_id },
  { name: 'before_us', type: 'int8', value: ({ before_us }) => before_us },
]);

/** Matches the traces `t` of a range `r`. */
const IN_RANGE = sql`t.workspace_id = r.workspace_id
  AND (t.arrived_at, t.trace_id) > (${microsecondsToTime(raw('r.arrived_us'))}, r.trace_id)
  AND t.arrived_at < ${microsecondsToTime(raw('r.before_us'))}
  ORDER BY t.arrived_at, t.trace_id`;

/** Whether a trace `t` is the last of its session in the feed, including traces that are not settled. */
const IS_LAST_OF_SESSION = raw(`(SELECT true FROM traces o
  WHERE o.workspace_id = t.workspace_id AND o.session_id = t.session_id AND o.arrived_at >= t.arrived_at
    AND (o.arrived_at, o.trace_id) > (t.arrived_at, t.trace_id)
  ORDER BY o.arrived_at, o.trace_id LIMIT 1) IS NULL`);

/**
 * The start of the oldest transaction that has written. A transaction without a transaction id has not written yet, and
 * stamps its rows after the start of this statement. No transaction of the service stays open for ten minutes, because its
 * statements and pauses are limited. The bound keeps other programs' longer transactions from delaying the feed.
 */
const SETTLED = raw(
  `greatest(least(statement_timestamp(), min(xact_start)), statement_timestamp() - interval '10 minutes')`,
);

/** Reads the trace feed: traces in the order in which their last spans arrived. */
@Injectable()
export class TraceFeedRepository {
  constructor(private readonly database: Database) {}

  /** Reads the clock of the database and the watermark of the feed. */
  async clock(on: SqlExecutor = this.database): Promise<FeedClock> {
    const clock = await firstRow<FeedClock>(
      on,
      'trace-feed.clock',
      sql`SELECT ${timeToMicroseconds(raw('statement_timestamp()'))} AS now_us,
          ${timeToMicroseconds(SETTLED)} AS settled_us
        FROM pg_stat_activity
        WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()`,
    );
    return clock!;
  }

  /**
   * Returns the ranges that contain a trace. Only for the service itself, which watches all workspaces. Reads one row for each
   * range: a scalar subquery uses the index, while PostgreSQL could plan a join that reads every trace.
   */
  async nonEmptyRanges<Range extends FeedRange & { workspace_id: string }>(
    ranges: readonly Range[],
  ): Promise<Range[]> {
    const numbered = ranges.map((range, index) => ({ ...range, index }));
    const nonEmpty = await this.database.query<{ place: number }>(
      prepared(
        'trace-feed.non-empty-ranges',
        sql`SELECT r.place FROM ${RANGES.table(numbered, 'r')}
          WHERE (SELECT true FROM traces t WHERE ${IN_RANGE} LIMIT 1)`,
      ),
    );
    const indexes = new Set(nonEmpty.map(({ place }) => place));
    return ranges.filter((_, index) => indexes.has(index));
  }

  /** Measures how many traces wait in ranges, and for how long. Reads at most one row for each range, and `limit` rows. */
  async backlog(ranges: readonly (FeedRange & { workspace_id: string })[], limit: number): Promise<Backlog> {
    const numbered = ranges.map((range, index) => ({ ...range, index }));
    const [row] = await this.database.query<Backlog>(
      prepared(
        'trace-feed.backlog',
        sql`WITH r AS MATERIALIZED (SELECT * FROM ${RANGES.table(numbered, 'r')})
          SELECT coalesce((
              SELECT max(before_us - (SELECT ${timeToMicroseconds(raw('t.arrived_at'))} FROM traces t
                                      WHERE ${IN_RANGE} LIMIT 1)) FROM r), 0) AS lag_us,
            (SELECT count(*) FROM (
               SELECT FROM r CROSS JOIN LATERAL (SELECT FROM traces t WHERE ${IN_RANGE} LIMIT ${limit}) waiting
               LIMIT ${limit}) counted) AS count`,
      ),
    );
    return row!;
  }

  /** Reads the first entries of a range. */
  read(scope: Scope, { after, before_us, grain, filters, limit }: FeedQuery): Promise<FeedEntry[]> {
    const where = new Where(scope.key)
      .add(sql`(arrived_at, trace_id) > (${microsecondsToTime(sql`${after.arrived_us}`)}, ${after.trace_id})`)
      .add(sql`arrived_at < ${microsecondsToTime(sql`${before_us}`)}`);
    const [target, isTarget] =
      grain === 'trace'
        ? [raw('t.trace_id'), raw('t.trace_id = p.trace_id')]
        : [sql`CASE WHEN ${IS_LAST_OF_SESSION} THEN t.session_id END`, raw('t.session_id = p.target_id')];
    // The filters are checked only for the rows of the page.
    const traces = sql`traces t WHERE t.workspace_id = p.workspace_id AND ${isTarget}`;
    const isMet = filters.length === 0 ? empty : sql` AND ${meetAll(filters, traces)}`;
    return this.database.query<FeedEntry>(
      sql`WITH p AS MATERIALIZED (
         SELECT t.workspace_id, t.trace_id, t.session_id, t.arrived_at, ${target} AS target_id
         FROM (SELECT * FROM traces WHERE ${where.sql} ORDER BY arrived_at, trace_id LIMIT ${limit}) t
       )
       SELECT p.trace_id, p.session_id, ${timeToMicroseconds(raw('p.arrived_at'))} AS arrived_us, p.target_id,
         p.target_id IS NOT NULL${isMet} AS is_met
       FROM p ORDER BY p.arrived_at, p.trace_id`,
    );
  }
}

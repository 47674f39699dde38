import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { BulkColumns, Database, timeOfMicroseconds, Where } from '#platform/db';
import {
  type ArrivalClock,
  type ArrivalQuery,
  type ArrivalSpan,
  type TraceArrival,
  TraceArrivals,
} from '../trace-arrivals';
import { columnsOfTrace, traceCondition } from './trace-conditions';

const microseconds = (time: string): string => `(extract(epoch FROM ${time}) * 1000000)::bigint`;

/**
 * A transaction that wrote nothing yet has no number, and what it will write is stamped after this statement began; of
 * every other one the beginning is before all that it stamped. No transaction of the service is open for ten minutes:
 * its statements and pauses have their limits. What somebody else leaves open for longer holds up nothing.
 */
const CLOCK = {
  name: 'trace-arrival.clock',
  text: `SELECT ${microseconds('statement_timestamp()')} AS now_us,
      ${microseconds(`greatest(least(statement_timestamp(), min(xact_start)), statement_timestamp() - interval '10 minutes')`)} AS settled_us
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()`,
};

const WATCHED = new BulkColumns<ArrivalSpan & { workspace_id: string; index: number }>([
  { name: 'place', type: 'int8', value: ({ index }) => index },
  { name: 'workspace_id', type: 'text', value: ({ workspace_id }) => workspace_id },
  { name: 'arrived_us', type: 'int8', value: ({ after }) => after.arrived_us },
  { name: 'trace_id', type: 'text', value: ({ after }) => after.trace_id },
  { name: 'before_us', type: 'int8', value: ({ before_us }) => before_us },
]);

/** A scalar for each, which is looked up in the index: a join could be planned by reading all that arrived. */
const WHERE_ANY = {
  name: 'trace-arrival.where-any',
  text: `SELECT w.place FROM ${WATCHED.from(1, 'w')}
    WHERE (SELECT true FROM traces t WHERE t.workspace_id = w.workspace_id
             AND (t.arrived_at, t.trace_id) > (${timeOfMicroseconds('w.arrived_us')}, w.trace_id)
             AND t.arrived_at < ${timeOfMicroseconds('w.before_us')}
           ORDER BY t.arrived_at, t.trace_id LIMIT 1)`,
};

/** Whether nothing of the session of a trace `t` arrived after it; also what is not settled counts. */
const IS_LAST_OF_SESSION = `(SELECT true FROM traces o
  WHERE o.workspace_id = t.workspace_id AND o.session_id = t.session_id AND o.arrived_at >= t.arrived_at
    AND (o.arrived_at, o.trace_id) > (t.arrived_at, t.trace_id)
  ORDER BY o.arrived_at, o.trace_id LIMIT 1) IS NULL`;

/** Reads arrivals from the traces' own table. */
@Injectable()
export class TraceArrivalRepository extends TraceArrivals {
  constructor(private readonly database: Database) {
    super();
  }

  override async clock(): Promise<ArrivalClock> {
    const [clock] = await this.database.query<ArrivalClock>(CLOCK);
    return clock!;
  }

  override async whereAny<Watched extends ArrivalSpan & { workspace_id: string }>(
    watched: readonly Watched[],
  ): Promise<Watched[]> {
    const given = watched.map((one, index) => ({ ...one, index }));
    const found = await this.database.query<{ place: number }>(WHERE_ANY, WATCHED.parameters(given));
    const places = new Set(found.map(({ place }) => place));
    return watched.filter((_, index) => places.has(index));
  }

  override read(
    scope: Scope,
    { after, before_us, grain, filters, limit }: ArrivalQuery,
  ): Promise<TraceArrival[]> {
    const where = new Where(scope.key)
      .add(`(arrived_at, trace_id) > (${timeOfMicroseconds('?')}, ?)`, after.arrived_us, after.trace_id)
      .add(`arrived_at < ${timeOfMicroseconds('?')}`, before_us);
    const most = where.parameter(limit);
    const conditions = filters.map((filter) => `(${traceCondition(where, filter)})`).join(' AND ');
    const target = grain === 'trace' ? 't.trace_id' : `CASE WHEN ${IS_LAST_OF_SESSION} THEN t.session_id END`;
    const own = grain === 'trace' ? 't.trace_id = p.trace_id' : 't.session_id = p.target_id';
    // scalars by keys that the rows carry: what is met is asked of the page's rows alone, and of each by an index
    const isMet =
      conditions === ''
        ? 'p.target_id IS NOT NULL'
        : `p.target_id IS NOT NULL AND coalesce((SELECT true FROM (
           SELECT ${columnsOfTrace()} FROM traces t WHERE t.workspace_id = p.workspace_id AND ${own} OFFSET 0
         ) f WHERE ${conditions} LIMIT 1), false)`;
    return this.database.query<TraceArrival>(
      `WITH p AS MATERIALIZED (
         SELECT t.workspace_id, t.trace_id, t.session_id, t.arrived_at, ${target} AS target_id
         FROM (SELECT * FROM traces WHERE ${where.toString()} ORDER BY arrived_at, trace_id LIMIT ${most}) t
       )
       SELECT p.trace_id, p.session_id, ${microseconds('p.arrived_at')} AS arrived_us, p.target_id, ${isMet} AS is_met
       FROM p ORDER BY p.arrived_at, p.trace_id`,
      where.values,
    );
  }
}

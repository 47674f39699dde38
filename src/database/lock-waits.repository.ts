import type { Client } from 'pg';
import { sql } from '#platform/db';

/** A lock that a session waits for, and a process of PostgreSQL that it waits behind. */
export interface LockWait {
  /** Null if it waits for a transaction to end, as the creation of an index does. */
  table: string | null;
  pid: number;
  application: string;
  /** The state of the process, such as `idle in transaction`. */
  state: string;
  /** Age of its transaction. */
  seconds: number;
}

/** Returns what a session waits for. */
export async function readLockWaits(watcher: Client, pid: number): Promise<LockWait[]> {
  const { rows } = await watcher.query<LockWait>(
    sql`SELECT DISTINCT lock.relation::regclass::text AS table, blocker.pid,
        coalesce(nullif(a.application_name, ''), 'unknown') AS application, coalesce(a.state, 'unknown') AS state,
        coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)::int AS seconds
      FROM pg_locks lock CROSS JOIN unnest(pg_blocking_pids(lock.pid)) AS blocker(pid)
        LEFT JOIN pg_stat_activity a ON a.pid = blocker.pid
      WHERE lock.pid = ${pid} AND NOT lock.granted`,
  );
  return rows;
}

/** Returns a phrase that names whom a session waits for. */
export const describeWaits = (waits: readonly LockWait[]): string =>
  waits.length === 0
    ? 'an unknown process'
    : waits
        .map(
          ({ table, pid, application, state, seconds }) =>
            `process ${pid} of PostgreSQL (application "${application}", ${state}, transaction open for ${seconds} s)` +
            (table === null ? '' : ` on the table ${table}`),
        )
        .join(' and ');

import { Injectable } from '@nestjs/common';
import { firstRow, followIndexes, prepared, raw, sql, type Tx } from '#platform/db';

/** Deletes log records, and locks a workspace's log records against exports meanwhile. */
@Injectable()
export class LogDeleteRepository {
  /**
   * Locks the log records of workspaces until the transaction ends. Exports share the lock. A deletion takes it exclusively, so
   * that an export either ends before it, or finds which traces are deleted.
   */
  async lock(tx: Tx, workspaceIds: readonly string[], mode: 'shared' | 'exclusive'): Promise<void> {
    const lock = raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock');
    await tx.query(
      prepared(
        `log-record.lock-${mode}`,
        sql`SELECT count(${lock}(hashtextextended('log records of ' || w.id, 0)))
          FROM unnest(${[...workspaceIds].sort()}::text[]) AS w(id)`,
      ),
    );
  }

  /** Counts the log records of traces. */
  async countByTraces(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<number> {
    await followIndexes(tx);
    const [row] = await tx.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM log_records
        WHERE workspace_id = ${workspaceId} AND trace_id = ANY (${traceIds}::uuid[])`,
    );
    return row!.count;
  }

  /** Deletes the log records of traces. @returns their number */
  async deleteByTraces(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<number> {
    await followIndexes(tx);
    const row = await firstRow<{ count: number }>(
      tx,
      'log-record.delete-by-traces',
      sql`WITH deleted AS (
          DELETE FROM log_records WHERE workspace_id = ${workspaceId} AND trace_id = ANY (${traceIds}::uuid[]) RETURNING 1
        ) SELECT count(*) AS count FROM deleted`,
    );
    return row!.count;
  }
}

import { Injectable } from '@nestjs/common';
import { Database, DELETE_BATCH, deleteInBatches, prepared, raw, type Sql, sql, type Tx } from '#platform/db';
import { SessionWriteRepository } from '../traces/session-write.repository';

/** Number of deleted traces of one session. */
export interface DeletedTraces {
  workspace_id: string;
  /** Null for traces without a session. */
  session_id: string | null;
  count: number;
}

const BATCH = raw(String(DELETE_BATCH));

/** Deletes the selected traces of a day with their models. */
const deleteTraces = (day: string, selected: Sql): Sql => sql`WITH deleted AS (
    DELETE FROM traces WHERE ctid = ANY(ARRAY(${selected})) AND day = ${day}::date
    RETURNING workspace_id, trace_id, trace_no, session_id
  ), gaps AS (
    DELETE FROM span_gaps g USING deleted WHERE g.workspace_id = deleted.workspace_id AND g.trace_no = deleted.trace_no
  ), models AS (
    DELETE FROM trace_models m USING deleted
    WHERE m.workspace_id = deleted.workspace_id AND m.trace_id = deleted.trace_id
  )
  SELECT workspace_id, session_id, count(*) AS count FROM deleted GROUP BY workspace_id, session_id`;

/** Deletes the rows of expired traces outside the partitions of spans, in all workspaces. */
@Injectable()
export class TraceRetentionRepository {
  constructor(
    private readonly database: Database,
    private readonly sessions: SessionWriteRepository,
  ) {}

  /** Deletes the traces of a day in batches, except those that a writer has locked. */
  async deleteUnlocked(day: string): Promise<void> {
    const statement = prepared(
      'trace.delete-unlocked',
      deleteTraces(
        day,
        sql`SELECT ctid FROM traces WHERE day = ${day}::date LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`,
      ),
    );
    const deleteBatch = async (tx: Tx): Promise<number> => {
      const deleted = await tx.query<DeletedTraces>(statement);
      await this.updateSessions(tx, deleted);
      return deleted.reduce((sum, { count }) => sum + count, 0);
    };
    while ((await this.database.transaction(deleteBatch)) === DELETE_BATCH);
  }

  /**
   * Deletes the remaining traces of a day, after their writers have ended. Locks them in a separate statement, because a
   * statement that waits for a lock does not see the rows that it waited for.
   */
  async deleteRemaining(tx: Tx, day: string): Promise<DeletedTraces[]> {
    await tx.query(
      prepared('trace.lock-remaining', sql`SELECT 1 FROM traces WHERE day = ${day}::date FOR UPDATE`),
    );
    return tx.query<DeletedTraces>(
      prepared(
        'trace.delete-remaining',
        deleteTraces(day, sql`SELECT ctid FROM traces WHERE day = ${day}::date`),
      ),
    );
  }

  /** Updates the sessions of deleted traces. */
  updateSessions(tx: Tx, deleted: readonly DeletedTraces[]): Promise<void> {
    const changes = deleted.flatMap(({ workspace_id, session_id }) =>
      session_id === null
        ? []
        : [{ workspaceId: workspace_id, sessionId: session_id, startedAt: null, isShrunk: true }],
    );
    return this.sessions.apply(tx, changes);
  }

  /** Deletes sources that were last used before the day. */
  deleteSourcesBefore(day: string): Promise<void> {
    return deleteInBatches(
      this.database,
      prepared(
        'span-source.delete-before',
        sql`WITH deleted AS (
            DELETE FROM span_sources WHERE ctid = ANY(ARRAY(
              SELECT ctid FROM span_sources WHERE day < ${day}::date LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
            )) AND day < ${day}::date RETURNING 1
          ) SELECT count(*) AS deleted FROM deleted`,
      ),
    );
  }
}

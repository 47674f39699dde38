import { Injectable } from '@nestjs/common';
import { BulkColumns, inChunks, prepared, raw, sql, type Tx } from '#platform/db';
import { mergeBySession, type SessionChange } from './session-change';

const COLUMNS = new BulkColumns<SessionChange>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'session_id', type: 'text', value: ({ sessionId }) => sessionId },
  { name: 'last_started_at', type: 'timestamptz', value: ({ startedAt }) => startedAt },
]);

/** Locks all of these sessions, including those whose row stays unchanged. */
const upsertLater = (sessions: readonly SessionChange[]) =>
  prepared(
    'trace-session.upsert-later',
    sql`INSERT INTO trace_sessions AS s (${COLUMNS.columnList})
    SELECT workspace_id, session_id, coalesce(last_started_at, '-infinity') FROM ${COLUMNS.table(sessions, 'change')}
    ON CONFLICT (workspace_id, session_id) DO UPDATE SET last_started_at = excluded.last_started_at
      WHERE s.last_started_at < excluded.last_started_at`,
  );

/**
 * The last trace of a session. Uses a range condition in the order of the index, so that only this index fits. Otherwise,
 * PostgreSQL would search all traces if its statistics contain only one session.
 */
const LAST_OF =
  raw(`t.workspace_id = change.workspace_id AND t.session_id BETWEEN change.session_id AND change.session_id
      ORDER BY t.session_id DESC, t.started_at DESC, t.trace_id DESC LIMIT 1`);

/**
 * Sets the start of each session's last trace. Runs in a separate statement after the lock, so that it sees the traces of the
 * transactions that the lock waited for.
 */
const recomputeLast = (sessions: readonly SessionChange[]) =>
  prepared(
    'trace-session.recompute-last',
    sql`INSERT INTO trace_sessions (${COLUMNS.columnList})
    SELECT change.workspace_id, change.session_id, last.started_at FROM ${COLUMNS.table(sessions, 'change')}
    CROSS JOIN LATERAL (SELECT t.started_at FROM traces t WHERE ${LAST_OF}) last
    ON CONFLICT (workspace_id, session_id) DO UPDATE SET last_started_at = excluded.last_started_at`,
  );

const deleteEmpty = (sessions: readonly SessionChange[]) =>
  prepared(
    'trace-session.delete-empty',
    sql`DELETE FROM trace_sessions WHERE ctid = ANY(ARRAY(
    SELECT s.ctid FROM ${COLUMNS.table(sessions, 'change')} CROSS JOIN LATERAL (
      SELECT ctid FROM trace_sessions s
      WHERE s.workspace_id = change.workspace_id AND s.session_id = change.session_id OFFSET 0) s
    WHERE (SELECT t.trace_id FROM traces t WHERE ${LAST_OF}) IS NULL))`,
  );

/** Stores which sessions exist, and when the last trace of each session started. */
@Injectable()
export class SessionWriteRepository {
  /**
   * Applies the effects of changed traces, in the same transaction and after the traces. Locks sessions in the order of
   * their keys. A concurrent writer of the same session waits here, and then sees the earlier changes.
   */
  async apply(tx: Tx, changes: readonly SessionChange[]): Promise<void> {
    const sessions = mergeBySession(changes);
    await inChunks(sessions, (chunk) => tx.query(upsertLater(chunk)));
    const shrunk = sessions.filter(({ isShrunk }) => isShrunk);
    await inChunks(shrunk, (chunk) => tx.query(recomputeLast(chunk)));
    await inChunks(shrunk, (chunk) => tx.query(deleteEmpty(chunk)));
  }
}

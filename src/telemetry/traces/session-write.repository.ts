import { Injectable } from '@nestjs/common';
import { BulkColumns, inChunks, prepared, raw, sql, type Tx } from '#platform/db';
import { oneForEach, type SessionChange } from './session-change';

const COLUMNS = new BulkColumns<SessionChange>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'session_id', type: 'text', value: ({ sessionId }) => sessionId },
  { name: 'last_started_at', type: 'timestamptz', value: ({ startedAt }) => startedAt },
]);

/** Locks all of these sessions, including those that stay as they are or are looked up next. */
const upsertLater = (sessions: readonly SessionChange[]) =>
  prepared(
    'trace-session.upsert-later',
    sql`INSERT INTO trace_sessions AS s (${COLUMNS.columnList})
    SELECT workspace_id, session_id, coalesce(last_started_at, '-infinity') FROM ${COLUMNS.table(sessions, 'given')}
    ON CONFLICT (workspace_id, session_id) DO UPDATE SET last_started_at = excluded.last_started_at
      WHERE s.last_started_at < excluded.last_started_at`,
  );

/**
 * The traces of a session, the last first. A range in the order of the index, so that only that index fits: where the
 * statistics know a single session, PostgreSQL would search all traces for others.
 */
const LAST_OF =
  raw(`t.workspace_id = given.workspace_id AND t.session_id BETWEEN given.session_id AND given.session_id
      ORDER BY t.session_id DESC, t.started_at DESC, t.trace_id DESC LIMIT 1`);

/**
 * Sets the start of each session's last trace. A statement of its own after the lock, so that it sees the traces of the
 * transactions that the lock waited for.
 */
const lookUpLast = (sessions: readonly SessionChange[]) =>
  prepared(
    'trace-session.look-up-last',
    sql`INSERT INTO trace_sessions (${COLUMNS.columnList})
    SELECT given.workspace_id, given.session_id, last.started_at FROM ${COLUMNS.table(sessions, 'given')}
    CROSS JOIN LATERAL (SELECT t.started_at FROM traces t WHERE ${LAST_OF}) last
    ON CONFLICT (workspace_id, session_id) DO UPDATE SET last_started_at = excluded.last_started_at`,
  );

const deleteEmpty = (sessions: readonly SessionChange[]) =>
  prepared(
    'trace-session.delete-empty',
    sql`DELETE FROM trace_sessions WHERE ctid = ANY(ARRAY(
    SELECT s.ctid FROM ${COLUMNS.table(sessions, 'given')} CROSS JOIN LATERAL (
      SELECT ctid FROM trace_sessions s
      WHERE s.workspace_id = given.workspace_id AND s.session_id = given.session_id OFFSET 0) s
    WHERE (SELECT t.trace_id FROM traces t WHERE ${LAST_OF}) IS NULL))`,
  );

/** Stores which sessions exist, and when the last trace of each started. */
@Injectable()
export class SessionWriteRepository {
  /**
   * Applies changes of traces, in their transaction and after them. Locks sessions in the order of their keys. Whoever
   * changes traces of a session at the same time waits here, and sees the earlier changes.
   */
  async apply(tx: Tx, changes: readonly SessionChange[]): Promise<void> {
    const sessions = oneForEach(changes);
    await inChunks(sessions, (chunk) => tx.query(upsertLater(chunk)));
    const shrunk = sessions.filter(({ isShrunk }) => isShrunk);
    await inChunks(shrunk, (chunk) => tx.query(lookUpLast(chunk)));
    await inChunks(shrunk, (chunk) => tx.query(deleteEmpty(chunk)));
  }
}

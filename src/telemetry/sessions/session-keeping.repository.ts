import { Injectable } from '@nestjs/common';
import { BulkColumns, type Tx } from '#platform/db';
import { inChunks } from '../exports/in-chunks';
import { oneForEach, type SessionChange } from './session-change';

const WRITTEN = new BulkColumns<SessionChange>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'session_id', type: 'text', value: ({ sessionId }) => sessionId },
  { name: 'last_started_at', type: 'timestamptz', value: ({ startedAt }) => startedAt },
]);

/** Locks all of them, also those that stay as they are, and those that are about to be looked up anew. */
const KEEP_LATER = {
  name: 'trace-session.keep-later',
  text: `INSERT INTO trace_sessions AS s (${WRITTEN.names})
    SELECT workspace_id, session_id, coalesce(last_started_at, '-infinity') FROM ${WRITTEN.from(1, 'given')}
    ON CONFLICT (workspace_id, session_id) DO UPDATE SET last_started_at = excluded.last_started_at
      WHERE s.last_started_at < excluded.last_started_at`,
};

/**
 * The traces of a session, the last first. By a range, and in the order of the index, so that nothing but that index will
 * do: where the statistics know of one session alone, PostgreSQL would look for others among all traces.
 */
const LAST_OF = `t.workspace_id = given.workspace_id AND t.session_id BETWEEN given.session_id AND given.session_id
      ORDER BY t.session_id DESC, t.started_at DESC, t.trace_id DESC LIMIT 1`;

/**
 * After they are locked, as a statement of its own: it sees the traces of those that the lock was waited for. Each is
 * found by its key, however many sessions there are.
 */
const LOOK_UP = {
  name: 'trace-session.look-up',
  text: `INSERT INTO trace_sessions (${WRITTEN.names})
    SELECT given.workspace_id, given.session_id, last.started_at FROM ${WRITTEN.from(1, 'given')} CROSS JOIN LATERAL (
      SELECT t.started_at FROM traces t WHERE ${LAST_OF}) last
    ON CONFLICT (workspace_id, session_id) DO UPDATE SET last_started_at = excluded.last_started_at`,
};

/** Those of which no trace is left. */
const FORGET = {
  name: 'trace-session.forget',
  text: `DELETE FROM trace_sessions WHERE ctid = ANY(ARRAY(
    SELECT s.ctid FROM ${WRITTEN.from(1, 'given')} CROSS JOIN LATERAL (
      SELECT ctid FROM trace_sessions s
      WHERE s.workspace_id = given.workspace_id AND s.session_id = given.session_id OFFSET 0) s
    WHERE (SELECT t.trace_id FROM traces t WHERE ${LAST_OF}) IS NULL))`,
};

/** Keeps which sessions there are, and when the last trace of each began. */
@Injectable()
export class SessionKeepingRepository {
  /**
   * In the transaction that changed the traces, after it has: sessions are locked in the order of their keys. Whoever
   * changes traces of a session at the same time waits here, and finds what was changed before.
   */
  async keep(tx: Tx, changes: readonly SessionChange[]): Promise<void> {
    const sessions = oneForEach(changes);
    await inChunks(sessions, (chunk) => tx.query(KEEP_LATER, WRITTEN.parameters(chunk)));
    const lessened = sessions.filter(({ isLessened }) => isLessened);
    await inChunks(lessened, (chunk) => tx.query(LOOK_UP, WRITTEN.parameters(chunk)));
    await inChunks(lessened, (chunk) => tx.query(FORGET, WRITTEN.parameters(chunk)));
  }
}

import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, Where } from '#platform/db';
import type { RawJson } from '#platform/json';

export interface SessionRefRow {
  session_id: string;
  last_message_at: Date;
}

export interface ToldMessageRow {
  role: string;
  content: RawJson;
  tool_calls: RawJson | null;
  tool_call_id: string | null;
  name: string | null;
  trace_id: string | null;
  created_at: Date;
}

const TOLD = 'role, content, tool_calls, tool_call_id, name, trace_id, created_at';

/** What other areas read of sessions, within one workspace. */
@Injectable()
export class SessionDirectoryRepository {
  constructor(private readonly database: Database) {}

  async agentsAmong(scope: Scope, ids: readonly string[]): Promise<string[]> {
    const where = new Where(scope.key).add('agent_id = ANY (?)', ids);
    const rows = await this.database.query<{ agent_id: string }>(
      `SELECT agent_id FROM agents WHERE ${where.toString()}`,
      where.values,
    );
    return rows.map((row) => row.agent_id);
  }

  sessionsAmong(scope: Scope, ids: readonly string[]): Promise<SessionRefRow[]> {
    const where = new Where(scope.key).add('session_id = ANY (?)', ids);
    return this.database.query<SessionRefRow>(
      `SELECT session_id, last_message_at FROM agent_sessions WHERE ${where.toString()}`,
      where.values,
    );
  }

  sessionsOf(
    scope: Scope,
    agentIds: readonly string[],
    among: readonly string[] | undefined,
    limit: number,
  ): Promise<SessionRefRow[]> {
    const where = new Where(scope.key)
      .add('agent_id = ANY (?)', agentIds)
      .add('archived_at IS NULL')
      .addIf(among, 'session_id = ANY (?)');
    return this.database.query<SessionRefRow>(
      `SELECT session_id, last_message_at FROM agent_sessions WHERE ${where.toString()}
       ORDER BY last_message_at DESC, session_id DESC LIMIT ${where.parameter(limit)}`,
      where.values,
    );
  }

  /** The first messages that together have no more than `maxBytes`; each with whether it is the last of all. */
  messages(
    scope: Scope,
    sessionId: string,
    limit: number,
    maxBytes: number,
  ): Promise<(ToldMessageRow & { is_last: boolean })[]> {
    const where = new Where(scope.key).add('session_id = ?', sessionId);
    return this.database.query(
      `SELECT ${TOLD}, is_last FROM (
         SELECT *, sum(bytes) OVER places AS bytes_so_far, lead(ordinal) OVER places IS NULL AS is_last
         FROM (
           SELECT * FROM session_messages WHERE ${where.toString()}
           ORDER BY ordinal LIMIT ${where.parameter(limit + 1)}
         ) first WINDOW places AS (ORDER BY ordinal)
       ) placed WHERE bytes_so_far <= ${where.parameter(maxBytes)}
       ORDER BY ordinal LIMIT ${where.parameter(limit)}`,
      where.values,
    );
  }

  /** What an assistant said last; `content` is null where it has more than `maxBytes`. */
  async lastAnswer(
    scope: Scope,
    sessionId: string,
    maxBytes: number,
  ): Promise<{ content: RawJson | null } | undefined> {
    const where = new Where(scope.key).add('session_id = ?', sessionId).add(`role = 'assistant'`);
    const [row] = await this.database.query<{ content: RawJson | null }>(
      `SELECT CASE WHEN bytes <= ${where.parameter(maxBytes)} THEN content END AS content
       FROM session_messages WHERE ${where.toString()} ORDER BY ordinal DESC LIMIT 1`,
      where.values,
    );
    return row;
  }
}

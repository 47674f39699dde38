import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  Database,
  empty,
  followIndexes,
  microsecondsToTime,
  minuteOf,
  raw,
  type Sql,
  sql,
  timeToMicroseconds,
  Where,
} from '#platform/db';
import type { RawJson } from '#platform/json';

export interface SessionRefRow {
  session_id: string;
  last_message_at: Date;
  /** The same in microseconds since 1970. */
  last_message_us: string;
}

export interface ScoredMessageRow {
  role: string;
  content: RawJson;
  tool_calls: RawJson | null;
  tool_call_id: string | null;
  name: string | null;
  trace_id: string | null;
  created_at: Date;
}

/** Selects live sessions of agents by the time of their last message. */
export interface AgentSelection {
  agentIds: readonly string[];
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

const addSelection = (where: Where, { since, until }: AgentSelection): Where =>
  where
    .add(sql`archived_at IS NULL`)
    .addIf(since, (time) => sql`last_message_minute >= ${minuteOf(sql`${time}::timestamptz`)}`)
    .addIf(since, (time) => sql`last_message_at >= ${time}`)
    .addIf(until, (time) => sql`last_message_minute <= ${minuteOf(sql`${time}::timestamptz`)}`)
    .addIf(until, (time) => sql`last_message_at < ${time}`);

const REF = sql`session_id, last_message_at, ${timeToMicroseconds(raw('last_message_at'))}::text AS last_message_us`;

const NEWEST_FIRST = raw('ORDER BY last_message_at DESC, session_id DESC');

const MESSAGE_COLUMNS = raw('role, content, tool_calls, tool_call_id, name, trace_id, created_at');

/** Reads sessions and messages of one workspace for other areas. */
@Injectable()
export class SessionDirectoryRepository {
  constructor(private readonly database: Database) {}

  async findAgents(scope: Scope, ids: readonly string[]): Promise<string[]> {
    const rows = await this.database.query<{ agent_id: string }>(
      sql`SELECT agent_id FROM agents WHERE workspace_id = ${scope.workspaceId} AND agent_id = ANY (${ids})`,
    );
    return rows.map((row) => row.agent_id);
  }

  findSessions(scope: Scope, ids: readonly string[]): Promise<SessionRefRow[]> {
    const where = new Where(scope.key).add(sql`session_id = ANY (${ids})`);
    return this.database.query<SessionRefRow>(sql`SELECT ${REF} FROM agent_sessions WHERE ${where.sql}`);
  }

  /** Returns the live sessions of these agents among the given ids. */
  async filterByAgents(scope: Scope, agentIds: readonly string[], ids: readonly string[]): Promise<string[]> {
    const where = new Where(scope.key)
      .add(sql`session_id = ids.id`)
      .add(sql`agent_id = ANY (${agentIds})`)
      .add(sql`archived_at IS NULL`);
    const rows = await this.database.query<{ session_id: string }>(
      sql`SELECT s.session_id FROM unnest(${ids}::text[]) AS ids(id)
        CROSS JOIN LATERAL (SELECT session_id FROM agent_sessions WHERE ${where.sql} OFFSET 0) s`,
    );
    return rows.map(({ session_id }) => session_id);
  }

  /** Reads some live sessions of these agents, in no particular order. */
  findSome(scope: Scope, agentIds: readonly string[], limit: number): Promise<SessionRefRow[]> {
    return this.newestOfEach(scope, { agentIds }, limit, empty);
  }

  newest(
    scope: Scope,
    selection: AgentSelection,
    limit: number,
    after?: SessionRefRow,
  ): Promise<SessionRefRow[]> {
    return this.newestOfEach(scope, selection, limit, NEWEST_FIRST, after);
  }

  /** Reads the sessions of each agent separately, along an index and up to the limit. */
  private newestOfEach(
    scope: Scope,
    selection: AgentSelection,
    limit: number,
    order: Sql,
    after?: SessionRefRow,
  ): Promise<SessionRefRow[]> {
    const where = addSelection(new Where(scope.key), selection).add(sql`agent_id = ids.agent_id`);
    if (after) {
      const time = microsecondsToTime(sql`${after.last_message_us}`);
      where.add(
        sql`last_message_minute <= ${minuteOf(time)} AND (last_message_at, session_id) < (${time}, ${after.session_id})`,
      );
    }
    const inner = raw(
      `ORDER BY last_message_minute DESC${order === empty ? '' : ', last_message_at DESC, session_id DESC'}`,
    );
    return this.database.transaction(async (tx) => {
      await followIndexes(tx);
      return tx.query<SessionRefRow>(
        sql`SELECT newest.* FROM unnest(${selection.agentIds}::text[]) AS ids(agent_id)
          CROSS JOIN LATERAL (
            SELECT ${REF} FROM agent_sessions s WHERE ${where.sql} ${inner} LIMIT ${limit}
          ) newest ${order} LIMIT ${limit}`,
      );
    });
  }

  async count(scope: Scope, selection: AgentSelection): Promise<number> {
    const where = addSelection(Where.estimatedByAverage(scope.key), selection).add(
      sql`agent_id = ANY (${selection.agentIds}::text[])`,
    );
    const [row] = await this.database.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM agent_sessions s WHERE ${where.sql}`,
    );
    return row?.count ?? 0;
  }

  /** Reads the first messages, at most `maxBytes` together. `is_last` marks the last message of the session. */
  messages(
    scope: Scope,
    sessionId: string,
    limit: number,
    maxBytes: number,
  ): Promise<(ScoredMessageRow & { is_last: boolean })[]> {
    return this.database.query(
      sql`SELECT ${MESSAGE_COLUMNS}, is_last FROM (
          SELECT *, sum(bytes) OVER places AS bytes_so_far, lead(ordinal) OVER places IS NULL AS is_last
          FROM (
            SELECT * FROM session_messages
            WHERE workspace_id = ${scope.workspaceId} AND session_id = ${sessionId}
            ORDER BY ordinal LIMIT ${limit + 1}
          ) first WINDOW places AS (ORDER BY ordinal)
        ) placed WHERE bytes_so_far <= ${maxBytes}
        ORDER BY ordinal LIMIT ${limit}`,
    );
  }

  /** Reads the last message of an assistant. `content` is null if it exceeds `maxBytes`. */
  async lastAnswer(
    scope: Scope,
    sessionId: string,
    maxBytes: number,
  ): Promise<{ content: RawJson | null } | undefined> {
    const [row] = await this.database.query<{ content: RawJson | null }>(
      sql`SELECT CASE WHEN bytes <= ${maxBytes} THEN content END AS content FROM session_messages
        WHERE workspace_id = ${scope.workspaceId} AND session_id = ${sessionId} AND role = 'assistant'
        ORDER BY ordinal DESC LIMIT 1`,
    );
    return row;
  }
}

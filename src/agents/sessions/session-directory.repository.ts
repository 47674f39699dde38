import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, followIndexes, Where } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { IdConditions, KeptIds } from '../../telemetry';

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

/** Sessions of agents that are not archived, by when something was said in them last. */
export interface AgentSelection extends IdConditions {
  agentIds: readonly string[];
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

function selected(where: Where, { since, until, among = [], except = [] }: AgentSelection): Where {
  where.add('archived_at IS NULL').addIf(since, 'last_message_at >= ?').addIf(until, 'last_message_at < ?');
  const isIn = ({ select }: KeptIds) =>
    `EXISTS (SELECT 1 FROM (${select}) kept(id) WHERE kept.id = s.session_id)`;
  for (const ids of among) where.add(isIn(ids), ...ids.values);
  for (const ids of except) where.add(`NOT ${isIn(ids)}`, ...ids.values);
  return where;
}

/** Ids of all sessions of agents that are not archived. */
export const idsOf = (scope: Scope, agentIds: readonly string[]): KeptIds => ({
  select: `SELECT session_id FROM agent_sessions
    WHERE workspace_id = (SELECT ?) AND agent_id = ANY (?::text[]) AND archived_at IS NULL`,
  values: [scope.workspaceId, agentIds],
});

/** Ids of those in which nothing was said last within these times. */
export function idsOfOthers(
  scope: Scope,
  agentIds: readonly string[],
  { since, until }: Pick<AgentSelection, 'since' | 'until'>,
): KeptIds {
  const { select, values } = idsOf(scope, agentIds);
  return {
    select: `${select} AND (last_message_at < coalesce(?::timestamptz, '-infinity')
      OR last_message_at >= coalesce(?::timestamptz, 'infinity'))`,
    values: [...values, since ?? null, until ?? null],
  };
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

  async sessionsOf(scope: Scope, agentIds: readonly string[], among: readonly string[]): Promise<string[]> {
    const where = new Where(scope.key)
      .add('session_id = given.id')
      .add('agent_id = ANY (?)', agentIds)
      .add('archived_at IS NULL');
    const rows = await this.database.query<{ session_id: string }>(
      `SELECT s.session_id FROM unnest(${where.parameter(among)}::text[]) AS given(id)
       CROSS JOIN LATERAL (SELECT session_id FROM agent_sessions WHERE ${where.toString()} OFFSET 0) s`,
      where.values,
    );
    return rows.map(({ session_id }) => session_id);
  }

  /** Of each agent, by its index, no more than are asked for of all. In no order. */
  some(scope: Scope, agentIds: readonly string[], limit: number): Promise<SessionRefRow[]> {
    return this.newestOfEach(scope, { agentIds }, limit, '');
  }

  newest(scope: Scope, selection: AgentSelection, limit: number): Promise<SessionRefRow[]> {
    return this.newestOfEach(scope, selection, limit, 'ORDER BY last_message_at DESC, session_id DESC');
  }

  /** Of each agent apart, so that each is read in the order of its index, and no further than the limit. */
  private newestOfEach(
    scope: Scope,
    selection: AgentSelection,
    limit: number,
    order: string,
  ): Promise<SessionRefRow[]> {
    const where = selected(new Where(scope.key), selection).add('agent_id = given.agent_id');
    const most = where.parameter(limit);
    const statement = `SELECT newest.* FROM unnest(${where.parameter(selection.agentIds)}::text[]) AS given(agent_id)
      CROSS JOIN LATERAL (
        SELECT session_id, last_message_at FROM agent_sessions s WHERE ${where.toString()}
        ORDER BY last_message_at DESC LIMIT ${most}
      ) newest ${order} LIMIT ${most}`;
    return this.database.transaction(async (tx) => {
      await followIndexes(tx);
      return tx.query<SessionRefRow>(statement, where.values);
    });
  }

  async count(scope: Scope, selection: AgentSelection): Promise<number> {
    const where = selected(Where.estimatedByAverage(scope.key), selection).add(
      'agent_id = ANY (?::text[])',
      selection.agentIds,
    );
    const [row] = await this.database.query<{ found: number }>(
      `SELECT count(*) AS found FROM agent_sessions s WHERE ${where.toString()}`,
      where.values,
    );
    return row?.found ?? 0;
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

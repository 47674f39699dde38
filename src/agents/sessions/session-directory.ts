import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { RawJson } from '#platform/json';
import type { KeptIds } from '../../telemetry';
import {
  type AgentSelection,
  idsOf,
  idsOfOthers,
  SessionDirectoryRepository,
  type SessionRefRow,
  type ToldMessageRow,
} from './session-directory.repository';

/** A session, and when something was said in it last. */
export type SessionRef = SessionRefRow;

/** A message, as it is told to scorers. */
export type ToldMessage = ToldMessageRow;

/** The beginning of a session. */
export interface ToldSession {
  messages: ToldMessage[];
  /** There are no more messages than these. */
  isWhole: boolean;
}

/** What evaluation needs to know of agents and of the sessions held with them, in one workspace. */
@Injectable()
export class SessionDirectory {
  constructor(private readonly sessions: SessionDirectoryRepository) {}

  /** Those of these agents that are in the workspace, archived ones too. */
  async knownAgents(scope: Scope, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(await this.sessions.agentsAmong(scope, ids));
  }

  /** When something was said last, in those of these sessions that are agents'. */
  async lastMessages(scope: Scope, ids: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    const found = await this.sessions.sessionsAmong(scope, ids);
    return new Map(found.map(({ session_id, last_message_at }) => [session_id, last_message_at]));
  }

  /** Those of these sessions that are these agents', and not archived. */
  sessionsAmong(scope: Scope, agentIds: readonly string[], among: readonly string[]): Promise<string[]> {
    return this.sessions.sessionsOf(scope, agentIds, among);
  }

  /** Sessions of these agents that are not archived, at most `limit`: with fewer, all of them. */
  async someSessions(scope: Scope, agentIds: readonly string[], limit: number): Promise<string[]> {
    return (await this.sessions.some(scope, agentIds, limit)).map(({ session_id }) => session_id);
  }

  /** Those of a selection where something was said last, at most `limit`: newest first, at a cost that goes by it. */
  newestSessions(scope: Scope, selection: AgentSelection, limit: number): Promise<SessionRef[]> {
    return this.sessions.newest(scope, selection, limit);
  }

  countSessions(scope: Scope, selection: AgentSelection): Promise<number> {
    return this.sessions.count(scope, selection);
  }

  /** The ids of all sessions of these agents that are not archived, for statements of other stores. */
  idsOf(scope: Scope, agentIds: readonly string[]): KeptIds {
    return idsOf(scope, agentIds);
  }

  /** The same of those in which nothing was said last within these times. */
  idsOfOthers(
    scope: Scope,
    agentIds: readonly string[],
    times: Pick<AgentSelection, 'since' | 'until'>,
  ): KeptIds {
    return idsOfOthers(scope, agentIds, times);
  }

  /**
   * The first messages of a session, at most `limit` of them and as many as come to `maxBytes` of JSON; null for a session
   * that is not an agent's.
   */
  async beginning(
    scope: Scope,
    sessionId: string,
    limit: number,
    maxBytes: number,
  ): Promise<ToldSession | null> {
    const known = await this.lastMessages(scope, [sessionId]);
    if (!known.has(sessionId)) return null;
    const rows = await this.sessions.messages(scope, sessionId, limit, maxBytes);
    return {
      messages: rows.map(({ is_last: _, ...message }) => message),
      isWhole: rows.at(-1)?.is_last === true,
    };
  }

  /**
   * What an assistant said last in a session; undefined where none did, and `content` null where that is more than
   * `maxBytes` of JSON.
   */
  lastAnswer(
    scope: Scope,
    sessionId: string,
    maxBytes: number,
  ): Promise<{ content: RawJson | null } | undefined> {
    return this.sessions.lastAnswer(scope, sessionId, maxBytes);
  }
}

import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { RawJson } from '#platform/json';
import {
  type AgentSelection,
  type ScoredMessageRow,
  SessionDirectoryRepository,
  type SessionRefRow,
} from './session-directory.repository';

/** A session and the time of its last message. */
export type SessionRef = SessionRefRow;

/** A message, as scorers read it. */
export type ScoredMessage = ScoredMessageRow;

/** The first messages of a session. */
export interface SessionBeginning {
  messages: ScoredMessage[];
  /** Whether the session has no further messages. */
  isWhole: boolean;
}

/** Looks up the agents and sessions of a workspace for evaluation. */
@Injectable()
export class SessionDirectory {
  constructor(private readonly sessions: SessionDirectoryRepository) {}

  /** Returns which of these agents are in the workspace, including archived ones. */
  async existingAgents(scope: Scope, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(await this.sessions.findAgents(scope, ids));
  }

  /** Returns the time of the last message of each session that belongs to an agent. */
  async lastMessages(scope: Scope, ids: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    const sessions = await this.sessions.findSessions(scope, ids);
    return new Map(sessions.map(({ session_id, last_message_at }) => [session_id, last_message_at]));
  }

  /** Returns the live sessions of these agents among the given ids. */
  filterByAgents(scope: Scope, agentIds: readonly string[], ids: readonly string[]): Promise<string[]> {
    return this.sessions.filterByAgents(scope, agentIds, ids);
  }

  /** Returns at most `limit` live sessions of these agents, in no particular order. */
  async someSessions(scope: Scope, agentIds: readonly string[], limit: number): Promise<string[]> {
    return (await this.sessions.findSome(scope, agentIds, limit)).map(({ session_id }) => session_id);
  }

  /** Reads sessions by their last message, newest first, after a given session. The cost grows with the limit. */
  newestSessions(
    scope: Scope,
    selection: AgentSelection,
    limit: number,
    after?: SessionRef,
  ): Promise<SessionRef[]> {
    return this.sessions.newest(scope, selection, limit, after);
  }

  countSessions(scope: Scope, selection: AgentSelection): Promise<number> {
    return this.sessions.count(scope, selection);
  }

  /**
   * Returns the first messages of a session: at most `limit`, and at most `maxBytes` of JSON. Returns null for a session
   * that does not belong to an agent.
   */
  async beginning(
    scope: Scope,
    sessionId: string,
    limit: number,
    maxBytes: number,
  ): Promise<SessionBeginning | null> {
    const lastMessages = await this.lastMessages(scope, [sessionId]);
    if (!lastMessages.has(sessionId)) return null;
    const rows = await this.sessions.messages(scope, sessionId, limit, maxBytes);
    return {
      messages: rows.map(({ is_last: _, ...message }) => message),
      isWhole: rows.at(-1)?.is_last === true,
    };
  }

  /**
   * Returns the last message of an assistant in a session, or undefined. `content` is null if it exceeds `maxBytes` of
   * JSON.
   */
  lastAnswer(
    scope: Scope,
    sessionId: string,
    maxBytes: number,
  ): Promise<{ content: RawJson | null } | undefined> {
    return this.sessions.lastAnswer(scope, sessionId, maxBytes);
  }
}

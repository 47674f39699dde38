import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';

/** One message of a session. */
export interface SessionMessage {
  role: string;
  content: unknown;
  /** Calls of tools, as its maker wrote them. */
  tool_calls?: unknown;
  /** Of a message of a tool: which. */
  name?: string;
  trace_id?: string | null;
  created_at?: Date;
}

/** What hosted scoring needs to know of agents and of the sessions held with them. */
export abstract class AgentSessions {
  /** Those of these agents that exist in the workspace. */
  abstract knownAgents(scope: Scope, agentIds: readonly string[]): Promise<ReadonlySet<string>>;

  /** Those of these sessions that exist in the workspace. */
  abstract knownSessions(scope: Scope, sessionIds: readonly string[]): Promise<ReadonlySet<string>>;

  /** Sessions of these agents, newest first, at most `limit` of them. */
  abstract sessionsOf(scope: Scope, agentIds: readonly string[], limit: number): Promise<string[]>;

  /** The messages of a session in their order, at most `limit` of them; none for a session that is not an agent's. */
  abstract messages(scope: Scope, sessionId: string, limit: number): Promise<SessionMessage[]>;
}

/** Where there are no agents: every session is one that traces or results name. */
@Injectable()
export class NoAgentSessions extends AgentSessions {
  knownAgents(): Promise<ReadonlySet<string>> {
    return Promise.resolve(new Set());
  }

  knownSessions(): Promise<ReadonlySet<string>> {
    return Promise.resolve(new Set());
  }

  sessionsOf(): Promise<string[]> {
    return Promise.resolve([]);
  }

  messages(): Promise<SessionMessage[]> {
    return Promise.resolve([]);
  }
}

import type { Pages } from '../api/calls.cjs';
import type {
  Agent,
  AgentSession,
  AgentVersion,
  CreateAgent,
  CreateMessage,
  CreateSession,
  Message,
} from '../api/types.cjs';
import { idOrName, type ListOf, Resource } from './resource.js';

/** Agents, their versions, and their sessions. */
export class Agents extends Resource {
  /** Lists the agents of the workspace, newest first. */
  list(filters: ListOf<'listAgents'> = {}): Pages<Agent> {
    return this.api.listAgents({ ...this.workspace, ...filters });
  }

  /** Returns the newest version of an agent, by its name or id. Throws 404 if there is none. */
  get(agent: string): Promise<Agent> {
    return this.api.getAgent({ agent_id: idOrName(agent) });
  }

  /** Creates the agent with this name, or changes these fields of the existing one. Each change is a version. */
  upsert(name: string, fields: Omit<CreateAgent, 'name'> = {}): Promise<Agent> {
    return this.api.createAgent({ on_conflict: 'update', body: { ...fields, name } });
  }

  /** Lists the versions of an agent, newest first. */
  versions(agent: string): Pages<AgentVersion> {
    return this.api.listAgentVersions({ agent_id: idOrName(agent) });
  }

  /** Returns a version of an agent: a number, a label or `latest`. */
  version(agent: string, version: number | string): Promise<AgentVersion> {
    return this.api.getAgentVersion({ agent_id: idOrName(agent), version_ordinal: version });
  }

  /** Makes a label, such as `production`, name this version of an agent. */
  label(agent: string, label: string, version: number): Promise<Agent> {
    return this.api.setAgentLabel({ agent_id: idOrName(agent), label, body: { version_ordinal: version } });
  }

  /** Returns the A2A card of an agent. */
  card(agent: string) {
    return this.api.getAgentCard({ agent_id: idOrName(agent) });
  }

  /** Starts a session with the first message of a user. It stays at the version of the agent that it began with. */
  startSession(agent: string, session: CreateSession): Promise<AgentSession> {
    return this.api.createAgentSession({ agent_id: idOrName(agent), body: session });
  }

  /** Appends a message to a session. */
  addMessage(sessionId: string, message: CreateMessage): Promise<Message> {
    return this.api.createMessage({ session_id: sessionId, body: message });
  }

  /** Lists the messages of a session, in order. */
  messages(sessionId: string): Pages<Message> {
    return this.api.listMessages({ session_id: sessionId });
  }
}

import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkIfMatch, checkImmutable, checkValues, patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { changesOf, checkLive, checkNotMoved, readable, within, WorkspaceAccess } from '../../registry';
import { SessionService, type StartedListQueryDto, type TraceDto } from '../../telemetry';
import { AGENT } from '../agents/agent-record';
import type { AgentEntity } from '../agents/agent.entity';
import { AgentRepository } from '../agents/agent.repository';
import { MessageRepository } from './message.repository';
import { newMessage } from './new-message';
import {
  type AgentSessionDto,
  type AgentSessionListQueryDto,
  type CreateSessionDto,
  type PatchSessionDto,
  toAgentSessionDto,
} from './session.dto';
import type { AgentSessionEntity } from './session.entity';
import { AgentSessionRepository } from './session.repository';
import { SESSION, SESSION_ARCHIVERS, SESSION_READERS, SESSION_WRITERS } from './session-access';

/** Sessions with agents. */
@Injectable()
export class AgentSessionService {
  constructor(
    private readonly database: Database,
    private readonly access: WorkspaceAccess,
    private readonly agents: AgentRepository,
    private readonly sessions: AgentSessionRepository,
    private readonly messages: MessageRepository,
    private readonly traces: SessionService,
  ) {}

  /**
   * Begins a session with an agent, held to its present version or to an earlier one; the prompt is its first message.
   * Errors: 404 for the agent, 403, 409 when the agent or its workspace is archived, 400 for a version that it has not.
   */
  create(scope: OrgScope, agentId: string, dto: CreateSessionDto): Promise<Versioned<AgentSessionDto>> {
    return this.database.transaction(async (tx) => {
      const locked = await this.agents.lock(tx, scope, agentId, 'share');
      const agent = await this.access.admit(tx, scope, locked, AGENT, agentId, SESSION_WRITERS);
      checkLive(agent, AGENT);
      const row = newSession(scope, agent, dto);
      checkVersion(row, agent);
      await this.sessions.insert(row, tx);
      await this.messages.insert(tx, newMessage(scope, row, 1, { role: 'user', content: dto.prompt }));
      return versionedView(row);
    });
  }

  async list(scope: OrgScope, query: AgentSessionListQueryDto): Promise<Page<AgentSessionDto>> {
    const { rows, page } = await this.sessions.list(scope, query);
    return { items: rows.map(toAgentSessionDto), page };
  }

  async get(scope: OrgScope, id: string): Promise<Versioned<AgentSessionDto>> {
    return versionedView(await this.find(scope, id));
  }

  /** Errors: 404, 403, 412 for a stale `If-Match`, 409 when it or its workspace is archived, 422 for unknown values. */
  patch(
    scope: OrgScope,
    id: string,
    dto: PatchSessionDto,
    ifMatch?: string,
  ): Promise<Versioned<AgentSessionDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id);
      checkIfMatch(ifMatch, row.generation);
      checkLive(row, SESSION);
      checkNotMoved(row, dto.workspace_id);
      checkImmutable(row, dto, ['session_id', 'agent_id', 'prompt']);
      checkValues(dto);
      const changes = changesOf(row, {
        title: dto.title,
        session_status: dto.session_status,
        metadata: dto.metadata === undefined ? undefined : patchMetadata(row.metadata, dto.metadata),
      });
      if (changes) await this.sessions.update(tx, scope, id, changes);
      return versionedView(Object.assign(row, changes));
    });
  }

  /** Archives a session; repeated, it answers the same. */
  archive(scope: OrgScope, id: string, ifMatch?: string): Promise<Versioned<AgentSessionDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id, SESSION_ARCHIVERS);
      if (!row.archived_at) checkIfMatch(ifMatch, row.generation);
      const changes = row.archived_at ? null : changesOf(row, { archived_at: new Date() });
      if (changes) await this.sessions.update(tx, scope, id, changes);
      return versionedView(Object.assign(row, changes));
    });
  }

  /** The traces that name it, newest first. Errors: 404, 503 when traces cannot be read. */
  async listTraces(
    scope: OrgScope,
    id: string,
    query: StartedListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<TraceDto>> {
    const { workspace_id } = readable(scope, await this.sessions.find(scope, id), SESSION, id);
    return this.traces.tracesOf(within(scope, workspace_id), id, query, signal);
  }

  /** A session that the caller may read; 404 otherwise. */
  async find(scope: OrgScope, id: string): Promise<AgentSessionEntity> {
    return readable(scope, await this.sessions.find(scope, id), SESSION, id, SESSION_READERS);
  }

  /** Locks a session that the caller may change; errors as `WorkspaceAccess.admit` has them. */
  async lock(tx: Tx, scope: OrgScope, id: string, anyOf = SESSION_WRITERS): Promise<AgentSessionEntity> {
    const row = await this.sessions.lock(tx, scope, id, 'update');
    return this.access.admit(tx, scope, row, SESSION, id, anyOf, SESSION_READERS);
  }
}

/** Versions are numbered without gaps, and none is ever deleted. */
function checkVersion({ version_ordinal }: AgentSessionEntity, agent: AgentEntity): void {
  if (version_ordinal <= agent.version_ordinal) return;
  const detail = `is no version of the agent, whose newest is ${agent.version_ordinal}`;
  throw problem.invalidFields([{ pointer: '/version_ordinal', detail }]);
}

function newSession(scope: OrgScope, agent: AgentEntity, dto: CreateSessionDto): AgentSessionEntity {
  const now = new Date();
  return {
    session_id: newId('ses'),
    org_id: scope.orgId,
    workspace_id: agent.workspace_id,
    agent_id: agent.agent_id,
    version_ordinal: dto.version_ordinal ?? agent.version_ordinal,
    title: dto.title ?? null,
    prompt: dto.prompt,
    session_status: 'active',
    message_count: 1,
    last_message_at: now,
    metadata: toRawJson(dto.metadata ?? {}),
    generation: 1,
    created_at: now,
    updated_at: now,
    created_by: scope.principalId,
    archived_at: null,
  };
}

const versionedView = (row: AgentSessionEntity): Versioned<AgentSessionDto> => ({
  view: toAgentSessionDto(row),
  version: row.generation,
});

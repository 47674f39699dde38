import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import {
  type AnyOf,
  checkLive,
  OrgResourceService,
  readable,
  type ResourceAction,
  type ResourceKind,
  ResourceKit,
  stamps,
  narrowScope,
} from '../../resources';
import { WorkspaceMasking } from '../../registry';
import { SessionService, type SessionTraceListQueryDto, type ScoredTraceDto } from '../../telemetry';
import type { AgentEntity } from '../agents/agent.entity';
import { AgentRepository } from '../agents/agent.repository';
import { MessageRepository } from './message.repository';
import {
  type AgentSessionDto,
  type AgentSessionListQueryDto,
  type CreateSessionDto,
  type PatchSessionDto,
  toAgentSessionDto,
} from './session.dto';
import { type AgentSessionEntity, SESSION_READERS, SESSION_WRITERS } from './session.entity';
import { AgentSessionRepository } from './session.repository';

/** Longest title, in characters. */
const TITLE_MAX = 255;

const SESSION: ResourceKind<AgentSessionEntity, AgentSessionDto> = {
  noun: 'session',
  readers: SESSION_READERS,
  id: 'session_id',
  generation: 'generation',
  immutable: ['session_id', 'agent_id', 'prompt'],
  toView: toAgentSessionDto,
};

/** Sessions with agents. */
@Injectable()
export class AgentSessionService extends OrgResourceService<AgentSessionEntity, AgentSessionDto> {
  constructor(
    kit: ResourceKit,
    private readonly sessions: AgentSessionRepository,
    private readonly agents: AgentRepository,
    private readonly messages: MessageRepository,
    private readonly traces: SessionService,
    private readonly masking: WorkspaceMasking,
  ) {
    super(kit, sessions, SESSION);
  }

  /**
   * Starts a session with an agent, pinned to the newest version or to an earlier one. The prompt is its first message.
   * Errors: 404 for the agent; 403; 409 if the agent or its workspace is archived; 400 for an unknown version.
   */
  async create(scope: OrgScope, agentId: string, dto: CreateSessionDto): Promise<Versioned<AgentSessionDto>> {
    await this.mask(scope, await this.agents.find(scope, agentId), dto);
    return this.transaction(scope, async (tx) => {
      const locked = await this.agents.lock(tx, scope, agentId, 'share');
      const agent = this.kit.access.admit(scope, locked, 'agent', agentId, SESSION_WRITERS);
      checkLive(agent, 'agent');
      await this.kit.access.holdOpen(tx, scope, agent.workspace_id);
      const row = await this.insert(tx, scope, newSession(scope, agent, dto));
      await this.messages.insertFirst(tx, row);
      return this.versioned(row);
    });
  }

  async list(scope: OrgScope, query: AgentSessionListQueryDto): Promise<Page<AgentSessionDto>> {
    return this.page(await this.sessions.list(scope, query));
  }

  async patch(
    scope: OrgScope,
    id: string,
    dto: PatchSessionDto,
    ifMatch?: string,
  ): Promise<Versioned<AgentSessionDto>> {
    await this.mask(scope, await this.sessions.find(scope, id), dto);
    return this.change(scope, id, dto, ifMatch, (row) => ({
      title: dto.title,
      session_status: dto.session_status,
      metadata: patchMetadata(row.metadata, dto.metadata),
    }));
  }

  /** Lists the traces of a session, newest first. Errors: 404; 503 if traces cannot be read. */
  async listTraces(
    scope: OrgScope,
    id: string,
    query: SessionTraceListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<ScoredTraceDto>> {
    const { workspace_id } = readable(scope, await this.sessions.find(scope, id), SESSION.noun, id);
    return this.traces.tracesOf(narrowScope(scope, workspace_id), id, query, signal);
  }

  /**
   * Throws if a session does not accept messages from the caller: 404; 403; 409 if the session is not active, or if the
   * session or its workspace is archived.
   */
  async checkAcceptsMessages(scope: OrgScope, id: string): Promise<void> {
    await this.kit.database.transaction(async (tx) => {
      const session = await this.lock(tx, scope, id, 'update');
      this.checkWritable(session);
      await this.checkOpen(tx, scope, session);
      if (session.session_status !== 'active') {
        throw problem.conflict(
          `The session is ${session.session_status} and does not accept messages. Set \`session_status\` to \`active\` first.`,
        );
      }
    });
  }

  /** Masks the texts of a body by the rules of the workspace that its agent or session belongs to. */
  private async mask(
    { orgId }: OrgScope,
    owner: AgentEntity | AgentSessionEntity | null,
    dto: CreateSessionDto | PatchSessionDto,
  ): Promise<void> {
    const masking = owner && (await this.masking.start({ orgId, workspaceId: owner.workspace_id }));
    if (!masking) return;
    if (dto.prompt) dto.prompt = masking.text(dto.prompt, 'prompt');
    if (dto.title) dto.title = masking.text(dto.title, 'title').slice(0, TITLE_MAX);
    dto.metadata = masking.json(dto.metadata, 'metadata');
  }

  protected override rolesFor(action: ResourceAction, row: AgentSessionEntity | null): AnyOf {
    return action === 'update' ? SESSION_WRITERS : super.rolesFor(action, row);
  }
}

function newSession(scope: OrgScope, agent: AgentEntity, dto: CreateSessionDto): AgentSessionEntity {
  const version_ordinal = dto.version_ordinal ?? agent.version_ordinal;
  // Versions are numbered without gaps and never deleted.
  if (version_ordinal > agent.version_ordinal) {
    const detail = `is not a version of the agent. The newest version is ${agent.version_ordinal}.`;
    throw problem.invalidField('/version_ordinal', detail);
  }
  const stamped = stamps(scope);
  return {
    ...stamped,
    session_id: newId('ses'),
    org_id: scope.orgId,
    workspace_id: agent.workspace_id,
    agent_id: agent.agent_id,
    version_ordinal,
    title: dto.title ?? null,
    prompt: dto.prompt,
    session_status: 'active',
    message_count: 1,
    last_message_at: stamped.created_at,
    metadata: toRawJson(dto.metadata ?? {}),
    generation: 1,
  };
}

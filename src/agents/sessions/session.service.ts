import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { inSlices } from '#platform/concurrency';
import type { Tx } from '#platform/db';
import { patchMetadata, Versioned, versionShowing } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import {
  type AnyOf,
  checkLive,
  LATEST,
  ordinalOf,
  OrgResourceService,
  readable,
  type ResourceAction,
  type ResourceKind,
  ResourceKit,
  stamps,
  narrowScope,
  type VersionName,
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
    kit.references.add({
      nouns: ['agent', 'agent version'],
      find: async (tx, scope, _noun, id, limit, version) => {
        const ids = await this.sessions.findActiveOf(tx, scope, id, version, limit);
        return ids.map((session) => ({ noun: 'session', id: session }));
      },
    });
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
      const ordinal = await this.pinnedVersion(tx, scope, agent, dto.version_ordinal ?? LATEST);
      const row = await this.insert(tx, scope, newSession(scope, agent, ordinal, dto));
      await this.messages.insertFirst(tx, row);
      return this.versioned(row);
    });
  }

  async list(scope: OrgScope, query: AgentSessionListQueryDto): Promise<Page<AgentSessionDto>> {
    const rows = await this.sessions.list(scope, query);
    const missing = await this.agents.versions.missing(scope.orgKey, rows.rows.map(agentVersionOf));
    const page = this.page(rows);
    for (const index of missing) page.items[index]!.agent_erased = true;
    return page;
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
   * Deletes a message, and keeps the count of the session right. Errors: 404; 403; 409 for the first message, which is the
   * session's prompt.
   */
  deleteMessage(scope: OrgScope, id: string, messageId: string): Promise<void> {
    return this.transaction(scope, async (tx) => {
      const session = await this.lock(tx, scope, id, 'delete');
      const message = orNotFound(await this.messages.find(scope, id, messageId, tx), 'message', messageId);
      if (message.ordinal === 1) {
        throw problem.conflict("The first message is the session's `prompt`. Delete the session instead.");
      }
      await this.messages.delete(tx, scope, message);
      await this.write(tx, scope, session, { message_count: session.message_count - 1 }, 'update');
    });
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

  /** Shows whether the agent was deleted, which the ETag covers. */
  protected override async shown(
    scope: OrgScope,
    row: AgentSessionEntity,
  ): Promise<Versioned<AgentSessionDto>> {
    const missing = await this.agents.versions.missing(scope.orgKey, [agentVersionOf(row)]);
    const mark = missing.size > 0 ? { agent_erased: true } : {};
    return new Versioned(
      { ...toAgentSessionDto(row), ...mark },
      versionShowing(row.generation, [toRawJson(mark)]),
    );
  }

  /** Sessions have no archive route that must come first. */
  protected override checkDeletable(): void {}

  /** Returns the number of the version that a name means. Throws 400 for a version that the agent does not have. */
  private async pinnedVersion(
    tx: Tx,
    scope: OrgScope,
    agent: AgentEntity,
    version: VersionName,
  ): Promise<number> {
    const { agent_id, version_ordinal: newest } = agent;
    const ordinal = ordinalOf(agent, version);
    if (ordinal === newest) return ordinal;
    if (ordinal !== null && (await this.agents.versions.find(scope.orgKey, agent_id, ordinal, tx))) {
      return ordinal;
    }
    const detail = `is not a version of the agent. The newest version is ${newest}.`;
    throw problem.invalidField('/version_ordinal', detail);
  }

  /** Masks the texts of a body by the rules of the workspace that its agent or session belongs to. */
  private async mask(
    { orgId }: OrgScope,
    owner: AgentEntity | AgentSessionEntity | null,
    dto: CreateSessionDto | PatchSessionDto,
  ): Promise<void> {
    const masking = owner && (await this.masking.start({ orgId, workspaceId: owner.workspace_id }));
    if (!masking) return;
    if (dto.prompt) dto.prompt = await inSlices(masking.text(dto.prompt, 'prompt'));
    if (dto.title) dto.title = (await inSlices(masking.text(dto.title, 'title'))).slice(0, TITLE_MAX);
    dto.metadata = await inSlices(masking.json(dto.metadata, 'metadata'));
  }

  protected override rolesFor(action: ResourceAction, row: AgentSessionEntity | null): AnyOf {
    return action === 'update' ? SESSION_WRITERS : super.rolesFor(action, row);
  }
}

const agentVersionOf = ({ agent_id: id, version_ordinal: ordinal }: AgentSessionEntity) => ({ id, ordinal });

function newSession(
  scope: OrgScope,
  agent: AgentEntity,
  version_ordinal: number,
  dto: CreateSessionDto,
): AgentSessionEntity {
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
    last_ordinal: 1,
    last_message_at: stamped.created_at,
    metadata: toRawJson(dto.metadata ?? {}),
    generation: 1,
  };
}

import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { Versioned, versionShowing } from '#platform/http';
import { newId } from '#platform/ids';
import type { OrderedListQueryDto, Page } from '#platform/paging';
import {
  changedColumns,
  type CopySource,
  type InstalledArtifact,
  LabelledService,
  markDrifted,
  NamedResources,
  type OnConflict,
  OWNED_READERS,
  type OwnedListQueryDto,
  type Reference,
  type ResourceKind,
  ResourceKit,
  narrowScope,
  newLabelled,
  type VersionName,
} from '../../resources';
import { toRawJson } from '#platform/json';
import { agentCard, checkCard } from './agent-card';
import { contentOf, patchedContent } from './agent-content';
import { AgentReferences } from './agent-references';
import {
  type AgentDto,
  type AgentVersionDto,
  type CreateAgentDto,
  PatchAgentDto,
  toAgentDto,
  toAgentVersionDto,
} from './agent.dto';
import {
  type AgentContent,
  type AgentEntity,
  type AgentSkill,
  type AgentTool,
  type AgentVersionRow,
  AUDITED_FIELDS,
  CONTENT_FIELDS,
  toAgentDocument,
} from './agent.entity';
import { AgentRepository } from './agent.repository';

/** Describes agents to the resource kit. */
export const AGENT: ResourceKind<AgentEntity, AgentDto> = {
  noun: 'agent',
  type: 'agent',
  readers: OWNED_READERS,
  id: 'agent_id',
  generation: 'generation',
  immutable: ['agent_id', 'name'],
  auditedFields: AUDITED_FIELDS,
  createdFields: ['name', 'acquired_from'],
  versions: { ordinal: 'version_ordinal', fields: CONTENT_FIELDS },
  unique: { constraint: 'agents_name', field: 'name', inPaths: true },
  derived: markDrifted,
  search: { type: 'agent', document: toAgentDocument },
  toView: toAgentDto,
};

/** Agents and their versions. Each change of an agent creates a version. Archiving an agent keeps its sessions. */
@Injectable()
export class AgentService extends LabelledService<AgentEntity, AgentDto, AgentVersionRow, AgentVersionDto> {
  constructor(
    kit: ResourceKit,
    private readonly agents: AgentRepository,
    private readonly references: AgentReferences,
  ) {
    super(kit, agents, AGENT, toAgentVersionDto);
    kit.allowed.add('agents', new NamedResources('agents', 'agent_id'));
    kit.references.add({
      nouns: ['skill', 'skill version', 'server'],
      find: (tx, scope, noun, id, limit, version) =>
        this.findUsing(
          tx,
          scope,
          noun === 'server' ? { tool: { server_id: id } } : skillOf(id, version),
          limit,
        ),
    });
  }

  /**
   * Errors: 400 for an unknown workspace, tool or skill; 403; 409 for a name that is taken or an archived workspace; those of
   * `patch`.
   */
  create(scope: OrgScope, dto: CreateAgentDto, onConflict?: OnConflict): Promise<Versioned<AgentDto>> {
    const create = () =>
      this.createIn(scope, dto.workspace_id, async (workspace, tx) => {
        const skills = await this.references.withOrdinals(tx, workspace, dto.skills ?? []);
        const content = contentOf({ ...dto, skills });
        checkCard(content.card);
        await this.references.check(tx, workspace, content);
        return {
          ...newLabelled(scope, dto.workspace_id),
          agent_id: newId('agt'),
          name: dto.name,
          ...content,
        };
      });
    return this.createOr(scope, onConflict, dto, create, PatchAgentDto, (id, patch) =>
      this.patch(scope, id, patch),
    );
  }

  /** Installs a copy, see `installCopy`. It keeps its own `card`. @param content refers to copies in the workspace */
  install(
    tx: Tx,
    scope: Scope,
    source: CopySource,
    name: string,
    content: Omit<AgentContent, 'card'>,
  ): Promise<InstalledArtifact> {
    const columns = { ...content, acquired_from: source.from };
    const created = {
      ...newLabelled(scope, scope.workspaceId),
      agent_id: newId('agt'),
      name,
      card: toRawJson({}),
      ...columns,
    };
    return this.installCopy(tx, scope, source, created, columns);
  }

  /** Returns the A2A card of an agent. Errors: 404. @param baseUrl returns the URL of this service, if the card needs it */
  async card(scope: OrgScope, id: string, baseUrl: () => string): Promise<object> {
    const row = await this.find(scope, id);
    return agentCard(row, await this.references.describedSkills(scope, row.skills), baseUrl);
  }

  /** Returns the tools that a live agent declares now, without an access check; null for an unknown or archived agent. */
  declaredTools(scope: OrgScope, id: string): Promise<readonly AgentTool[] | null> {
    return this.agents.declaredTools(scope, id);
  }

  override async list(scope: OrgScope, query: OwnedListQueryDto): Promise<Page<AgentDto>> {
    const page = await super.list(scope, query);
    await this.references.markErased(scope, page.items);
    return page;
  }

  override async listVersions(
    scope: OrgScope,
    id: string,
    query: OrderedListQueryDto,
  ): Promise<Page<AgentVersionDto>> {
    const page = await super.listVersions(scope, id, query);
    await this.references.markErased(scope, page.items);
    return page;
  }

  override async getVersion(
    scope: OrgScope,
    id: string,
    version: VersionName,
  ): Promise<Versioned<AgentVersionDto>> {
    const { view } = await super.getVersion(scope, id, version);
    const erased = await this.references.markErased(scope, [view]);
    return new Versioned(view, versionShowing(view.version_ordinal, [erased]));
  }

  /** Errors: 400 for an unknown tool or skill; those of every change. */
  patch(scope: OrgScope, id: string, dto: PatchAgentDto, ifMatch?: string): Promise<Versioned<AgentDto>> {
    return this.change(scope, id, dto, ifMatch, async (row, tx) => {
      const workspace = narrowScope(scope, row.workspace_id);
      const named = dto.skills === null ? [] : dto.skills;
      const resolved = named && (await this.references.withOrdinals(tx, workspace, named));
      const content = patchedContent(row, { ...dto, skills: resolved });
      checkCard(content.card);
      // Unchanged references are not checked again, because their targets may have been archived since.
      const { tools = [], skills = [] } = changedColumns<AgentEntity>(row, content) ?? {};
      await this.references.check(tx, workspace, { tools, skills });
      return content;
    });
  }

  /** Marks references to deleted skills and servers, which the ETag covers. */
  protected override async shown(scope: OrgScope, row: AgentEntity): Promise<Versioned<AgentDto>> {
    const view = toAgentDto(row);
    const erased = await this.references.markErased(scope, [view]);
    return new Versioned(view, versionShowing(row.generation, [erased]));
  }

  private async findUsing(
    tx: Tx,
    scope: OrgScope,
    used: Parameters<AgentRepository['findUsing']>[2],
    limit: number,
  ): Promise<Reference[]> {
    const ids = await this.agents.findUsing(tx, scope, used, limit);
    return ids.map((id) => ({ noun: 'agent', id }));
  }
}

const skillOf = (skill_id: string, version_ordinal?: number): { skill: Partial<AgentSkill> } => ({
  skill: { skill_id, ...(version_ordinal !== undefined && { version_ordinal }) },
});

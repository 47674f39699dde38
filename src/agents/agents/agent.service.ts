import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import type { OrderedListQueryDto, Page } from '#platform/paging';
import { problem } from '#platform/problem';
import {
  changedColumns,
  type CopySource,
  type InstalledArtifact,
  installedArtifact,
  markDrifted,
  newOwned,
  OrgResourceService,
  OWNED_READERS,
  type ResourceKind,
  ResourceKit,
  narrowScope,
} from '../../resources';
import { contentOf, patchedContent } from './agent-content';
import { AgentReferences } from './agent-references';
import {
  type AgentDto,
  type AgentListQueryDto,
  type AgentVersionDto,
  type CreateAgentDto,
  type PatchAgentDto,
  toAgentDto,
  toAgentVersionDto,
} from './agent.dto';
import {
  type AgentContent,
  type AgentEntity,
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
  unique: { constraint: 'agents_name', field: 'name' },
  derived: markDrifted,
  search: { type: 'agent', document: toAgentDocument },
  toView: toAgentDto,
};

/** Agents and their versions. Each change of an agent creates a version. Archiving an agent keeps its sessions. */
@Injectable()
export class AgentService extends OrgResourceService<AgentEntity, AgentDto> {
  constructor(
    kit: ResourceKit,
    private readonly agents: AgentRepository,
    private readonly references: AgentReferences,
  ) {
    super(kit, agents, AGENT);
  }

  /** Errors: 400 for an unknown workspace, tool or skill; 403; 409 for a name that is taken or an archived workspace. */
  create(scope: OrgScope, dto: CreateAgentDto): Promise<Versioned<AgentDto>> {
    return this.createIn(scope, dto.workspace_id, async (workspace, tx) => {
      const content = contentOf(dto);
      await this.references.check(tx, workspace, content);
      return {
        ...newOwned(scope, dto.workspace_id),
        agent_id: newId('agt'),
        name: dto.name,
        ...content,
      };
    });
  }

  /**
   * Creates a copy of a published agent, or updates an existing copy to the content of a package. The caller runs the
   * transaction and locks the workspace against archiving. Errors: 403, 404, 409 naming the agent that has the name.
   *
   * @param content refers to copies in the workspace
   */
  async install(
    tx: Tx,
    scope: Scope,
    { copy, from: acquired_from }: CopySource,
    name: string,
    content: AgentContent,
  ): Promise<InstalledArtifact> {
    if (!copy) {
      const owned = newOwned(scope, scope.workspaceId);
      const row = { ...owned, agent_id: newId('agt'), name, ...content, acquired_from };
      await this.checkNameFree(tx, scope, row);
      return installedArtifact('agent', row.agent_id, null, await this.insert(tx, scope, row));
    }
    const before = await this.lock(tx, scope, copy.artifact_id, 'update');
    const row = await this.write(tx, scope, before, { ...content, acquired_from }, 'update');
    return installedArtifact('agent', row.agent_id, before, row);
  }

  async list(scope: OrgScope, query: AgentListQueryDto): Promise<Page<AgentDto>> {
    return this.page(await this.agents.list(scope, query));
  }

  /** Errors: 400 for an unknown tool or skill; those of every change. */
  patch(scope: OrgScope, id: string, dto: PatchAgentDto, ifMatch?: string): Promise<Versioned<AgentDto>> {
    return this.change(scope, id, dto, ifMatch, async (row, tx) => {
      const content = patchedContent(row, dto);
      // Unchanged references are not checked again, because their targets may have been archived since.
      const { tools = [], skills = [] } = changedColumns<AgentEntity>(row, content) ?? {};
      await this.references.check(tx, narrowScope(scope, row.workspace_id), { tools, skills });
      return content;
    });
  }

  async listVersions(
    scope: OrgScope,
    id: string,
    query: OrderedListQueryDto,
  ): Promise<Page<AgentVersionDto>> {
    await this.find(scope, id);
    const { rows, page } = await this.agents.versions.list(scope.orgKey, id, query);
    return { items: rows.map(toAgentVersionDto), page };
  }

  async getVersion(scope: OrgScope, id: string, ordinal: number): Promise<Versioned<AgentVersionDto>> {
    await this.find(scope, id);
    const row = await this.agents.versions.find(scope.orgKey, id, ordinal);
    if (!row) throw problem.notFound('agent version', String(ordinal));
    return new Versioned(toAgentVersionDto(row), ordinal);
  }
}

import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import {
  changedColumns,
  type CopySource,
  type InstalledArtifact,
  markDrifted,
  NamedResources,
  newOwned,
  OWNED_READERS,
  OwnedService,
  type ResourceKind,
  ResourceKit,
  narrowScope,
} from '../../resources';
import { contentOf, patchedContent } from './agent-content';
import { AgentReferences } from './agent-references';
import {
  type AgentDto,
  type AgentVersionDto,
  type CreateAgentDto,
  type PatchAgentDto,
  toAgentDto,
  toAgentVersionDto,
} from './agent.dto';
import {
  type AgentContent,
  type AgentEntity,
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
  unique: { constraint: 'agents_name', field: 'name' },
  derived: markDrifted,
  search: { type: 'agent', document: toAgentDocument },
  toView: toAgentDto,
};

/** Agents and their versions. Each change of an agent creates a version. Archiving an agent keeps its sessions. */
@Injectable()
export class AgentService extends OwnedService<AgentEntity, AgentDto, AgentVersionRow, AgentVersionDto> {
  constructor(
    kit: ResourceKit,
    private readonly agents: AgentRepository,
    private readonly references: AgentReferences,
  ) {
    super(kit, agents, AGENT, toAgentVersionDto);
    kit.allowed.add('agents', new NamedResources('agents', 'agent_id'));
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

  /** Installs a copy, see `installCopy`. @param content refers to copies in the workspace */
  install(
    tx: Tx,
    scope: Scope,
    source: CopySource,
    name: string,
    content: AgentContent,
  ): Promise<InstalledArtifact> {
    const columns = { ...content, acquired_from: source.from };
    const created = { ...newOwned(scope, scope.workspaceId), agent_id: newId('agt'), name, ...columns };
    return this.installCopy(tx, scope, source, created, columns);
  }

  /** Returns the tools that a live agent declares now, without an access check; null for an unknown or archived agent. */
  declaredTools(scope: OrgScope, id: string): Promise<readonly AgentTool[] | null> {
    return this.agents.declaredTools(scope, id);
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
}

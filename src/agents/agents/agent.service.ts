import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkIfMatch, checkImmutable, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import type { OrderedListQueryDto, Page } from '#platform/paging';
import { problem } from '#platform/problem';
import {
  AuditLog,
  changesOf,
  changesTold,
  given,
  checkLive,
  checkNotMoved,
  readable,
  SearchIndex,
  within,
  WorkspaceAccess,
} from '../../registry';
import type {
  AgentDto,
  AgentListQueryDto,
  AgentVersionDto,
  CreateAgentDto,
  PatchAgentDto,
} from './agent.dto';
import { changedContent, contentOf, patchedContent } from './agent-content';
import type { AgentEntity } from './agent.entity';
import { toAgentDto, toAgentVersionDto } from './agent.mapper';
import { AGENT, audited, found, TOLD } from './agent-record';
import { AgentReferences } from './agent-references';
import { AgentRepository } from './agent.repository';

/** Agents and their versions. */
@Injectable()
export class AgentService {
  constructor(
    private readonly database: Database,
    private readonly access: WorkspaceAccess,
    private readonly agents: AgentRepository,
    private readonly references: AgentReferences,
    private readonly audit: AuditLog,
    private readonly index: SearchIndex,
  ) {}

  /**
   * Errors: 400 for an unknown workspace, or a tool or a skill that the workspace does not have; 403; 409 for a name that
   * is taken, or a workspace that is archived.
   */
  create(scope: OrgScope, dto: CreateAgentDto): Promise<Versioned<AgentDto>> {
    return this.database.transaction(async (tx) => {
      const workspace = await this.access.enter(tx, scope, dto.workspace_id, ['editor']);
      const row = newRow(scope, dto);
      await this.references.check(tx, workspace, row);
      await this.agents.insert(row, tx);
      await this.agents.keepVersions(tx, scope, [row.agent_id]);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'create',
        changes: given({ name: row.name }),
      });
      await this.index.put(tx, scope, found(row));
      return versionedView(row);
    });
  }

  async list(scope: OrgScope, query: AgentListQueryDto): Promise<Page<AgentDto>> {
    const { rows, page } = await this.agents.list(scope, query);
    return { items: rows.map(toAgentDto), page };
  }

  async get(scope: OrgScope, id: string): Promise<Versioned<AgentDto>> {
    return versionedView(readable(scope, await this.agents.find(scope, id), AGENT, id));
  }

  /**
   * A patch that changes something makes a version, and lets an agent that an app declares drift from it. Errors: 404,
   * 403, 400 for references that are not there, 412 for a stale `If-Match`, 409 when it or its workspace is archived, 422
   * `immutable_field` for another name.
   */
  patch(scope: OrgScope, id: string, dto: PatchAgentDto, ifMatch?: string): Promise<Versioned<AgentDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id, 'editor');
      checkIfMatch(ifMatch, row.generation);
      checkLive(row, AGENT);
      checkNotMoved(row, dto.workspace_id);
      checkImmutable(row, dto, ['agent_id', 'name']);
      const changed = changedContent(row, patchedContent(row, dto));
      if (!changed) return versionedView(row);
      // what was there when it was referred to may have been archived since
      const { tools = [], skills = [] } = changed;
      await this.references.check(tx, within(scope, row.workspace_id), { tools, skills });
      const changes = changesOf(row, {
        ...changed,
        version_ordinal: row.version_ordinal + 1,
        version_id: newId('ver'),
        sync_state: row.app_id === null ? row.sync_state : 'drifted',
      })!;
      await this.agents.update(tx, scope, id, changes);
      await this.agents.keepVersions(tx, scope, [id]);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'update',
        changes: changesTold(row, changes, TOLD),
      });
      const now = Object.assign(row, changes);
      await this.index.put(tx, scope, found(now));
      return versionedView(now);
    });
  }

  /** Archives an agent; repeated, it answers the same. Its name is free again, and its sessions stay. */
  archive(scope: OrgScope, id: string, ifMatch?: string): Promise<Versioned<AgentDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id, 'admin');
      if (!row.archived_at) checkIfMatch(ifMatch, row.generation);
      const changes = row.archived_at ? null : changesOf(row, { archived_at: new Date() });
      if (!changes) return versionedView(row);
      await this.agents.update(tx, scope, id, changes);
      await this.audit.record(tx, scope, { ...audited(row), action: 'archive' });
      await this.index.remove(tx, scope, 'agent', id);
      return versionedView(Object.assign(row, changes));
    });
  }

  async listVersions(
    scope: OrgScope,
    id: string,
    query: OrderedListQueryDto,
  ): Promise<Page<AgentVersionDto>> {
    await this.get(scope, id);
    const { rows, page } = await this.agents.listVersions(scope, id, query);
    return { items: rows.map(toAgentVersionDto), page };
  }

  async getVersion(scope: OrgScope, id: string, ordinal: number): Promise<Versioned<AgentVersionDto>> {
    await this.get(scope, id);
    const row = await this.agents.findVersion(scope, id, ordinal);
    if (!row) throw problem.notFound('agent version', String(ordinal));
    return { view: toAgentVersionDto(row), version: row.version_ordinal };
  }

  private async lock(tx: Tx, scope: OrgScope, id: string, role: 'editor' | 'admin'): Promise<AgentEntity> {
    const row = await this.agents.lock(tx, scope, id, 'update');
    return this.access.admit(tx, scope, row, AGENT, id, [role]);
  }
}

function newRow(scope: OrgScope, dto: CreateAgentDto): AgentEntity {
  const now = new Date();
  return {
    agent_id: newId('agt'),
    org_id: scope.orgId,
    workspace_id: dto.workspace_id,
    name: dto.name,
    version_ordinal: 1,
    version_id: newId('ver'),
    ...contentOf(dto),
    app_id: null,
    app: null,
    sync_state: 'unmanaged',
    generation: 1,
    created_at: now,
    updated_at: now,
    created_by: scope.principalId,
    archived_at: null,
  };
}

const versionedView = (row: AgentEntity): Versioned<AgentDto> => ({
  view: toAgentDto(row),
  version: row.generation,
});

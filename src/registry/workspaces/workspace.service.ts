import { Injectable } from '@nestjs/common';
import { AccountChanges, type OrgScope, reduceRoles } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { RawJson, toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { type ErasureEntity, requireRole, type ResourceKind, ResourceKit, stamps } from '../../resources';
import { AccountService } from '../accounts/account.service';
import { MemberRepository } from './member.repository';
import { patchRetention } from './retention.dto';
import { RetentionPolicy } from './retention-policy';
import { PrincipalRepository } from '../accounts/principal.repository';
import {
  type CreateWorkspaceDto,
  type PatchWorkspaceDto,
  toWorkspaceDto,
  type WorkspaceDto,
  type WorkspaceListQueryDto,
} from './workspace.dto';
import type { WorkspaceEntity } from './workspace.entity';
import { WorkspaceRepository } from './workspace.repository';

const WORKSPACE: ResourceKind<WorkspaceEntity, WorkspaceDto> = {
  noun: 'workspace',
  type: 'workspace',
  id: 'workspace_id',
  generation: 'generation',
  immutable: ['workspace_id'],
  auditedFields: ['name', 'retention'],
  createdFields: ['name'],
  erasure: 'workspace',
  unique: { constraint: 'workspaces_name', field: 'name', within: 'organization' },
  toView: toWorkspaceDto,
};

@Injectable()
export class WorkspaceService extends AccountService<WorkspaceEntity, WorkspaceDto> {
  constructor(
    kit: ResourceKit,
    changes: AccountChanges,
    private readonly workspaces: WorkspaceRepository,
    private readonly members: MemberRepository,
    private readonly principals: PrincipalRepository,
    private readonly retention: RetentionPolicy,
  ) {
    super(kit, changes, workspaces, WORKSPACE);
  }

  /**
   * Creates a workspace and makes its creator a member, with the roles that are stored for them in the organization.
   * Roles that only a token carries are left out, because a membership would outlive the token.
   * Errors: 400 for a retention that is wider than the installation's; 409 for a name that is taken.
   */
  async create(scope: OrgScope, dto: CreateWorkspaceDto): Promise<Versioned<WorkspaceDto>> {
    this.retention.check(dto.retention);
    return this.transaction(scope, async (tx) => {
      const row = await this.add(tx, scope, dto);
      await this.addCreator(tx, scope, row.workspace_id);
      return this.versioned(row);
    });
  }

  add(tx: Tx, scope: OrgScope, dto: CreateWorkspaceDto): Promise<WorkspaceEntity> {
    return this.insert(tx, scope, {
      ...stamps(scope),
      workspace_id: newId('wsp'),
      org_id: scope.orgId,
      name: dto.name,
      description: dto.description ?? null,
      metadata: toRawJson(dto.metadata ?? {}),
      retention: patchRetention(new RawJson('{}'), dto.retention),
      generation: 1,
    });
  }

  async list(scope: OrgScope, query: WorkspaceListQueryDto): Promise<Page<WorkspaceDto>> {
    return this.page(await this.workspaces.list(scope, query));
  }

  /** Errors: 400 for a retention that is wider than the installation's. */
  async patch(
    scope: OrgScope,
    id: string,
    dto: PatchWorkspaceDto,
    ifMatch?: string,
  ): Promise<Versioned<WorkspaceDto>> {
    this.retention.check(dto.retention);
    return this.change(scope, id, dto, ifMatch, (row) => ({
      name: dto.name,
      description: dto.description,
      metadata: patchMetadata(row.metadata, dto.metadata),
      retention: patchRetention(row.retention, dto.retention),
    }));
  }

  /** Requests the erasure of a workspace, and archives it so that nobody writes to it any more. Errors: 404, 403, 409. */
  erase(scope: OrgScope, id: string, isDryRun: boolean): Promise<ErasureEntity> {
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'delete');
      if (!isDryRun && !row.archived_at)
        await this.write(tx, scope, row, { archived_at: new Date() }, 'archive');
      return this.requestErasure(tx, scope, row, 'workspace', isDryRun);
    });
  }

  /** Locks a workspace that the caller manages. Errors: 404 if the caller cannot access it, 403 without the role admin in it. */
  lockManaged(tx: Tx, scope: OrgScope, id: string): Promise<WorkspaceEntity> {
    return this.lock(tx, scope, id, 'update');
  }

  protected override async admit(
    _tx: Tx,
    scope: OrgScope,
    row: WorkspaceEntity | null,
    id: string,
  ): Promise<WorkspaceEntity> {
    if (!row || scope.rolesIn(id).size === 0) throw problem.notFound('workspace', id);
    requireRole(scope, id, ['admin']);
    return Promise.resolve(row);
  }

  protected override readable(scope: OrgScope, row: WorkspaceEntity | null, id: string): WorkspaceEntity {
    if (!row || !scope.rolesIn(id).has('viewer')) throw problem.notFound('workspace', id);
    return row;
  }

  private async addCreator(tx: Tx, scope: OrgScope, workspaceId: string): Promise<void> {
    const roles = reduceRoles((await this.principals.find(scope, scope.principalId, tx))?.roles ?? []);
    if (roles.length === 0) return;
    await this.members.put(tx, scope, workspaceId, scope.principalId, roles);
    await this.kit.audit.record(tx, scope, {
      action: 'create',
      type: 'member',
      id: scope.principalId,
      workspaceId,
      changes: [{ member: 'roles', after: roles }],
    });
  }
}

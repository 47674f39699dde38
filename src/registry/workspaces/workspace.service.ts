import { Injectable } from '@nestjs/common';
import { AccountChanges, type OrgScope, reduceRoles, type Role, WORKSPACE_HEADER } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { checkIfMatch, patchMetadata, type Versioned } from '#platform/http';
import { toRawJson } from '#platform/json';
import { newId } from '#platform/ids';
import type { Page } from '#platform/paging';
import { type Problem, problem } from '#platform/problem';
import { demandRole } from '../access/workspace-access';
import { AuditLog, changesTold, given } from '../audit/audit-log';
import { UserRepository } from '../accounts/user.repository';
import { ServiceAccountRepository } from '../service-accounts/service-account.repository';
import { changesOf, checkLive } from '../shared/change';
import { MemberRepository, principalTypeOf } from './member.repository';
import {
  type CreateWorkspaceDto,
  type PatchWorkspaceDto,
  toWorkspaceDto,
  type WorkspaceDto,
  type WorkspaceListQueryDto,
} from './workspace.dto';
import type { WorkspaceEntity } from './workspace.entity';
import { WorkspacesRepository } from './workspace.repository';

@Injectable()
export class WorkspaceService {
  constructor(
    private readonly changes: AccountChanges,
    private readonly workspaces: WorkspacesRepository,
    private readonly members: MemberRepository,
    private readonly users: UserRepository,
    private readonly serviceAccounts: ServiceAccountRepository,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Makes a workspace, of which its maker becomes a member with the roles that are stored for them in the organization.
   * Roles that only their token carries are not: a membership would keep them when the token has ended. 409 for a name
   * that is taken.
   */
  create(scope: OrgScope, dto: CreateWorkspaceDto): Promise<Versioned<WorkspaceDto>> {
    return this.changes.within(scope.orgId, async (tx) => {
      const row = await this.insert(tx, scope, dto);
      const roles = await this.storedRoles(tx, scope);
      if (roles.length > 0) {
        await this.members.put(tx, scope, {
          workspaceId: row.workspace_id,
          principalId: scope.principalId,
          principalType: principalTypeOf(scope.principalId),
          roles: reduceRoles(roles),
        });
        await this.audit.record(tx, scope, {
          action: 'create',
          type: 'member',
          id: scope.principalId,
          workspaceId: row.workspace_id,
          changes: given({ roles: reduceRoles(roles) }),
        });
      }
      return versionedView(row);
    });
  }

  /** What is stored for the caller in the organization. */
  private async storedRoles(tx: Tx, scope: OrgScope): Promise<readonly Role[]> {
    const accounts = principalTypeOf(scope.principalId) === 'user' ? this.users : this.serviceAccounts;
    const row = await accounts.find(scope, scope.principalId, tx);
    return row?.roles ?? [];
  }

  async insert(on: SqlExecutor, scope: OrgScope, dto: CreateWorkspaceDto): Promise<WorkspaceEntity> {
    const now = new Date();
    const row: WorkspaceEntity = {
      workspace_id: newId('wsp'),
      org_id: scope.orgId,
      name: dto.name,
      description: dto.description ?? null,
      metadata: toRawJson(dto.metadata ?? {}),
      generation: 1,
      created_at: now,
      updated_at: now,
      created_by: scope.principalId,
      archived_at: null,
    };
    await this.workspaces.insert(row, on);
    await this.audit.record(on, scope, {
      ...audited(row),
      action: 'create',
      changes: given({ name: row.name }),
    });
    return row;
  }

  /** 404 also where the caller holds no role that reads. */
  async get(scope: OrgScope, workspaceId: string): Promise<Versioned<WorkspaceDto>> {
    const row = await this.workspaces.find(scope, workspaceId);
    if (!row || !scope.rolesIn(workspaceId).has('viewer')) throw workspaceNotFound(scope, workspaceId);
    return versionedView(row);
  }

  async list(scope: OrgScope, query: WorkspaceListQueryDto): Promise<Page<WorkspaceDto>> {
    const { rows, page } = await this.workspaces.list(scope, query);
    return { items: rows.map(toWorkspaceDto), page };
  }

  /** Errors: 404, 403 without admin in it, 412 for a stale `If-Match`, 409 when archived or the name is taken. */
  patch(
    scope: OrgScope,
    workspaceId: string,
    dto: PatchWorkspaceDto,
    ifMatch?: string,
  ): Promise<Versioned<WorkspaceDto>> {
    return this.changes.within(scope.orgId, async (tx) => {
      const row = await this.lock(tx, scope, workspaceId);
      checkIfMatch(ifMatch, row.generation);
      checkLive(row, 'workspace');
      const changes = changesOf(row, {
        name: dto.name,
        description: dto.description,
        metadata: dto.metadata === undefined ? undefined : patchMetadata(row.metadata, dto.metadata),
      });
      if (!changes) return versionedView(row);
      await this.workspaces.update(tx, scope, workspaceId, changes);
      const told = changesTold(row, changes, ['name']);
      await this.audit.record(tx, scope, { ...audited(row), action: 'update', changes: told });
      return versionedView(Object.assign(row, changes));
    });
  }

  /** Archives a workspace; repeated, it answers the same. Its name is free again. */
  archive(scope: OrgScope, workspaceId: string, ifMatch?: string): Promise<Versioned<WorkspaceDto>> {
    return this.changes.within(scope.orgId, async (tx) => {
      const row = await this.lock(tx, scope, workspaceId);
      if (!row.archived_at) checkIfMatch(ifMatch, row.generation);
      const changes = row.archived_at ? null : changesOf(row, { archived_at: new Date() });
      if (!changes) return versionedView(row);
      await this.workspaces.update(tx, scope, workspaceId, changes);
      await this.audit.record(tx, scope, { ...audited(row), action: 'archive' });
      return versionedView(Object.assign(row, changes));
    });
  }

  /** Locks a workspace that the caller manages: 404 where it is out of reach, 403 without admin in it. */
  async lock(tx: Tx, scope: OrgScope, workspaceId: string): Promise<WorkspaceEntity> {
    const row = await this.workspaces.lock(tx, scope, workspaceId, 'update');
    if (!row || scope.rolesIn(workspaceId).size === 0) throw workspaceNotFound(scope, workspaceId);
    demandRole(scope, workspaceId, ['admin']);
    return row;
  }
}

/**
 * 404 for a workspace that a request names. Where the header narrows the request to another one, it says so, which
 * holds for every other id and so tells nothing of this one.
 */
function workspaceNotFound({ narrowedTo }: OrgScope, workspaceId: string): Problem {
  const isNarrowed = narrowedTo !== null && narrowedTo !== workspaceId;
  const hint = isNarrowed ? `${WORKSPACE_HEADER} narrows this request to ${narrowedTo}.` : '';
  return problem.notFound('workspace', workspaceId, hint);
}

const audited = (row: WorkspaceEntity) => ({
  type: 'workspace' as const,
  id: row.workspace_id,
  workspaceId: row.workspace_id,
});

const versionedView = (row: WorkspaceEntity): Versioned<WorkspaceDto> => ({
  view: toWorkspaceDto(row),
  version: row.generation,
});

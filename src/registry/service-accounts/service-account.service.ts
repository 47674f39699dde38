import { Injectable } from '@nestjs/common';
import { AccountChanges, EVERY_WORKSPACE, type OrgScope, reduceRoles } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { checkIfMatch, checkValues, patchMetadata, type Versioned } from '#platform/http';
import { toRawJson } from '#platform/json';
import { newId } from '#platform/ids';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import {
  checkGrant,
  checkHoldsAll,
  checkKeepsOwn,
  checkManages,
  type Holding,
  NOTHING,
} from '../accounts/grants';
import { changesOf, checkLive } from '../shared/change';
import { AuditLog, changesTold, given } from '../audit/audit-log';
import { MemberRepository } from '../workspaces/member.repository';
import { WorkspacesRepository } from '../workspaces/workspace.repository';
import {
  type CreateServiceAccountDto,
  type PatchServiceAccountDto,
  type ServiceAccountDto,
  type ServiceAccountListQueryDto,
  toServiceAccountDto,
} from './service-account.dto';
import type { ServiceAccountEntity } from './service-account.entity';
import { ServiceAccountRepository } from './service-account.repository';

/** The programs that act in an organization. */
@Injectable()
export class ServiceAccountService {
  constructor(
    private readonly changes: AccountChanges,
    private readonly serviceAccounts: ServiceAccountRepository,
    private readonly workspaces: WorkspacesRepository,
    private readonly members: MemberRepository,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Errors: 400 for an unknown workspace, 403 for a role or workspace that the caller lacks, 409 for a name that is
   * taken or a workspace that is archived.
   */
  create(scope: OrgScope, dto: CreateServiceAccountDto): Promise<Versioned<ServiceAccountDto>> {
    return this.changes.within(scope.orgId, async (tx) => {
      const holding = { roles: dto.roles ?? [], workspaceIds: dto.workspace_ids ?? [] };
      await this.checkHolding(tx, scope, NOTHING, holding);
      return versionedView(await this.insert(tx, scope, dto));
    });
  }

  async insert(
    on: SqlExecutor,
    scope: OrgScope,
    dto: CreateServiceAccountDto,
  ): Promise<ServiceAccountEntity> {
    const now = new Date();
    const row: ServiceAccountEntity = {
      service_account_id: newId('sva'),
      org_id: scope.orgId,
      name: dto.name,
      description: dto.description ?? null,
      status: dto.status ?? 'active',
      roles: reduceRoles(dto.roles ?? []),
      workspace_ids: dto.workspace_ids ?? [],
      metadata: toRawJson(dto.metadata ?? {}),
      generation: 1,
      created_at: now,
      updated_at: now,
      created_by: scope.principalId,
      archived_at: null,
    };
    await this.serviceAccounts.insert(row, on);
    const { name, roles, workspace_ids } = row;
    await this.audit.record(on, scope, {
      ...audited(row),
      action: 'create',
      changes: given({ name, roles, workspace_ids }),
    });
    return row;
  }

  async get(scope: OrgScope, id: string): Promise<Versioned<ServiceAccountDto>> {
    const row = await this.serviceAccounts.find(scope, id);
    if (!row) throw problem.notFound('service account', id);
    return versionedView(row);
  }

  async list(scope: OrgScope, query: ServiceAccountListQueryDto): Promise<Page<ServiceAccountDto>> {
    const { rows, page } = await this.serviceAccounts.list(scope, query);
    return { items: rows.map(toServiceAccountDto), page };
  }

  /**
   * Errors: 404, 412 for a stale `If-Match`, 409 when archived, the name is taken, or the caller would lose something by
   * it, 422 for an unknown role or status, 400 for an unknown workspace, 403 for a role or workspace that the caller lacks, where the account
   * reaches a workspace of which the caller is not admin, or where it is suspended or reinstated by a caller who
   * lacks a role that it holds.
   */
  patch(
    scope: OrgScope,
    id: string,
    dto: PatchServiceAccountDto,
    ifMatch?: string,
  ): Promise<Versioned<ServiceAccountDto>> {
    return this.changes.within(scope.orgId, async (tx) => {
      const row = await this.lockManaged(tx, scope, id);
      checkIfMatch(ifMatch, row.generation);
      checkLive(row, 'service account');
      checkValues(dto);
      const roles = dto.roles === undefined ? row.roles : reduceRoles(dto.roles ?? []);
      const workspaceIds = dto.workspace_ids === undefined ? row.workspace_ids : (dto.workspace_ids ?? []);
      await this.checkHolding(tx, scope, holdingOf(row), { roles, workspaceIds });
      checkKeepsOwn(scope, ownedBy(row), { status: dto.status ?? row.status, roles, workspaceIds });
      const changes = changesOf(row, {
        name: dto.name,
        description: dto.description,
        status: dto.status,
        roles,
        workspace_ids: workspaceIds,
        metadata: dto.metadata === undefined ? undefined : patchMetadata(row.metadata, dto.metadata),
      });
      if (changes?.status !== undefined) await this.checkHoldsAll(tx, scope, row);
      if (!changes) return versionedView(row);
      await this.serviceAccounts.update(tx, scope, id, changes);
      const told = changesTold(row, changes, ['name', 'status', 'roles', 'workspace_ids']);
      await this.audit.record(tx, scope, { ...audited(row), action: 'update', changes: told });
      return versionedView(Object.assign(row, changes));
    });
  }

  /**
   * Archives a service account, whose keys and tokens are refused from then on; repeated, it answers the same. 403
   * where it reaches a workspace of which the caller is not admin, or holds a role that the caller lacks; 409 where it
   * is the caller.
   */
  archive(scope: OrgScope, id: string, ifMatch?: string): Promise<Versioned<ServiceAccountDto>> {
    return this.changes.within(scope.orgId, async (tx) => {
      const row = await this.lockManaged(tx, scope, id);
      if (row.archived_at) return versionedView(row);
      checkIfMatch(ifMatch, row.generation);
      await this.checkHoldsAll(tx, scope, row);
      checkKeepsOwn(scope, ownedBy(row), { ...ownedBy(row), status: 'archived' });
      const changes = changesOf(row, { archived_at: new Date() });
      if (!changes) return versionedView(row);
      await this.serviceAccounts.update(tx, scope, id, changes);
      await this.audit.record(tx, scope, { ...audited(row), action: 'archive' });
      return versionedView(Object.assign(row, changes));
    });
  }

  /** Locks a service account until the transaction ends; 404 without one. */
  async lock(tx: Tx, scope: OrgScope, id: string): Promise<ServiceAccountEntity> {
    const row = await this.serviceAccounts.lock(tx, scope, id, 'update');
    if (!row) throw problem.notFound('service account', id);
    return row;
  }

  /** The same, for those who may manage it; 403 for others. */
  async lockManaged(tx: Tx, scope: OrgScope, id: string): Promise<ServiceAccountEntity> {
    const row = await this.lock(tx, scope, id);
    const memberships = await this.members.findAllOf(scope, id, tx);
    checkManages(scope, [...row.workspace_ids, ...memberships.map(({ workspace_id }) => workspace_id)]);
    return row;
  }

  /** 403 unless the caller holds every role that a service account holds, by itself or as a member, where it does. */
  async checkHoldsAll(tx: Tx, scope: OrgScope, row: ServiceAccountEntity): Promise<void> {
    const memberships = await this.members.findAllOf(scope, row.service_account_id, tx);
    checkHoldsAll(scope, holdingOf(row), memberships);
  }

  private async checkHolding(tx: Tx, scope: OrgScope, before: Holding, after: Holding): Promise<void> {
    if (after.workspaceIds.length > 1 && after.workspaceIds.includes(EVERY_WORKSPACE)) {
      const detail = `${EVERY_WORKSPACE} stands for every workspace, so it stands alone`;
      throw problem.invalidFields([{ pointer: '/workspace_ids', detail }]);
    }
    const had = new Set(before.workspaceIds);
    const added = after.workspaceIds.filter((id) => id !== EVERY_WORKSPACE && !had.has(id));
    const found = added.length > 0 ? await this.workspaces.findAmong(scope, added, tx) : [];
    const known = new Set(found.map(({ workspace_id }) => workspace_id));
    const unknown = added.find((id) => !known.has(id));
    if (unknown !== undefined) {
      throw problem.invalidFields([
        {
          pointer: `/workspace_ids/${after.workspaceIds.indexOf(unknown)}`,
          detail: 'is not a workspace of the organization',
        },
      ]);
    }
    checkGrant(scope, before, after);
    const archived = found.find((one) => one.archived);
    if (archived) throw problem.conflict(`The workspace ${archived.workspace_id} is archived.`);
  }
}

/** What a service account holds by itself, without its memberships. */
const holdingOf = (row: ServiceAccountEntity): Holding => ({
  roles: row.roles,
  workspaceIds: row.workspace_ids,
});

const ownedBy = (row: ServiceAccountEntity) => ({
  id: row.service_account_id,
  status: row.status,
  ...holdingOf(row),
});

const audited = (row: ServiceAccountEntity) => ({
  type: 'service_account' as const,
  id: row.service_account_id,
  workspaceId: null,
});

const versionedView = (row: ServiceAccountEntity): Versioned<ServiceAccountDto> => ({
  view: toServiceAccountDto(row),
  version: row.generation,
});

import { Injectable } from '@nestjs/common';
import { AccountChanges, EVERY_WORKSPACE, type OrgScope, reduceRoles } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { type ResourceKind, ResourceKit, stamps } from '../../resources';
import { AccountService } from '../accounts/account.service';
import {
  checkGrant,
  checkHoldsMemberships,
  checkOwnAccount,
  checkManages,
  type Holding,
  NOTHING,
} from '../accounts/grants';
import { MemberRepository } from '../workspaces/member.repository';
import {
  type CreateServiceAccountDto,
  type PatchServiceAccountDto,
  type ServiceAccountDto,
  type ServiceAccountListQueryDto,
  toServiceAccountDto,
} from './service-account.dto';
import type { ServiceAccountEntity } from './service-account.entity';
import { ServiceAccountRepository } from './service-account.repository';
import { WorkspaceRepository } from '../workspaces/workspace.repository';

const SERVICE_ACCOUNT: ResourceKind<ServiceAccountEntity, ServiceAccountDto> = {
  noun: 'service account',
  type: 'service_account',
  id: 'service_account_id',
  generation: 'generation',
  immutable: ['service_account_id'],
  auditedFields: ['name', 'status', 'roles', 'workspace_ids'],
  createdFields: ['name', 'roles', 'workspace_ids'],
  unique: { constraint: 'service_accounts_name', field: 'name', within: 'organization' },
  toView: toServiceAccountDto,
};

/** Manages service accounts. To change one, the caller must be admin in every workspace that the account can access. */
@Injectable()
export class ServiceAccountService extends AccountService<ServiceAccountEntity, ServiceAccountDto> {
  constructor(
    kit: ResourceKit,
    changes: AccountChanges,
    private readonly serviceAccounts: ServiceAccountRepository,
    private readonly workspaces: WorkspaceRepository,
    private readonly members: MemberRepository,
  ) {
    super(kit, changes, serviceAccounts, SERVICE_ACCOUNT);
  }

  /**
   * Creates a service account. Errors: 400 for an unknown workspace, 403 for a role or workspace that the caller does not hold,
   * 409 for a name that is taken or a workspace that is archived.
   */
  create(scope: OrgScope, dto: CreateServiceAccountDto): Promise<Versioned<ServiceAccountDto>> {
    return this.transaction(scope, async (tx) => {
      const holding = { roles: dto.roles ?? [], workspaceIds: dto.workspace_ids ?? [] };
      const added = await this.findAdded(tx, scope, NOTHING, holding);
      checkGrant(scope, NOTHING, holding);
      checkNoneArchived(added);
      return this.versioned(await this.add(tx, scope, dto));
    });
  }

  add(tx: Tx, scope: OrgScope, dto: CreateServiceAccountDto): Promise<ServiceAccountEntity> {
    return this.insert(tx, scope, newRow(scope, dto));
  }

  /**
   * Creates a service account for another area. That area must have checked that the caller may grant the roles. Errors: 409
   * for a name that is taken.
   */
  async provide(tx: Tx, scope: OrgScope, dto: CreateServiceAccountDto): Promise<ServiceAccountEntity> {
    const row = newRow(scope, dto);
    await this.checkNameFree(tx, scope, row);
    return this.insert(tx, scope, row);
  }

  /** Renames a service account for the area that created it. Errors: 403, 409 for a name that is taken. */
  async rename(tx: Tx, scope: OrgScope, id: string, name: string): Promise<void> {
    const row = await this.lockManaged(tx, scope, id);
    await this.checkNameFree(tx, scope, { ...row, name });
    await this.write(tx, scope, row, { name }, 'update');
  }

  /**
   * Archives a service account for the area that created it. Idempotent. Errors: 403 unless the caller is admin in every
   * workspace that the account can access.
   */
  async retire(tx: Tx, scope: OrgScope, id: string): Promise<void> {
    const row = await this.lockManaged(tx, scope, id);
    if (row.archived_at) return;
    await this.write(tx, scope, row, { archived_at: new Date() }, 'archive');
  }

  async list(scope: OrgScope, query: ServiceAccountListQueryDto): Promise<Page<ServiceAccountDto>> {
    return this.page(await this.serviceAccounts.list(scope, query));
  }

  /**
   * Changes a service account. Errors: 400 for an unknown workspace; 403 if the caller grants or revokes a role or workspace
   * that they do not hold, or suspends or reinstates an account that holds such a role; 409 if callers would weaken their own
   * account; and the errors of every change.
   */
  patch(
    scope: OrgScope,
    id: string,
    dto: PatchServiceAccountDto,
    ifMatch?: string,
  ): Promise<Versioned<ServiceAccountDto>> {
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'update');
      const roles = dto.roles === undefined ? row.roles : reduceRoles(dto.roles ?? []);
      const workspaceIds = dto.workspace_ids === undefined ? row.workspace_ids : (dto.workspace_ids ?? []);
      const status = dto.status ?? row.status;
      const added = await this.findAdded(tx, scope, holdingOf(row), { roles, workspaceIds });
      const columns = {
        name: dto.name,
        description: dto.description,
        status,
        roles,
        workspace_ids: workspaceIds,
        metadata: patchMetadata(row.metadata, dto.metadata),
      };
      await this.checkChange(tx, scope, row, dto, ifMatch);
      checkGrant(scope, holdingOf(row), { roles, workspaceIds });
      checkNoneArchived(added);
      checkOwnAccount(scope, accountOf(row), { status, roles, workspaceIds });
      if (status !== row.status) await this.checkHoldsAll(tx, scope, row);
      return this.versioned(await this.write(tx, scope, row, columns, 'update'));
    });
  }

  /** Locks a service account that the caller manages. Errors: 404, 403. */
  lockManaged(tx: Tx, scope: OrgScope, id: string): Promise<ServiceAccountEntity> {
    return this.lock(tx, scope, id, 'update');
  }

  /** Restores the roles and workspaces of a service account. */
  async reinstate(
    tx: Tx,
    scope: OrgScope,
    id: string,
    holding: Pick<ServiceAccountEntity, 'roles' | 'workspace_ids'>,
  ): Promise<void> {
    const row = await this.lockManaged(tx, scope, id);
    this.checkWritable(row);
    await this.write(tx, scope, row, holding, 'update');
  }

  /** Throws 403 unless the caller holds every role that a service account holds, directly or through memberships. */
  async checkHoldsAll(tx: Tx, scope: OrgScope, row: ServiceAccountEntity): Promise<void> {
    checkGrant(scope, NOTHING, holdingOf(row));
    checkHoldsMemberships(scope, await this.members.findAllOf(scope, row.service_account_id, tx));
  }

  /** From then on, the account's keys and tokens are rejected. */
  protected override async onArchive(tx: Tx, scope: OrgScope, row: ServiceAccountEntity) {
    await this.checkHoldsAll(tx, scope, row);
    checkOwnAccount(scope, accountOf(row), { ...accountOf(row), status: 'archived' });
    return {};
  }

  /** From then on, the account's keys work again, except revoked ones. */
  protected override async onRestore(tx: Tx, scope: OrgScope, row: ServiceAccountEntity) {
    await this.checkHoldsAll(tx, scope, row);
    return {};
  }

  /** Deletes its keys and memberships with it. */
  protected override async onDelete(tx: Tx, scope: OrgScope, row: ServiceAccountEntity): Promise<void> {
    await this.checkHoldsAll(tx, scope, row);
    await this.members.removeAllOf(tx, scope, row.service_account_id);
  }

  protected override async admit(
    tx: Tx,
    scope: OrgScope,
    row: ServiceAccountEntity | null,
    id: string,
  ): Promise<ServiceAccountEntity> {
    const account = this.readable(scope, row, id);
    const memberships = await this.members.findAllOf(scope, id, tx);
    checkManages(scope, [...account.workspace_ids, ...memberships.map(({ workspace_id }) => workspace_id)]);
    return account;
  }

  /** Returns the workspaces that `after` adds to `before`. Errors: 400 for unknown ones. */
  private async findAdded(
    tx: Tx,
    scope: OrgScope,
    before: Holding,
    after: Holding,
  ): Promise<AddedWorkspace[]> {
    if (after.workspaceIds.length > 1 && after.workspaceIds.includes(EVERY_WORKSPACE)) {
      const detail = `must not contain other workspaces if it contains "${EVERY_WORKSPACE}", which means every workspace`;
      throw problem.invalidField('/workspace_ids', detail);
    }
    const oldIds = new Set(before.workspaceIds);
    const added = after.workspaceIds.filter((id) => id !== EVERY_WORKSPACE && !oldIds.has(id));
    const workspaces = added.length > 0 ? await this.workspaces.findByIds(scope, added, tx) : [];
    const unknown = added.find((id) => !workspaces.some(({ workspace_id }) => workspace_id === id));
    if (unknown !== undefined) {
      const pointer = `/workspace_ids/${after.workspaceIds.indexOf(unknown)}`;
      throw problem.invalidField(pointer, 'is not a workspace of the organization');
    }
    return workspaces;
  }
}

const newRow = (scope: OrgScope, dto: CreateServiceAccountDto): ServiceAccountEntity => ({
  ...stamps(scope),
  service_account_id: newId('sva'),
  org_id: scope.orgId,
  name: dto.name,
  description: dto.description ?? null,
  status: dto.status ?? 'active',
  roles: reduceRoles(dto.roles ?? []),
  workspace_ids: dto.workspace_ids ?? [],
  metadata: toRawJson(dto.metadata ?? {}),
  generation: 1,
});

interface AddedWorkspace {
  workspace_id: string;
  archived: boolean;
}

/** Throws 409 if a workspace is archived. */
function checkNoneArchived(added: readonly AddedWorkspace[]): void {
  const archived = added.find((workspace) => workspace.archived);
  if (archived)
    throw problem.conflict(
      `The workspace ${archived.workspace_id} is archived. Restore it first, or leave it out.`,
    );
}

/** Returns the roles and workspaces that a service account holds directly, without its memberships. */
const holdingOf = (row: ServiceAccountEntity): Holding => ({
  roles: row.roles,
  workspaceIds: row.workspace_ids,
});

const accountOf = (row: ServiceAccountEntity) => ({
  id: row.service_account_id,
  status: row.status,
  ...holdingOf(row),
});

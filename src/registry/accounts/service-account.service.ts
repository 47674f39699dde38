import { Injectable } from '@nestjs/common';
import { AccountChanges, EVERY_WORKSPACE, type OrgScope, reduceRoles } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { type ResourceKind, ResourceKit, stamps } from '../../resources';
import { AccountService } from './account.service';
import {
  checkGrant,
  checkHoldsMemberships,
  checkKeepsOwn,
  checkManages,
  type Holding,
  NOTHING,
} from './grants';
import { MemberRepository } from './member.repository';
import {
  type CreateServiceAccountDto,
  type PatchServiceAccountDto,
  type ServiceAccountDto,
  type ServiceAccountListQueryDto,
  toServiceAccountDto,
} from './service-account.dto';
import type { ServiceAccountEntity } from './service-account.entity';
import { ServiceAccountRepository } from './service-account.repository';
import { WorkspacesRepository } from './workspace.repository';

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

/** The programs that act in an organization. Whoever changes one must be admin of every workspace that it reaches. */
@Injectable()
export class ServiceAccountService extends AccountService<ServiceAccountEntity, ServiceAccountDto> {
  constructor(
    kit: ResourceKit,
    changes: AccountChanges,
    private readonly serviceAccounts: ServiceAccountRepository,
    private readonly workspaces: WorkspacesRepository,
    private readonly members: MemberRepository,
  ) {
    super(kit, changes, serviceAccounts, SERVICE_ACCOUNT);
  }

  /**
   * Errors: 400 for an unknown workspace, 403 for a role or workspace that the caller lacks, 409 for a name that is
   * taken or a workspace that is archived.
   */
  create(scope: OrgScope, dto: CreateServiceAccountDto): Promise<Versioned<ServiceAccountDto>> {
    return this.transaction(scope, async (tx) => {
      const holding = { roles: dto.roles ?? [], workspaceIds: dto.workspace_ids ?? [] };
      const added = await this.findAdded(tx, scope, NOTHING, holding);
      checkGrant(scope, NOTHING, holding);
      checkOpen(added);
      return this.versioned(await this.add(tx, scope, dto));
    });
  }

  add(tx: Tx, scope: OrgScope, dto: CreateServiceAccountDto): Promise<ServiceAccountEntity> {
    return this.insert(tx, scope, newRow(scope, dto));
  }

  /**
   * Creates a service account for another area, which has checked what the caller may grant. Errors: 409 for a name that
   * is taken.
   */
  async provide(tx: Tx, scope: OrgScope, dto: CreateServiceAccountDto): Promise<ServiceAccountEntity> {
    const row = newRow(scope, dto);
    await this.checkNameFree(tx, scope, row);
    return this.insert(tx, scope, row);
  }

  /** Renames a service account for the area that it was made for. Errors: 403, 409 for a name that is taken. */
  async rename(tx: Tx, scope: OrgScope, id: string, name: string): Promise<void> {
    const row = await this.lockManaged(tx, scope, id);
    await this.checkNameFree(tx, scope, { ...row, name });
    await this.write(tx, scope, row, { name }, 'update');
  }

  /**
   * Archives a service account for the area that it was made for. A repeat changes nothing. Errors: 403 unless the caller is
   * admin of every workspace that it reaches.
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
   * Errors: 400 for an unknown workspace; 403 for a role or workspace that the caller lacks and gives or takes, or a role
   * of an account that they suspend or reinstate; 409 for callers who would weaken their own account; those of every
   * change.
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
      checkOpen(added);
      checkKeepsOwn(scope, accountOf(row), { status, roles, workspaceIds });
      if (status !== row.status) await this.checkHoldsAll(tx, scope, row);
      return this.versioned(await this.write(tx, scope, row, columns, 'update'));
    });
  }

  /** Locks a service account that the caller manages. Errors: 404, 403. */
  lockManaged(tx: Tx, scope: OrgScope, id: string): Promise<ServiceAccountEntity> {
    return this.lock(tx, scope, id, 'update');
  }

  /** Gives a service account these roles and workspaces again. */
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

  /** Throws 403 unless the caller holds every role that a service account holds, by itself or as a member. */
  async checkHoldsAll(tx: Tx, scope: OrgScope, row: ServiceAccountEntity): Promise<void> {
    checkGrant(scope, NOTHING, holdingOf(row));
    checkHoldsMemberships(scope, await this.members.findAllOf(scope, row.service_account_id, tx));
  }

  /** Its keys and tokens are refused from then on. */
  protected override async onArchive(tx: Tx, scope: OrgScope, row: ServiceAccountEntity) {
    await this.checkHoldsAll(tx, scope, row);
    checkKeepsOwn(scope, accountOf(row), { ...accountOf(row), status: 'archived' });
    return {};
  }

  /** Its keys work again, except revoked ones. */
  protected override async onRestore(tx: Tx, scope: OrgScope, row: ServiceAccountEntity) {
    await this.checkHoldsAll(tx, scope, row);
    return {};
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

  /** Returns the workspaces that are added to a holding. Errors: 400 for unknown ones. */
  private async findAdded(
    tx: Tx,
    scope: OrgScope,
    before: Holding,
    after: Holding,
  ): Promise<AddedWorkspace[]> {
    if (after.workspaceIds.length > 1 && after.workspaceIds.includes(EVERY_WORKSPACE)) {
      const detail = `must not list other workspaces beside "${EVERY_WORKSPACE}", which means all of them`;
      throw problem.invalidFields([{ pointer: '/workspace_ids', detail }]);
    }
    const had = new Set(before.workspaceIds);
    const added = after.workspaceIds.filter((id) => id !== EVERY_WORKSPACE && !had.has(id));
    const known = added.length > 0 ? await this.workspaces.findAmong(scope, added, tx) : [];
    const unknown = added.find((id) => !known.some(({ workspace_id }) => workspace_id === id));
    if (unknown !== undefined) {
      const pointer = `/workspace_ids/${after.workspaceIds.indexOf(unknown)}`;
      throw problem.invalidFields([{ pointer, detail: 'is not a workspace of the organization' }]);
    }
    return known;
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

/** Throws 409 for an archived workspace. */
function checkOpen(added: readonly AddedWorkspace[]): void {
  const archived = added.find((one) => one.archived);
  if (archived) throw problem.conflict(`The workspace ${archived.workspace_id} is archived.`);
}

/** Returns what a service account holds by itself, without its memberships. */
const holdingOf = (row: ServiceAccountEntity): Holding => ({
  roles: row.roles,
  workspaceIds: row.workspace_ids,
});

const accountOf = (row: ServiceAccountEntity) => ({
  id: row.service_account_id,
  status: row.status,
  ...holdingOf(row),
});

import { Injectable } from '@nestjs/common';
import { AccountChanges, type OrgScope, reduceRoles } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { type Deletion, type ResourceKind, ResourceKit, stamps } from '../../resources';
import { AccountService } from '../accounts/account.service';
import { checkHoldsMemberships, checkOwnAccount, checkRoles } from '../accounts/grants';
import { MemberRepository } from '../workspaces/member.repository';
import {
  type CreateUserDto,
  type PatchUserDto,
  toUserDto,
  type UserDto,
  type UserListQueryDto,
} from './user.dto';
import type { UserEntity } from './user.entity';
import { UserRepository } from './user.repository';

const USER: ResourceKind<UserEntity, UserDto> = {
  noun: 'user',
  type: 'user',
  id: 'user_id',
  generation: 'generation',
  immutable: ['user_id'],
  auditedFields: ['display_name', 'status', 'roles'],
  createdFields: ['display_name', 'roles'],
  unique: { constraint: 'users_user_id', field: 'user_id', within: 'organization' },
  toView: toUserDto,
};

const IN_ORG = 'in the whole organization';

/** Manages the people of an organization. */
@Injectable()
export class UserService extends AccountService<UserEntity, UserDto> {
  constructor(
    kit: ResourceKit,
    changes: AccountChanges,
    private readonly users: UserRepository,
    private readonly members: MemberRepository,
  ) {
    super(kit, changes, users, USER);
  }

  /** Adds a user. Errors: 403 for a role that the caller does not hold, 409 for a `user_id` that already exists. */
  async create(scope: OrgScope, dto: CreateUserDto): Promise<Versioned<UserDto>> {
    checkRoles(scope.rolesEverywhere, [], dto.roles ?? [], IN_ORG);
    return this.transaction(scope, async (tx) => this.versioned(await this.add(tx, scope, dto)));
  }

  add(tx: Tx, scope: OrgScope, dto: CreateUserDto): Promise<UserEntity> {
    return this.insert(tx, scope, {
      ...stamps(scope),
      user_ref: newId('usr'),
      org_id: scope.orgId,
      user_id: dto.user_id,
      display_name: dto.display_name ?? null,
      email: dto.email ?? null,
      status: dto.status ?? 'active',
      roles: reduceRoles(dto.roles ?? []),
      metadata: toRawJson(dto.metadata ?? {}),
      generation: 1,
    });
  }

  async list(scope: OrgScope, query: UserListQueryDto): Promise<Page<UserDto>> {
    return this.page(await this.users.list(scope, query));
  }

  /**
   * Changes a user. Errors: 403 if the caller grants or revokes a role that they do not hold, or suspends or reinstates a user
   * who holds such a role; 409 if callers would weaken their own account; and the errors of every change.
   */
  patch(scope: OrgScope, userId: string, dto: PatchUserDto, ifMatch?: string): Promise<Versioned<UserDto>> {
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, userId, 'update');
      const metadata = patchMetadata(row.metadata, dto.metadata);
      await this.checkChange(tx, scope, row, dto, ifMatch);
      if (dto.roles !== undefined) checkRoles(scope.rolesEverywhere, row.roles, dto.roles ?? [], IN_ORG);
      const roles = dto.roles === undefined ? row.roles : reduceRoles(dto.roles ?? []);
      const status = dto.status ?? row.status;
      const own = { id: row.user_id, status: row.status, roles: row.roles, workspaceIds: [] };
      checkOwnAccount(scope, own, { status, roles, workspaceIds: [] });
      if (status !== row.status) await this.checkHoldsAll(tx, scope, row);
      const columns = {
        display_name: dto.display_name,
        email: dto.email,
        status,
        roles,
        metadata,
      };
      return this.versioned(await this.write(tx, scope, row, columns, 'update'));
    });
  }

  /** Users have no archive route that must come first. Throws 409 for the caller. */
  protected override async lockToDelete(
    tx: Tx,
    scope: OrgScope,
    userId: string,
    how: Deletion,
  ): Promise<UserEntity> {
    const row = await super.lockToDelete(tx, scope, userId, how);
    if (row.user_id === scope.principalId) {
      throw problem.conflict('You cannot delete your own account. Ask another admin.');
    }
    return row;
  }

  protected override checkDeletable(): void {}

  /** Deletes the user's memberships. What the user has created stays. */
  protected override async onDelete(tx: Tx, scope: OrgScope, row: UserEntity): Promise<void> {
    await this.checkHoldsAll(tx, scope, row);
    await this.members.removeAllOf(tx, scope, row.user_id);
  }

  private async checkHoldsAll(tx: Tx, scope: OrgScope, row: UserEntity): Promise<void> {
    checkRoles(scope.rolesEverywhere, [], row.roles, IN_ORG);
    checkHoldsMemberships(scope, await this.members.findAllOf(scope, row.user_id, tx));
  }
}

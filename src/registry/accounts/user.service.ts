import { Injectable } from '@nestjs/common';
import { AccountChanges, type OrgScope, reduceRoles } from '#platform/auth';
import type { Tx } from '#platform/db';
import { checkIfMatch, checkValues, patchMetadata, type Versioned } from '#platform/http';
import { toRawJson } from '#platform/json';
import { newId } from '#platform/ids';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { changesOf, checkLive } from '../shared/change';
import { MemberRepository } from '../workspaces/member.repository';
import { type Actor, AuditLog, changesTold, given } from '../audit/audit-log';
import { checkKeepsOwn, checkRoles } from './grants';
import {
  type CreateUserDto,
  type PatchUserDto,
  toUserDto,
  type UserDto,
  type UserListQueryDto,
} from './user.dto';
import type { UserEntity } from './user.entity';
import { UserRepository } from './user.repository';

const IN_ORG = 'in all of the organization';

/** The people of an organization. */
@Injectable()
export class UserService {
  constructor(
    private readonly changes: AccountChanges,
    private readonly users: UserRepository,
    private readonly members: MemberRepository,
    private readonly audit: AuditLog,
  ) {}

  /** Errors: 403 for a role the caller lacks, 409 for a `user_id` that is there already. */
  async create(scope: OrgScope, dto: CreateUserDto): Promise<Versioned<UserDto>> {
    checkRoles(scope.rolesEverywhere, [], dto.roles ?? [], IN_ORG);
    return this.changes.within(scope.orgId, async (tx) => versionedView(await this.insert(tx, scope, dto)));
  }

  /** The first owner of an organization that a platform principal makes. */
  async insertOwner(tx: Tx, actor: Actor, userId: string): Promise<void> {
    await this.insert(tx, actor, { user_id: userId, roles: ['owner'] });
  }

  async get(scope: OrgScope, userId: string): Promise<Versioned<UserDto>> {
    const row = await this.users.find(scope, userId);
    if (!row) throw problem.notFound('user', userId);
    return versionedView(row);
  }

  async list(scope: OrgScope, query: UserListQueryDto): Promise<Page<UserDto>> {
    const { rows, page } = await this.users.list(scope, query);
    return { items: rows.map(toUserDto), page };
  }

  /**
   * Errors: 404, 412 for a stale `If-Match`, 409 where the caller would lose something by it, 422 for unknown values, 403 for a role the caller lacks: one that is given
   * or taken, or that a person holds who is suspended or reinstated.
   */
  patch(scope: OrgScope, userId: string, dto: PatchUserDto, ifMatch?: string): Promise<Versioned<UserDto>> {
    return this.changes.within(scope.orgId, async (tx) => {
      const row = await this.users.lock(tx, scope, userId, 'update');
      if (!row) throw problem.notFound('user', userId);
      checkIfMatch(ifMatch, row.generation);
      checkLive(row, 'user');
      if (dto.user_id !== undefined && dto.user_id !== row.user_id) throw problem.immutableField('/user_id');
      checkValues(dto);
      if (dto.roles !== undefined) checkRoles(scope.rolesEverywhere, row.roles, dto.roles ?? [], IN_ORG);
      const roles = dto.roles === undefined ? row.roles : reduceRoles(dto.roles ?? []);
      const own = { id: row.user_id, status: row.status, roles: row.roles, workspaceIds: [] };
      checkKeepsOwn(scope, own, { status: dto.status ?? row.status, roles, workspaceIds: [] });
      const changes = changesOf(row, {
        display_name: dto.display_name,
        email: dto.email,
        status: dto.status,
        roles,
        metadata: dto.metadata === undefined ? undefined : patchMetadata(row.metadata, dto.metadata),
      });
      if (changes?.status !== undefined) await this.checkHoldsAll(tx, scope, row);
      if (!changes) return versionedView(row);
      await this.users.update(tx, scope, userId, changes);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'update',
        changes: changesTold(row, changes, ['display_name', 'status', 'roles']),
      });
      return versionedView(Object.assign(row, changes));
    });
  }

  /** 403 unless the caller holds every role that a person holds, in the organization or as a member of workspaces. */
  private async checkHoldsAll(tx: Tx, scope: OrgScope, row: UserEntity): Promise<void> {
    checkRoles(scope.rolesEverywhere, [], row.roles, IN_ORG);
    for (const { workspace_id, roles } of await this.members.findAllOf(scope, row.user_id, tx)) {
      // people are managed in all of the organization, also where the header narrows the request to one workspace
      const held = new Set([...scope.rolesEverywhere, ...scope.rolesIn(workspace_id)]);
      checkRoles(held, [], roles, `in the workspace ${workspace_id}`);
    }
  }

  private async insert(tx: Tx, actor: Actor, dto: CreateUserDto): Promise<UserEntity> {
    const now = new Date();
    const row: UserEntity = {
      user_ref: newId('usr'),
      org_id: actor.orgId,
      user_id: dto.user_id,
      display_name: dto.display_name ?? null,
      email: dto.email ?? null,
      status: dto.status ?? 'active',
      roles: reduceRoles(dto.roles ?? []),
      metadata: toRawJson(dto.metadata ?? {}),
      generation: 1,
      created_at: now,
      updated_at: now,
      created_by: actor.principalId,
      archived_at: null,
    };
    await this.users.insert(row, tx);
    await this.audit.record(tx, actor, {
      ...audited(row),
      action: 'create',
      changes: given({ display_name: row.display_name, roles: row.roles }),
    });
    return row;
  }
}

const audited = (row: UserEntity) => ({ type: 'user' as const, id: row.user_id, workspaceId: null });

const versionedView = (row: UserEntity): Versioned<UserDto> => ({
  view: toUserDto(row),
  version: row.generation,
});

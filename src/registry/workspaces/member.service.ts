import { orNotFound } from '#platform/problem';
import { Injectable } from '@nestjs/common';
import { AccountChanges, type OrgScope, reduceRoles, type Role } from '#platform/auth';
import type { Tx } from '#platform/db';
import { checkValues } from '#platform/http';
import { type Page, toPage } from '#platform/paging';
import { AuditLog, checkLive } from '../../resources';
import { checkRoles } from '../accounts/grants';
import { type MemberDto, type MemberListQueryDto, type PutMemberDto, toMemberDto } from './member.dto';
import type { MemberEntity } from './member.entity';
import { MemberRepository } from './member.repository';
import { PrincipalRepository, principalTypeOf } from '../accounts/principal.repository';
import { WorkspaceService } from './workspace.service';

/** Manages the members of workspaces and their roles. */
@Injectable()
export class MemberService {
  constructor(
    private readonly changes: AccountChanges,
    private readonly members: MemberRepository,
    private readonly workspaces: WorkspaceService,
    private readonly principals: PrincipalRepository,
    private readonly audit: AuditLog,
  ) {}

  async list(scope: OrgScope, workspaceId: string, query: MemberListQueryDto): Promise<Page<MemberDto>> {
    await this.workspaces.find(scope, workspaceId);
    return toPage(await this.members.list(scope, workspaceId, query), toMemberDto);
  }

  async get(scope: OrgScope, workspaceId: string, principalId: string): Promise<MemberDto> {
    await this.workspaces.find(scope, workspaceId);
    const row = await this.members.find(scope, workspaceId, principalId);
    return toMemberDto(orNotFound(row, 'member', principalId));
  }

  /**
   * Replaces the roles of a user or service account in a workspace. Setting the same roles again changes nothing. Errors:
   * 404 for an unknown workspace or principal, 403 without the role admin or for a role that the caller does not hold, 409 if
   * the workspace or the principal is archived, 422 for an unknown role.
   */
  put(
    scope: OrgScope,
    workspaceId: string,
    principalId: string,
    dto: PutMemberDto,
  ): Promise<{ member: MemberDto; isNew: boolean }> {
    return this.changes.run(scope.orgId, async (tx) => {
      const workspace = await this.workspaces.lockManaged(tx, scope, workspaceId);
      await this.checkPrincipal(tx, scope, principalId);
      checkLive(workspace, 'workspace');
      checkValues(dto);
      const current = await this.members.find(scope, workspaceId, principalId, tx);
      const before = current?.roles;
      checkRoles(scope.rolesIn(workspaceId), before ?? [], dto.roles, 'in the workspace');
      const after = reduceRoles(dto.roles);
      if (current && after.join() === current.roles.join()) {
        return { member: toMemberDto(current), isNew: false };
      }
      const row = await this.members.put(tx, scope, workspaceId, principalId, after);
      await this.record(tx, scope, row, current ? 'update' : 'create', { ...(before && { before }), after });
      return { member: toMemberDto(row), isNew: current === null };
    });
  }

  /** Removes a member. Errors: 404 for a principal that is not a member, and those of `put`. */
  remove(scope: OrgScope, workspaceId: string, principalId: string): Promise<void> {
    return this.changes.run(scope.orgId, async (tx) => {
      const workspace = await this.workspaces.lockManaged(tx, scope, workspaceId);
      const current = await this.members.find(scope, workspaceId, principalId, tx);
      const row = orNotFound(current, 'member', principalId);
      checkLive(workspace, 'workspace');
      checkRoles(scope.rolesIn(workspaceId), row.roles, [], 'in the workspace');
      await this.members.remove(tx, scope, workspaceId, principalId);
      await this.record(tx, scope, row, 'delete', { before: row.roles });
    });
  }

  private record(
    tx: Tx,
    scope: OrgScope,
    { workspace_id: workspaceId, principal_id: id }: MemberEntity,
    action: 'create' | 'update' | 'delete',
    roles: { before?: readonly Role[]; after?: readonly Role[] },
  ): Promise<void> {
    const changes = [{ member: 'roles', ...roles }];
    return this.audit.record(tx, scope, { action, type: 'member', id, workspaceId, changes });
  }

  private async checkPrincipal(tx: Tx, scope: OrgScope, principalId: string): Promise<void> {
    const principal = await this.principals.find(scope, principalId, tx);
    checkLive(
      orNotFound(principal, 'principal', principalId),
      principalTypeOf(principalId).replace('_', ' '),
    );
  }
}

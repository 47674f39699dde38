import { Injectable } from '@nestjs/common';
import { AccountChanges, type OrgScope, reduceRoles, type Role } from '#platform/auth';
import type { Tx } from '#platform/db';
import { checkValues } from '#platform/http';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { checkRoles } from '../accounts/grants';
import { AuditLog } from '../audit/audit-log';
import { UserRepository } from '../accounts/user.repository';
import { ServiceAccountRepository } from '../service-accounts/service-account.repository';
import { checkLive } from '../shared/change';
import { type MemberDto, type MemberListQueryDto, type PutMemberDto, toMemberDto } from './member.dto';
import type { MemberEntity } from './member.entity';
import { MemberRepository, principalTypeOf } from './member.repository';
import { WorkspaceService } from './workspace.service';

/** Who holds what in single workspaces. */
@Injectable()
export class MemberService {
  constructor(
    private readonly changes: AccountChanges,
    private readonly members: MemberRepository,
    private readonly workspaces: WorkspaceService,
    private readonly users: UserRepository,
    private readonly serviceAccounts: ServiceAccountRepository,
    private readonly audit: AuditLog,
  ) {}

  async list(scope: OrgScope, workspaceId: string, query: MemberListQueryDto): Promise<Page<MemberDto>> {
    await this.workspaces.get(scope, workspaceId);
    const { rows, page } = await this.members.list(scope, workspaceId, query);
    return { items: rows.map(toMemberDto), page };
  }

  async get(scope: OrgScope, workspaceId: string, principalId: string): Promise<MemberDto> {
    await this.workspaces.get(scope, workspaceId);
    const row = await this.members.find(scope, workspaceId, principalId);
    if (!row) throw problem.notFound('member', principalId);
    return toMemberDto(row);
  }

  /**
   * Gives a user or service account of the organization roles in a workspace, in place of those it has there; the same
   * ones again change nothing. Errors:
   * 404 for a workspace or principal that is not there, 403 without admin or for a role the caller lacks, 409 when
   * the workspace is archived, 422 for an unknown role.
   */
  put(
    scope: OrgScope,
    workspaceId: string,
    principalId: string,
    dto: PutMemberDto,
  ): Promise<{ member: MemberDto; isNew: boolean }> {
    return this.changes.within(scope.orgId, async (tx) => {
      const workspace = await this.workspaces.lock(tx, scope, workspaceId);
      await this.checkPrincipal(tx, scope, principalId);
      checkLive(workspace, 'workspace');
      checkValues(dto);
      const present = await this.members.find(scope, workspaceId, principalId, tx);
      this.checkGrant(scope, workspaceId, present, dto.roles);
      const roles = reduceRoles(dto.roles);
      if (present && roles.join() === present.roles.join())
        return { member: toMemberDto(present), isNew: false };
      const row = await this.members.put(tx, scope, {
        workspaceId,
        principalId,
        principalType: principalTypeOf(principalId),
        roles,
      });
      await this.audit.record(tx, scope, {
        ...audited(workspaceId, principalId),
        action: present ? 'update' : 'create',
        changes: [{ member: 'roles', ...(present && { before: present.roles }), after: row.roles }],
      });
      return { member: toMemberDto(row), isNew: present === null };
    });
  }

  /** Takes the roles in a workspace away. Errors as for `put`; 404 for one who is no member. */
  remove(scope: OrgScope, workspaceId: string, principalId: string): Promise<void> {
    return this.changes.within(scope.orgId, async (tx) => {
      const workspace = await this.workspaces.lock(tx, scope, workspaceId);
      const present = await this.members.find(scope, workspaceId, principalId, tx);
      if (!present) throw problem.notFound('member', principalId);
      checkLive(workspace, 'workspace');
      this.checkGrant(scope, workspaceId, present, []);
      await this.members.remove(tx, scope, workspaceId, principalId);
      await this.audit.record(tx, scope, {
        ...audited(workspaceId, principalId),
        action: 'delete',
        changes: [{ member: 'roles', before: present.roles }],
      });
    });
  }

  private checkGrant(
    scope: OrgScope,
    workspaceId: string,
    present: MemberEntity | null,
    roles: readonly Role[],
  ): void {
    checkRoles(scope.rolesIn(workspaceId), present?.roles ?? [], roles, 'in the workspace');
  }

  private async checkPrincipal(tx: Tx, scope: OrgScope, principalId: string): Promise<void> {
    const found =
      principalTypeOf(principalId) === 'user'
        ? await this.users.find(scope, principalId, tx)
        : await this.serviceAccounts.find(scope, principalId, tx);
    if (!found) throw problem.notFound('principal', principalId);
    checkLive(found, principalTypeOf(principalId).replace('_', ' '));
  }
}

const audited = (workspaceId: string, principalId: string) => ({
  type: 'member' as const,
  id: principalId,
  workspaceId,
});

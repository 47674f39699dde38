import { Injectable } from '@nestjs/common';
import type { OrgScope, Role } from '#platform/auth';
import { Database, type SqlExecutor, type Tx, Where } from '#platform/db';
import { listPage, type RowPage } from '#platform/paging';
import type { MemberListQueryDto } from './member.dto';
import { MemberEntity } from './member.entity';

export interface Membership {
  workspaceId: string;
  principalId: string;
  principalType: 'user' | 'service_account';
  roles: Role[];
}

/** Users' ids never begin like those of service accounts. */
export const principalTypeOf = (principalId: string): 'user' | 'service_account' =>
  principalId.startsWith('sva_') ? 'service_account' : 'user';

@Injectable()
export class MemberRepository {
  constructor(private readonly database: Database) {}

  find(
    scope: OrgScope,
    workspaceId: string,
    principalId: string,
    on: SqlExecutor = this.database,
  ): Promise<MemberEntity | null> {
    return on.manager.findOneBy(MemberEntity, {
      org_id: scope.orgId,
      workspace_id: workspaceId,
      principal_id: principalId,
    });
  }

  /** All that a principal is a member of. */
  findAllOf(scope: OrgScope, principalId: string, on: SqlExecutor): Promise<MemberEntity[]> {
    return on.manager.findBy(MemberEntity, { org_id: scope.orgId, principal_id: principalId });
  }

  /** By principal: members have no time of creation to page by that would stay, because PUT replaces them. */
  list(scope: OrgScope, workspaceId: string, query: MemberListQueryDto): Promise<RowPage<MemberEntity>> {
    const where = new Where(scope.orgKey).add('workspace_id = ?', workspaceId);
    return listPage<MemberEntity>(
      this.database,
      {
        columns: '*',
        from: 'workspace_members',
        where,
        id: 'principal_id',
        sorts: { principal_id: { expression: '' } },
        defaultSort: 'principal_id',
      },
      query,
    );
  }

  /** Writes a membership, new or not. */
  async put(tx: Tx, scope: OrgScope, membership: Membership): Promise<MemberEntity> {
    const [row] = await tx.query<MemberEntity>(
      `INSERT INTO workspace_members AS m
         (org_id, workspace_id, principal_id, principal_type, roles, created_by, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
       ON CONFLICT (workspace_id, principal_id) DO UPDATE SET roles = excluded.roles, updated_at = excluded.updated_at
         WHERE m.org_id = excluded.org_id
       RETURNING *`,
      [
        scope.orgId,
        membership.workspaceId,
        membership.principalId,
        membership.principalType,
        membership.roles,
        scope.principalId,
        new Date(),
      ],
    );
    return row!;
  }

  async remove(tx: Tx, scope: OrgScope, workspaceId: string, principalId: string): Promise<void> {
    await tx.manager.delete(MemberEntity, {
      org_id: scope.orgId,
      workspace_id: workspaceId,
      principal_id: principalId,
    });
  }
}

import { Injectable } from '@nestjs/common';
import type { OrgScope, Role } from '#platform/auth';
import { Database, sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { listPage, type RowPage } from '#platform/paging';
import type { MemberListQueryDto } from './member.dto';
import { MemberEntity } from './member.entity';
import { principalTypeOf } from '../accounts/principal.repository';

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

  /** Returns all memberships of a principal. */
  findAllOf(scope: OrgScope, principalId: string, on: SqlExecutor): Promise<MemberEntity[]> {
    return on.manager.findBy(MemberEntity, { org_id: scope.orgId, principal_id: principalId });
  }

  /** Lists by principal, because members have no id that sorts by creation. */
  list(scope: OrgScope, workspaceId: string, query: MemberListQueryDto): Promise<RowPage<MemberEntity>> {
    return listPage<MemberEntity>(
      this.database,
      {
        columns: '*',
        from: 'workspace_members',
        where: new Where(scope.orgKey).add(sql`workspace_id = ${workspaceId}`),
        id: 'principal_id',
        createdAt: 'created_at',
        sorts: { principal_id: { expression: '' } },
        defaultSort: 'principal_id',
      },
      query,
    );
  }

  /** Creates or replaces a membership. */
  async put(
    tx: Tx,
    scope: OrgScope,
    workspaceId: string,
    principalId: string,
    roles: readonly Role[],
  ): Promise<MemberEntity> {
    const now = new Date();
    const [row] = await tx.query<MemberEntity>(
      sql`INSERT INTO workspace_members AS m
          (org_id, workspace_id, principal_id, principal_type, roles, created_by, created_at, updated_at)
        VALUES (${scope.orgId}, ${workspaceId}, ${principalId}, ${principalTypeOf(principalId)}, ${roles},
          ${scope.principalId}, ${now}, ${now})
        ON CONFLICT (workspace_id, principal_id)
          DO UPDATE SET roles = excluded.roles, updated_at = excluded.updated_at WHERE m.org_id = excluded.org_id
        RETURNING *`,
    );
    return row!;
  }

  /** Removes all memberships of a principal. */
  async removeAllOf(tx: Tx, scope: OrgScope, principalId: string): Promise<void> {
    await tx.manager.delete(MemberEntity, { org_id: scope.orgId, principal_id: principalId });
  }

  async remove(tx: Tx, scope: OrgScope, workspaceId: string, principalId: string): Promise<void> {
    await tx.manager.delete(MemberEntity, {
      org_id: scope.orgId,
      workspace_id: workspaceId,
      principal_id: principalId,
    });
  }
}

import { Injectable } from '@nestjs/common';
import type { OrgScope, Role } from '#platform/auth';
import { Database, OrgScopedRepository, sql, type SqlExecutor, Where } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import type { WorkspaceListQueryDto } from './workspace.dto';
import { WorkspaceEntity } from './workspace.entity';

@Injectable()
export class WorkspaceRepository extends OrgScopedRepository<WorkspaceEntity> {
  constructor(database: Database) {
    super(database, WorkspaceEntity, 'workspace_id');
  }

  /** Lists the workspaces that the caller may read. */
  list(scope: OrgScope, query: WorkspaceListQueryDto): Promise<RowPage<WorkspaceEntity>> {
    const where = whereAccessible(scope, 'viewer')
      .addIndexed(query.name, (name) => sql`name COLLATE "C" = ${name}`)
      .addSearch(query.q);
    return listPage<WorkspaceEntity>(this.database, { ...this.listed, where, sorts: BY_NAME }, query);
  }

  /** Lists the workspaces in which the caller holds any role, by name, without archived ones. */
  listAccessible(scope: OrgScope, limit: number): Promise<Pick<WorkspaceEntity, 'workspace_id' | 'name'>[]> {
    const where = whereAccessible(scope).add(sql`archived_at IS NULL`);
    return this.database.query(
      sql`SELECT workspace_id, name FROM workspaces WHERE ${where.sql}
        ORDER BY name COLLATE "C", workspace_id LIMIT ${limit}`,
    );
  }

  /** Returns the organization's workspaces with these ids. */
  findByIds(
    scope: OrgScope,
    ids: readonly string[],
    on: SqlExecutor,
  ): Promise<{ workspace_id: string; archived: boolean }[]> {
    const where = new Where(scope.orgKey).add(sql`workspace_id = ANY (${ids})`);
    return on.query(
      sql`SELECT workspace_id, archived_at IS NOT NULL AS archived FROM workspaces WHERE ${where.sql}`,
    );
  }

  /** Returns the first workspace that a principal created. */
  findFirstBy(scope: OrgScope, createdBy: string, on: SqlExecutor): Promise<WorkspaceEntity | null> {
    return on.manager.findOne(WorkspaceEntity, {
      where: { org_id: scope.orgId, created_by: createdBy },
      order: { workspace_id: 'ASC' },
    });
  }
}

function whereAccessible(scope: OrgScope, role?: Role): Where {
  const where = new Where(scope.orgKey);
  const workspaceIds = scope.workspacesWith(role);
  return workspaceIds ? where.addScattered(sql`workspace_id = ANY (${[...workspaceIds]})`) : where;
}

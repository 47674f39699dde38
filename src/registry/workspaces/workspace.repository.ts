import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgRepository, type SqlExecutor, Where } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import { explainConstraint } from '#platform/problem';
import type { WorkspaceListQueryDto } from './workspace.dto';
import { WorkspaceEntity } from './workspace.entity';

explainConstraint('workspaces_name', 'conflict', 'The organization has a workspace of this name already.');

@Injectable()
export class WorkspacesRepository extends OrgRepository<WorkspaceEntity> {
  constructor(database: Database) {
    super(database, WorkspaceEntity, 'workspace_id');
  }

  /** Those in which the caller may read. */
  list(scope: OrgScope, query: WorkspaceListQueryDto): Promise<RowPage<WorkspaceEntity>> {
    const where = new Where(scope.orgKey).addIf(query.name, 'name = ?');
    const reached = scope.workspacesWith('viewer');
    if (reached) where.add('workspace_id = ANY (?)', [...reached]);
    where.addSearch(query.q);
    return listPage<WorkspaceEntity>(
      this.database,
      {
        columns: '*',
        from: 'workspaces',
        where,
        id: 'workspace_id',
        sorts: BY_NAME,
        archivedAt: 'archived_at',
      },
      query,
    );
  }

  /** Those in which the caller holds any role at all, by name. */
  listReached(scope: OrgScope, limit: number): Promise<Pick<WorkspaceEntity, 'workspace_id' | 'name'>[]> {
    const where = new Where(scope.orgKey).add('archived_at IS NULL');
    const reached = scope.workspacesWith();
    if (reached) where.add('workspace_id = ANY (?)', [...reached]);
    return this.database.query(
      `SELECT workspace_id, name FROM workspaces WHERE ${where.toString()}
       ORDER BY name COLLATE "C", workspace_id LIMIT ${where.parameter(limit)}`,
      where.values,
    );
  }

  /** Of these ids, those that are workspaces of the organization, each with whether it is archived. */
  findAmong(
    scope: OrgScope,
    ids: readonly string[],
    on: SqlExecutor,
  ): Promise<{ workspace_id: string; archived: boolean }[]> {
    const where = new Where(scope.orgKey).add('workspace_id = ANY (?)', ids);
    return on.query(
      `SELECT workspace_id, archived_at IS NOT NULL AS archived FROM workspaces WHERE ${where.toString()}`,
      where.values,
    );
  }

  /** The first workspace that a principal made. */
  findFirstBy(scope: OrgScope, createdBy: string, on: SqlExecutor): Promise<WorkspaceEntity | null> {
    return on.manager.findOne(WorkspaceEntity, {
      where: { org_id: scope.orgId, created_by: createdBy },
      order: { workspace_id: 'ASC' },
    });
  }
}

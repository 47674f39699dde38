import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, sql, Where } from '#platform/db';
import { listPage, type RowPage } from '#platform/paging';
import type { AuditEntryEntity } from '../../resources';
import type { AuditLogQueryDto } from './audit-log.dto';

@Injectable()
export class AuditLogListRepository {
  constructor(private readonly database: Database) {}

  /** Lists entries of the workspaces that the caller administers. Entries of no workspace need admin in the whole organization. */
  list(scope: OrgScope, query: AuditLogQueryDto): Promise<RowPage<AuditEntryEntity>> {
    const where = new Where(scope.orgKey);
    const administered = scope.workspacesWith('admin');
    if (administered) where.addScattered(sql`workspace_id = ANY (${[...administered]})`);
    where
      .addIndexed(query.workspace_id, (id) => sql`workspace_id = ${id}`)
      .addIndexed(query.principal_id, (id) => sql`principal_id = ${id}`)
      .addIndexed(query.action, (action) => sql`action = ${action}`)
      .addIndexed(query.resource_type, (type) => sql`resource_type = ${type}`)
      .addIndexed(query.resource_id, (id) => sql`resource_id = ${id}`);
    return listPage<AuditEntryEntity>(
      this.database,
      { columns: '*', from: 'audit_log', where, id: 'audit_entry_id', createdAt: 'created_at' },
      query,
    );
  }
}

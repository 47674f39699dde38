import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, type SqlExecutor, Where } from '#platform/db';
import { addCreated, listPage, type RowPage } from '#platform/paging';
import type { AuditLogQueryDto } from './audit-entry.dto';
import type { AuditEntryEntity } from './audit-entry.entity';

@Injectable()
export class AuditLogRepository {
  constructor(private readonly database: Database) {}

  /** Writes entries, which name their organization themselves, in one statement. */
  async insertMany(on: SqlExecutor, entries: readonly AuditEntryEntity[]): Promise<void> {
    await on.query('INSERT INTO audit_log SELECT * FROM jsonb_populate_recordset(NULL::audit_log, $1)', [
      JSON.stringify(entries),
    ]);
  }

  /** Of what the caller administers; what concerns all of the organization only where they administer all of it. */
  list(scope: OrgScope, query: AuditLogQueryDto): Promise<RowPage<AuditEntryEntity>> {
    const where = new Where(scope.orgKey);
    const administered = scope.workspacesWith('admin');
    if (administered) where.add('workspace_id = ANY (?)', [...administered]);
    where
      .addIf(query.workspace_id, 'workspace_id = ?')
      .addIf(query.principal_id, 'principal_id = ?')
      .addIf(query.action, 'action = ?')
      .addIf(query.resource_type, 'resource_type = ?')
      .addIf(query.resource_id, 'resource_id = ?');
    const times = { created_after: query.since, created_before: query.until };
    addCreated(where, { prefix: 'aud', id: 'audit_entry_id' }, times);
    return listPage<AuditEntryEntity>(
      this.database,
      { columns: '*', from: 'audit_log', where, id: 'audit_entry_id' },
      query,
    );
  }
}

import { replaceIndexes, SqlMigration } from './sql-migration';

/** Changes the audit log's index by resource type to the order of the list. */
export class RegistryAuditLogOrder1795460000040 extends SqlMigration {
  protected readonly sql = `
    CREATE INDEX new_audit_log_by_type ON audit_log (org_id, resource_type, audit_entry_id);
    ${replaceIndexes('audit_log_by_type')}
  `;
}

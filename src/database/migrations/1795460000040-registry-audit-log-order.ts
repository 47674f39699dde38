import { replaceIndexes, SqlMigration } from './sql-migration';

/** The index of the audit log by the type of resource is in the order of its list. */
export class RegistryAuditLogOrder1795460000040 extends SqlMigration {
  protected readonly sql = `
    CREATE INDEX new_audit_log_by_type ON audit_log (org_id, resource_type, audit_entry_id);
    ${replaceIndexes('audit_log_by_type')}
  `;
}

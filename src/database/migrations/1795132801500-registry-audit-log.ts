import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who changed what, and when; written in the transaction of the change. */
export class RegistryAuditLog1795132801500 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE audit_log (
        audit_entry_id text COLLATE "C" PRIMARY KEY,
        -- empty for what platform principals do for no organization
        org_id text COLLATE "C" NOT NULL,
        -- null for what concerns all of the organization
        workspace_id text COLLATE "C",
        principal_id text COLLATE "C" NOT NULL,
        action text COLLATE "C" NOT NULL,
        resource_type text COLLATE "C" NOT NULL,
        resource_id text COLLATE "C" NOT NULL,
        -- [{"member", "before"?, "after"?}], the values only of members that are never secret
        changes jsonb NOT NULL,
        request_id text,
        created_at timestamptz NOT NULL
      );
      CREATE INDEX audit_log_by_creation ON audit_log (org_id, audit_entry_id);
      CREATE INDEX audit_log_by_workspace ON audit_log (workspace_id, audit_entry_id);
      CREATE INDEX audit_log_by_principal ON audit_log (org_id, principal_id, audit_entry_id);
      CREATE INDEX audit_log_by_resource ON audit_log (org_id, resource_id, audit_entry_id);
      CREATE INDEX audit_log_by_type ON audit_log (org_id, resource_type, action, audit_entry_id);
      CREATE INDEX audit_log_by_action ON audit_log (org_id, action, audit_entry_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE audit_log');
  }
}

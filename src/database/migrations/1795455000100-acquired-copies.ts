import { SqlMigration } from './sql-migration';

const TABLES = ['agents', 'skills', 'mcp_servers', 'datasets', 'scorers'];

/** The origin of copies of published resources. */
export class AcquiredCopies1795455000100 extends SqlMigration {
  protected readonly sql = TABLES.map(
    (table) => `
    -- the store item, the release and the publisher's version that a copy was installed from; null for other resources
    ALTER TABLE ${table} ADD COLUMN acquired_from jsonb;
    CREATE INDEX ${table}_acquired ON ${table} (workspace_id, (acquired_from ->> 'artifact_id'))
      WHERE acquired_from IS NOT NULL AND archived_at IS NULL;`,
  ).join('\n');
}

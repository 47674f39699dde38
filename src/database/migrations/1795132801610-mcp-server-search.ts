import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Lists of MCP servers no longer find them by the query of their address, which may carry a key. Versions are listed by
 * number, for which there is the primary key.
 */
export class McpServerSearch1795132801610 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE mcp_servers DROP COLUMN search, ADD COLUMN search tsvector GENERATED ALWAYS AS (
        search_words(name || ' ' || split_part(url, '?', 1) || ' ' || coalesce(description, ''))
      ) STORED;
      CREATE INDEX mcp_servers_search ON mcp_servers USING gin (search);
      DROP INDEX mcp_server_versions_by_creation;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX mcp_server_versions_by_creation ON mcp_server_versions (server_id, version_id);
      ALTER TABLE mcp_servers DROP COLUMN search, ADD COLUMN search tsvector GENERATED ALWAYS AS (
        search_words(name || ' ' || url || ' ' || coalesce(description, ''))
      ) STORED;
      CREATE INDEX mcp_servers_search ON mcp_servers USING gin (search);
    `);
  }
}

import { SqlMigration } from './sql-migration';

/** MCP servers that need OAuth 2 client credentials. */
export class McpServerOauth1795456000300 extends SqlMigration {
  protected readonly sql = `
    ALTER TABLE mcp_servers
      ADD COLUMN auth_token_url text,
      ADD COLUMN auth_client_id text,
      ADD COLUMN auth_scope text,
      DROP CONSTRAINT mcp_servers_auth_type,
      ADD CONSTRAINT mcp_servers_auth_type CHECK (auth_type IN ('none', 'bearer', 'header', 'oauth')),
      ADD CONSTRAINT mcp_servers_auth_oauth CHECK (
        CASE WHEN auth_type = 'oauth' THEN auth_token_url IS NOT NULL AND auth_client_id IS NOT NULL
          ELSE auth_token_url IS NULL AND auth_client_id IS NULL AND auth_scope IS NULL END);
    ALTER TABLE mcp_server_versions
      ADD COLUMN auth_token_url text,
      ADD COLUMN auth_client_id text,
      ADD COLUMN auth_scope text;
  `;
}

import { SqlMigration } from './sql-migration';

/** Results of the MCP endpoint that are too large for one response. */
export class McpEndpoint1795824000018 extends SqlMigration {
  protected readonly sql = `
    -- The results of a caller, which reads them in parts.
    CREATE TABLE mcp_stored_results (
      result_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      principal_type text COLLATE "C" NOT NULL,
      principal_id text COLLATE "C" NOT NULL,
      -- the tool that was called
      server_id text COLLATE "C" NOT NULL,
      tool_name text NOT NULL,
      content bytea NOT NULL,
      size_bytes integer GENERATED ALWAYS AS (octet_length(content)) STORED,
      created_at timestamptz NOT NULL DEFAULT now()
    );
    -- Uncompressed, so that a part can be read without the rest. PostgreSQL 15 cannot set this in CREATE TABLE.
    ALTER TABLE mcp_stored_results ALTER COLUMN content SET STORAGE EXTERNAL;
    -- the newest results of a caller
    CREATE INDEX mcp_stored_results_by_principal
      ON mcp_stored_results (org_id, principal_type, principal_id, result_id);
    -- the erasure of a workspace
    CREATE INDEX mcp_stored_results_of_workspace ON mcp_stored_results (workspace_id);
    -- the deletion of old results
    CREATE INDEX mcp_stored_results_by_age ON mcp_stored_results (created_at);
  `;
}

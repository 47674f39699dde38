import { SqlMigration } from './sql-migration';

const CONTENT = 'name, title, description, input_schema, output_schema, annotations, digest';
const IDENTITY = 'tool_id, version_ordinal, version_id, server_id, org_id, workspace_id';

/** Stores every state of a tool as a version. */
export class McpToolVersions1795456000100 extends SqlMigration {
  protected readonly sql = `
    ALTER TABLE mcp_tools
      ADD COLUMN version_ordinal integer NOT NULL DEFAULT 1,
      ADD COLUMN version_id text COLLATE "C",
      -- names and descriptions of the parameters, for the search index
      ADD COLUMN parameters text NOT NULL DEFAULT '';
    UPDATE mcp_tools SET version_id = 'ver_' || substr(tool_id, 6);
    ALTER TABLE mcp_tools ALTER COLUMN version_id SET NOT NULL;

    -- GET /mcp/v1/servers/{id}/tools/{id}/versions: sorted by number, through the primary key
    CREATE TABLE mcp_tool_versions (
      tool_id text COLLATE "C" NOT NULL REFERENCES mcp_tools,
      version_ordinal integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      server_id text COLLATE "C" NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      name text NOT NULL,
      title text,
      description text,
      input_schema json NOT NULL,
      output_schema json,
      annotations json,
      digest text COLLATE "C" NOT NULL,
      created_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (
        coalesce(octet_length(title), 0) + coalesce(octet_length(description), 0) + octet_length(input_schema::text)
        + coalesce(octet_length(output_schema::text), 0) + coalesce(octet_length(annotations::text), 0)
      ) STORED,
      PRIMARY KEY (tool_id, version_ordinal)
    );
    INSERT INTO mcp_tool_versions (${IDENTITY}, ${CONTENT}, created_at, created_by)
      SELECT ${IDENTITY}, ${CONTENT}, updated_at, created_by FROM mcp_tools;
  `;
}

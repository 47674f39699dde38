import { SqlMigration } from './sql-migration';

/** MCP servers, their versions, and the tools they offer. */
export class McpServers1795305600400 extends SqlMigration {
  protected readonly sql = `
    CREATE TABLE mcp_servers (
      server_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      name text NOT NULL,
      description text,
      url text NOT NULL,
      transport text COLLATE "C" NOT NULL
        CONSTRAINT mcp_servers_transport CHECK (transport IN ('streamable_http', 'sse')),
      auth_type text COLLATE "C" NOT NULL
        CONSTRAINT mcp_servers_auth_type CHECK (auth_type IN ('none', 'bearer', 'header')),
      auth_header text,
      -- encrypted, and bound to this server
      auth_secret text,
      is_system boolean NOT NULL DEFAULT false,
      metadata json NOT NULL DEFAULT '{}',
      -- the app that declares the server, the app's slug, and the declared name, which may differ after a rename
      app_id text COLLATE "C",
      app text COLLATE "C",
      declared_name text,
      sync_state text COLLATE "C" NOT NULL DEFAULT 'unmanaged' CONSTRAINT mcp_servers_sync_state
        CHECK (sync_state IN ('unmanaged', 'pending', 'synced', 'drifted', 'failed')),
      -- when the server last listed its tools; null while the tools are those sent at registration
      tools_listed_at timestamptz,
      version_ordinal integer NOT NULL DEFAULT 1,
      version_id text COLLATE "C" NOT NULL,
      generation integer NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS
        (coalesce(octet_length(description), 0) + octet_length(url) + octet_length(metadata::text)) STORED,
      -- without the query of the URL, which may contain a key
      search tsvector GENERATED ALWAYS AS (
        search_words(name || ' ' || split_part(url, '?', 1) || ' ' || coalesce(description, ''))
      ) STORED,
      CONSTRAINT mcp_servers_app CHECK ((app_id IS NULL) = (app IS NULL) AND (app_id IS NULL) = (declared_name IS NULL))
    );
    CREATE UNIQUE INDEX mcp_servers_name ON mcp_servers (workspace_id, name) WHERE archived_at IS NULL;
    -- an app declares a name once; also used by the reconcile of an app
    CREATE UNIQUE INDEX mcp_servers_declared ON mcp_servers (app_id, declared_name) WHERE archived_at IS NULL;
    -- GET /mcp/v1/servers: sorts created_at, updated_at and name, in the organization and in one workspace, and filters
    -- transport, sync_state, app (a slug or an id) and q
    CREATE INDEX mcp_servers_by_creation ON mcp_servers (org_id, server_id);
    CREATE INDEX mcp_servers_by_update ON mcp_servers (org_id, updated_at, server_id);
    CREATE INDEX mcp_servers_by_name ON mcp_servers (org_id, (name COLLATE "C"), server_id);
    CREATE INDEX mcp_servers_of_workspace_by_creation ON mcp_servers (workspace_id, server_id);
    CREATE INDEX mcp_servers_of_workspace_by_update ON mcp_servers (workspace_id, updated_at, server_id);
    CREATE INDEX mcp_servers_of_workspace_by_name ON mcp_servers (workspace_id, (name COLLATE "C"), server_id);
    CREATE INDEX mcp_servers_by_transport ON mcp_servers (org_id, transport, server_id);
    CREATE INDEX mcp_servers_by_state ON mcp_servers (org_id, sync_state, server_id);
    CREATE INDEX mcp_servers_by_app ON mcp_servers (org_id, app, server_id);
    CREATE INDEX mcp_servers_by_app_id ON mcp_servers (org_id, app_id, server_id);
    CREATE INDEX mcp_servers_search ON mcp_servers USING gin (search);
    -- the system server of an organization
    CREATE INDEX mcp_servers_registry ON mcp_servers (org_id)
      WHERE is_system AND name = 'registry' AND archived_at IS NULL;

    CREATE TABLE mcp_server_versions (
      server_id text COLLATE "C" NOT NULL REFERENCES mcp_servers,
      version_ordinal integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      name text NOT NULL,
      description text,
      url text NOT NULL,
      transport text COLLATE "C" NOT NULL,
      auth_type text COLLATE "C" NOT NULL,
      auth_header text,
      created_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (coalesce(octet_length(description), 0) + octet_length(url)) STORED,
      PRIMARY KEY (server_id, version_ordinal)
    );

    CREATE TABLE mcp_tools (
      tool_id text COLLATE "C" PRIMARY KEY,
      server_id text COLLATE "C" NOT NULL REFERENCES mcp_servers,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      name text NOT NULL,
      title text,
      description text,
      input_schema json NOT NULL,
      output_schema json,
      annotations json,
      -- SHA-256 of the canonical JSON of the tool, as the server describes it
      digest text COLLATE "C" NOT NULL,
      generation integer NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS (
        coalesce(octet_length(title), 0) + coalesce(octet_length(description), 0) + octet_length(input_schema::text)
        + coalesce(octet_length(output_schema::text), 0) + coalesce(octet_length(annotations::text), 0)
      ) STORED
    );
    -- includes archived tools, because a tool that reappears keeps its id
    CREATE UNIQUE INDEX mcp_tools_name ON mcp_tools (server_id, name);
    -- GET /mcp/v1/servers/{id}/tools: sorts created_at, updated_at and name
    CREATE INDEX mcp_tools_by_creation ON mcp_tools (server_id, tool_id);
    CREATE INDEX mcp_tools_by_update ON mcp_tools (server_id, updated_at, tool_id);
    CREATE INDEX mcp_tools_by_name ON mcp_tools (server_id, (name COLLATE "C"), tool_id);
  `;
}

import { sealedByColumn, SqlMigration } from './sql-migration';

/** MCP servers with their health and versions, the checks of servers, and their tools. */
export class McpServers1795824000008 extends SqlMigration {
  protected readonly sql = `
    -- MCP servers, with the state of their newest version and of their last check.
    CREATE TABLE mcp_servers (
      server_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      name text NOT NULL,
      description text,
      -- with placeholders for the parts of its query, like auth_token_url; these parts are encrypted in url_secrets
      url text NOT NULL,
      url_secrets text,
      ${sealedByColumn('url_secrets')},
      transport text COLLATE "C" NOT NULL
        CONSTRAINT mcp_servers_transport CHECK (transport IN ('streamable_http', 'sse')),
      auth_type text COLLATE "C" NOT NULL
        CONSTRAINT mcp_servers_auth_type CHECK (auth_type IN ('none', 'bearer', 'header', 'oauth')),
      auth_header text,
      -- encrypted, and bound to this server
      auth_secret text,
      ${sealedByColumn('auth_secret')},
      -- OAuth 2 client credentials
      auth_token_url text,
      auth_client_id text,
      auth_scope text,
      is_system boolean NOT NULL DEFAULT false,
      metadata json NOT NULL DEFAULT '{}',
      -- the app that declares the server, the app's slug, and the declared name, which may differ after a rename
      app_id text COLLATE "C",
      app text COLLATE "C",
      declared_name text,
      sync_state text COLLATE "C" NOT NULL DEFAULT 'unmanaged' CONSTRAINT mcp_servers_sync_state
        CHECK (sync_state IN ('unmanaged', 'pending', 'synced', 'drifted', 'failed')),
      -- the store item, the release and the publisher's version that a copy was installed from; null for other resources
      acquired_from jsonb,
      -- the result of the last check: its number, and the kind and message of its failure
      check_ordinal integer NOT NULL DEFAULT 0,
      health_status text COLLATE "C" NOT NULL DEFAULT 'unknown'
        CONSTRAINT mcp_servers_health CHECK (health_status IN ('unknown', 'healthy', 'unhealthy')),
      health_checked_at timestamptz,
      health_latency_ms integer,
      health_error jsonb,
      next_check_at timestamptz NOT NULL DEFAULT now(),
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
      -- without the query of the URL, which has only placeholders
      search tsvector GENERATED ALWAYS AS (
        search_words(name || ' ' || split_part(url, '?', 1) || ' ' || coalesce(description, ''))
      ) STORED,
      CONSTRAINT mcp_servers_app CHECK ((app_id IS NULL) = (app IS NULL) AND (app_id IS NULL) = (declared_name IS NULL)),
      CONSTRAINT mcp_servers_auth_oauth CHECK (
        CASE WHEN auth_type = 'oauth' THEN auth_token_url IS NOT NULL AND auth_client_id IS NOT NULL
          ELSE auth_token_url IS NULL AND auth_client_id IS NULL AND auth_scope IS NULL END)
    );
    CREATE UNIQUE INDEX mcp_servers_name ON mcp_servers (workspace_id, name) WHERE archived_at IS NULL;
    -- an app declares a name once; also used by the reconcile of an app
    CREATE UNIQUE INDEX mcp_servers_declared ON mcp_servers (app_id, declared_name) WHERE archived_at IS NULL;
    -- GET /mcp/v1/servers: sorts created_at, updated_at and name, in the organization and in one workspace, and filters
    -- transport, sync_state, health, app (a slug or an id) and q
    CREATE INDEX mcp_servers_by_creation ON mcp_servers (org_id, server_id);
    CREATE INDEX mcp_servers_by_update ON mcp_servers (org_id, updated_at, server_id);
    CREATE INDEX mcp_servers_by_name ON mcp_servers (org_id, (name COLLATE "C"), server_id);
    CREATE INDEX mcp_servers_of_workspace_by_creation ON mcp_servers (workspace_id, server_id);
    CREATE INDEX mcp_servers_of_workspace_by_update ON mcp_servers (workspace_id, updated_at, server_id);
    CREATE INDEX mcp_servers_of_workspace_by_name ON mcp_servers (workspace_id, (name COLLATE "C"), server_id);
    CREATE INDEX mcp_servers_by_transport ON mcp_servers (org_id, transport, server_id);
    CREATE INDEX mcp_servers_by_state ON mcp_servers (org_id, sync_state, server_id);
    CREATE INDEX mcp_servers_by_health ON mcp_servers (org_id, health_status, server_id);
    CREATE INDEX mcp_servers_by_app ON mcp_servers (org_id, app, server_id);
    CREATE INDEX mcp_servers_by_app_id ON mcp_servers (org_id, app_id, server_id);
    CREATE INDEX mcp_servers_search ON mcp_servers USING gin (search);
    -- rotate-secrets
    CREATE INDEX mcp_servers_url_sealed_by ON mcp_servers (url_secrets_sealed_by, server_id)
      WHERE url_secrets_sealed_by IS NOT NULL;
    CREATE INDEX mcp_servers_auth_sealed_by ON mcp_servers (auth_secret_sealed_by, server_id)
      WHERE auth_secret_sealed_by IS NOT NULL;
    -- the system server of an organization
    CREATE INDEX mcp_servers_registry ON mcp_servers (org_id)
      WHERE is_system AND name = 'registry' AND archived_at IS NULL;
    -- whether any server is due for a check, and which servers of each organization are due
    CREATE INDEX mcp_servers_due ON mcp_servers (next_check_at)
      WHERE archived_at IS NULL AND NOT (is_system AND name = 'registry');
    CREATE INDEX mcp_servers_due_by_org ON mcp_servers (org_id, next_check_at)
      WHERE archived_at IS NULL AND NOT (is_system AND name = 'registry');
    -- the copies of a published resource
    CREATE INDEX mcp_servers_acquired ON mcp_servers (workspace_id, (acquired_from ->> 'artifact_id'))
      WHERE acquired_from IS NOT NULL AND archived_at IS NULL;

    -- Every state of a server, without its secret.
    CREATE TABLE mcp_server_versions (
      server_id text COLLATE "C" NOT NULL REFERENCES mcp_servers ON DELETE CASCADE,
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
      auth_token_url text,
      auth_client_id text,
      auth_scope text,
      created_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (coalesce(octet_length(description), 0) + octet_length(url)) STORED,
      PRIMARY KEY (server_id, version_ordinal)
    );

    -- The tools that servers offer. A tool that a server no longer lists is archived.
    CREATE TABLE mcp_tools (
      tool_id text COLLATE "C" PRIMARY KEY,
      server_id text COLLATE "C" NOT NULL REFERENCES mcp_servers ON DELETE CASCADE,
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
      -- names and descriptions of the parameters, for the search index
      parameters text NOT NULL DEFAULT '',
      version_ordinal integer NOT NULL DEFAULT 1,
      version_id text COLLATE "C" NOT NULL,
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

    -- Every state of a tool.
    CREATE TABLE mcp_tool_versions (
      tool_id text COLLATE "C" NOT NULL REFERENCES mcp_tools ON DELETE CASCADE,
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
      -- GET /mcp/v1/servers/{id}/tools/{id}/versions: sorted by number
      PRIMARY KEY (tool_id, version_ordinal)
    );

    -- The checks of servers: on a schedule, or on request.
    CREATE TABLE mcp_server_checks (
      server_id text COLLATE "C" NOT NULL REFERENCES mcp_servers ON DELETE CASCADE,
      check_ordinal integer NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      trigger text COLLATE "C" NOT NULL
        CONSTRAINT mcp_server_checks_trigger CHECK (trigger IN ('schedule', 'request')),
      checked_at timestamptz NOT NULL,
      latency_ms integer,
      protocol_version text,
      server_info jsonb,
      -- kind and message of the failure; null if the check succeeded
      error jsonb,
      added_count integer,
      updated_count integer,
      archived_count integer,
      unchanged_count integer,
      -- the first listed tools that were left out, each with its name and the reason
      skipped jsonb,
      -- GET /mcp/v1/servers/{id}/checks: newest first
      PRIMARY KEY (server_id, check_ordinal)
    );
    -- GET /mcp/v1/servers/{id}/checks: filter ok
    CREATE INDEX mcp_server_checks_failed ON mcp_server_checks (server_id, check_ordinal) WHERE error IS NOT NULL;
    CREATE INDEX mcp_server_checks_ok ON mcp_server_checks (server_id, check_ordinal) WHERE error IS NULL;
    -- the checks to delete
    CREATE INDEX mcp_server_checks_by_time ON mcp_server_checks (checked_at);
  `;
}

import { SqlMigration } from './sql-migration';

/** The checks of MCP servers, and the health of each server according to its last check. */
export class McpChecks1795456000200 extends SqlMigration {
  protected readonly sql = `
    ALTER TABLE mcp_servers
      ADD COLUMN health_status text COLLATE "C" NOT NULL DEFAULT 'unknown'
        CONSTRAINT mcp_servers_health CHECK (health_status IN ('unknown', 'healthy', 'unhealthy')),
      ADD COLUMN health_checked_at timestamptz,
      ADD COLUMN health_latency_ms integer,
      -- kind and message of the failure
      ADD COLUMN health_error jsonb,
      ADD COLUMN next_check_at timestamptz NOT NULL DEFAULT now(),
      -- the number of the last check
      ADD COLUMN check_ordinal integer NOT NULL DEFAULT 0;
    -- GET /mcp/v1/servers: filter health
    CREATE INDEX mcp_servers_by_health ON mcp_servers (org_id, health_status, server_id);
    -- whether any server is due for a check, and which servers of each organization are due
    CREATE INDEX mcp_servers_due ON mcp_servers (next_check_at)
      WHERE archived_at IS NULL AND NOT (is_system AND name = 'registry');
    CREATE INDEX mcp_servers_due_by_org ON mcp_servers (org_id, next_check_at)
      WHERE archived_at IS NULL AND NOT (is_system AND name = 'registry');

    CREATE TABLE mcp_server_checks (
      server_id text COLLATE "C" NOT NULL REFERENCES mcp_servers,
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

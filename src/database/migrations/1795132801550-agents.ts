import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Agents and every version of each; the sessions held with them, and what was said in these. */
export class Agents1795132801550 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE agents (
        agent_id text COLLATE "C" PRIMARY KEY,
        org_id text COLLATE "C" NOT NULL REFERENCES organizations,
        workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
        name text NOT NULL,
        version_ordinal integer NOT NULL,
        version_id text COLLATE "C" NOT NULL,
        display_name text,
        description text,
        model text,
        instructions text NOT NULL,
        tools jsonb NOT NULL,
        skills jsonb NOT NULL,
        required_permissions text[] NOT NULL,
        max_step_count integer NOT NULL,
        metadata json NOT NULL,
        -- the app that declares it, and its slug; null without one
        app_id text COLLATE "C",
        app text COLLATE "C",
        sync_state text COLLATE "C" NOT NULL CONSTRAINT agents_sync_state
          CHECK (sync_state IN ('unmanaged', 'pending', 'synced', 'drifted', 'failed')),
        generation integer NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        created_by text COLLATE "C" NOT NULL,
        archived_at timestamptz,
        bytes integer GENERATED ALWAYS AS (
          octet_length(instructions) + octet_length(metadata::text) + octet_length(tools::text) + octet_length(skills::text)
        ) STORED,
        search tsvector GENERATED ALWAYS AS (
          search_words(name || ' ' || coalesce(display_name, '') || ' ' || coalesce(description, ''))
        ) STORED,
        CONSTRAINT agents_app CHECK ((app_id IS NULL) = (app IS NULL) AND (app_id IS NULL) = (sync_state = 'unmanaged'))
      );
      CREATE UNIQUE INDEX agents_name ON agents (workspace_id, name) WHERE archived_at IS NULL;
      CREATE INDEX agents_search ON agents USING gin (search);
      CREATE INDEX agents_by_creation ON agents (org_id, agent_id) INCLUDE (archived_at);
      CREATE INDEX agents_by_update ON agents (org_id, updated_at, agent_id) INCLUDE (archived_at);
      CREATE INDEX agents_by_name ON agents (org_id, (name COLLATE "C"), agent_id) INCLUDE (archived_at);
      CREATE INDEX agents_by_state ON agents (org_id, sync_state, agent_id) INCLUDE (archived_at);
      CREATE INDEX agents_by_app ON agents (org_id, app, agent_id) WHERE app IS NOT NULL;
      CREATE INDEX agents_of_app ON agents (app_id) WHERE app_id IS NOT NULL AND archived_at IS NULL;
      CREATE INDEX agents_of_workspace_by_creation ON agents (org_id, workspace_id, agent_id) INCLUDE (archived_at);
      CREATE INDEX agents_of_workspace_by_update ON agents (org_id, workspace_id, updated_at, agent_id) INCLUDE (archived_at);
      CREATE INDEX agents_of_workspace_by_name ON agents (org_id, workspace_id, (name COLLATE "C"), agent_id) INCLUDE (archived_at);
      CREATE INDEX agents_of_workspace_by_state ON agents (org_id, workspace_id, sync_state, agent_id) INCLUDE (archived_at);

      CREATE TABLE agent_versions (
        agent_id text COLLATE "C" NOT NULL REFERENCES agents,
        version_ordinal integer NOT NULL,
        version_id text COLLATE "C" NOT NULL,
        org_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        name text NOT NULL,
        display_name text,
        description text,
        model text,
        instructions text NOT NULL,
        tools jsonb NOT NULL,
        skills jsonb NOT NULL,
        required_permissions text[] NOT NULL,
        max_step_count integer NOT NULL,
        metadata json NOT NULL,
        created_at timestamptz NOT NULL,
        created_by text COLLATE "C" NOT NULL,
        bytes integer GENERATED ALWAYS AS (
          octet_length(instructions) + octet_length(metadata::text) + octet_length(tools::text) + octet_length(skills::text)
        ) STORED,
        PRIMARY KEY (agent_id, version_ordinal)
      );

      CREATE TABLE agent_sessions (
        session_id text COLLATE "C" PRIMARY KEY,
        org_id text COLLATE "C" NOT NULL REFERENCES organizations,
        workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
        agent_id text COLLATE "C" NOT NULL REFERENCES agents,
        -- of the agent, when the session began
        version_ordinal integer NOT NULL,
        title text,
        prompt text NOT NULL,
        session_status text COLLATE "C" NOT NULL CONSTRAINT agent_sessions_status
          CHECK (session_status IN ('active', 'completed', 'failed')),
        message_count integer NOT NULL,
        last_message_at timestamptz NOT NULL,
        metadata json NOT NULL,
        generation integer NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        created_by text COLLATE "C" NOT NULL,
        archived_at timestamptz,
        bytes integer GENERATED ALWAYS AS (octet_length(prompt) + octet_length(metadata::text)) STORED
      );
      CREATE INDEX agent_sessions_by_creation ON agent_sessions (org_id, session_id) INCLUDE (archived_at);
      CREATE INDEX agent_sessions_by_update ON agent_sessions (org_id, updated_at, session_id) INCLUDE (archived_at);
      CREATE INDEX agent_sessions_by_status ON agent_sessions (org_id, session_status, session_id) INCLUDE (archived_at);
      CREATE INDEX agent_sessions_of_workspace_by_creation ON agent_sessions (org_id, workspace_id, session_id) INCLUDE (archived_at);
      CREATE INDEX agent_sessions_of_workspace_by_update ON agent_sessions (org_id, workspace_id, updated_at, session_id) INCLUDE (archived_at);
      CREATE INDEX agent_sessions_of_workspace_by_status ON agent_sessions (org_id, workspace_id, session_status, session_id) INCLUDE (archived_at);
      CREATE INDEX agent_sessions_of_agent_by_creation ON agent_sessions (agent_id, session_id);
      CREATE INDEX agent_sessions_of_agent_by_message ON agent_sessions (agent_id, last_message_at);

      CREATE TABLE session_messages (
        session_id text COLLATE "C" NOT NULL REFERENCES agent_sessions,
        -- from 1, without gaps, in the order in which they were taken
        ordinal integer NOT NULL,
        message_id text COLLATE "C" NOT NULL,
        org_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        role text COLLATE "C" NOT NULL CONSTRAINT session_messages_role
          CHECK (role IN ('user', 'assistant', 'system', 'tool')),
        content json NOT NULL,
        tool_calls json,
        trace_id text COLLATE "C",
        created_at timestamptz NOT NULL,
        created_by text COLLATE "C" NOT NULL,
        bytes integer GENERATED ALWAYS AS (
          octet_length(content::text) + coalesce(octet_length(tool_calls::text), 0)
        ) STORED,
        PRIMARY KEY (session_id, ordinal)
      );
      CREATE UNIQUE INDEX session_messages_id ON session_messages (message_id);
      CREATE INDEX session_messages_by_role ON session_messages (session_id, role, ordinal);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE session_messages, agent_sessions, agent_versions, agents');
  }
}

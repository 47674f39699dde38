import { minuteColumn, SqlMigration } from './sql-migration';

/** Agents and their versions; sessions with agents, and their messages. */
export class Agents1795824000009 extends SqlMigration {
  protected readonly sql = `
    -- Agents, with the content of their newest version.
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
      -- the app that declares the agent, and the app's slug; null for an unmanaged agent
      app_id text COLLATE "C",
      app text COLLATE "C",
      sync_state text COLLATE "C" NOT NULL CONSTRAINT agents_sync_state
        CHECK (sync_state IN ('unmanaged', 'pending', 'synced', 'drifted', 'failed')),
      -- the store item, the release and the publisher's version that a copy was installed from; null for other resources
      acquired_from jsonb,
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
    -- GET /agent/v1/agents: sorts created_at, updated_at and name, in the organization and in one workspace, and filters
    -- sync_state, app (a slug or an id), name and q. archived_at is included, so that totals are counted from the index
    -- alone.
    CREATE INDEX agents_by_creation ON agents (org_id, agent_id) INCLUDE (archived_at);
    CREATE INDEX agents_by_update ON agents (org_id, updated_at, agent_id) INCLUDE (archived_at);
    CREATE INDEX agents_by_name ON agents (org_id, (name COLLATE "C"), agent_id) INCLUDE (archived_at);
    CREATE INDEX agents_by_state ON agents (org_id, sync_state, agent_id) INCLUDE (archived_at);
    CREATE INDEX agents_of_workspace_by_creation ON agents (workspace_id, org_id, agent_id) INCLUDE (archived_at);
    CREATE INDEX agents_of_workspace_by_update
      ON agents (org_id, workspace_id, updated_at, agent_id) INCLUDE (archived_at);
    CREATE INDEX agents_of_workspace_by_name
      ON agents (org_id, workspace_id, (name COLLATE "C"), agent_id) INCLUDE (archived_at);
    CREATE INDEX agents_of_workspace_by_state
      ON agents (org_id, workspace_id, sync_state, agent_id) INCLUDE (archived_at);
    CREATE INDEX agents_by_app ON agents (org_id, app, agent_id) WHERE app IS NOT NULL;
    CREATE INDEX agents_search ON agents USING gin (search);
    -- the agents that use a skill, or a tool of a server
    CREATE INDEX agents_by_skill ON agents USING gin (skills jsonb_path_ops);
    CREATE INDEX agents_by_tool ON agents USING gin (tools jsonb_path_ops);
    -- the reconcile of an app, and the filter app with an id
    CREATE INDEX agents_of_app ON agents (app_id, agent_id) WHERE app_id IS NOT NULL;
    -- the copies of a published resource
    CREATE INDEX agents_acquired ON agents (workspace_id, (acquired_from ->> 'artifact_id'))
      WHERE acquired_from IS NOT NULL AND archived_at IS NULL;

    -- Every state of an agent.
    CREATE TABLE agent_versions (
      agent_id text COLLATE "C" NOT NULL REFERENCES agents ON DELETE CASCADE,
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

    -- Sessions with an agent. Each message changes the times of its session. Indexes contain only their minute, so that most
    -- of these updates are heap-only. An expression index would not help, because PostgreSQL compares the columns in it.
    CREATE TABLE agent_sessions (
      session_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      -- no foreign key, because sessions outlive their agent
      agent_id text COLLATE "C" NOT NULL,
      -- the agent's version when the session started; the session is pinned to it
      version_ordinal integer NOT NULL,
      title text,
      prompt text NOT NULL,
      session_status text COLLATE "C" NOT NULL CONSTRAINT agent_sessions_status
        CHECK (session_status IN ('active', 'completed', 'failed')),
      message_count integer NOT NULL,
      -- the ordinal of the newest message, deleted or not
      last_ordinal integer NOT NULL,
      last_message_at timestamptz NOT NULL,
      metadata json NOT NULL,
      generation integer NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      bytes integer GENERATED ALWAYS AS (octet_length(prompt) + octet_length(metadata::text)) STORED,
      ${minuteColumn('updated_minute', 'updated_at')},
      ${minuteColumn('last_message_minute', 'last_message_at')}
    ) WITH (fillfactor = 80);
    -- GET /agent/v1/sessions: sorts created_at and updated_at, in the organization and in one workspace, and filters
    -- session_status and agent_id
    CREATE INDEX agent_sessions_by_creation ON agent_sessions (org_id, session_id) INCLUDE (archived_at);
    CREATE INDEX agent_sessions_by_update ON agent_sessions (org_id, updated_minute, session_id) INCLUDE (archived_at);
    CREATE INDEX agent_sessions_by_status ON agent_sessions (org_id, session_status, session_id) INCLUDE (archived_at);
    CREATE INDEX agent_sessions_of_workspace_by_creation
      ON agent_sessions (workspace_id, org_id, session_id) INCLUDE (archived_at);
    CREATE INDEX agent_sessions_of_workspace_by_update
      ON agent_sessions (org_id, workspace_id, updated_minute, session_id) INCLUDE (archived_at);
    CREATE INDEX agent_sessions_of_workspace_by_status
      ON agent_sessions (org_id, workspace_id, session_status, session_id) INCLUDE (archived_at);
    CREATE INDEX agent_sessions_of_agent_by_creation ON agent_sessions (agent_id, session_id);
    -- scoring: the newest sessions of agents
    CREATE INDEX agent_sessions_of_agent_by_message ON agent_sessions (agent_id, last_message_minute);

    -- The messages of sessions. They never change.
    CREATE TABLE session_messages (
      session_id text COLLATE "C" NOT NULL REFERENCES agent_sessions ON DELETE CASCADE,
      -- from 1, in the order in which they were accepted; deleted messages leave gaps
      ordinal integer NOT NULL,
      message_id text COLLATE "C" NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      role text COLLATE "C" NOT NULL CONSTRAINT session_messages_role
        CHECK (role IN ('user', 'assistant', 'system', 'tool')),
      -- name of the speaker
      name text,
      content json NOT NULL,
      tool_calls json,
      -- for role tool: the call that the message responds to
      tool_call_id text,
      trace_id text COLLATE "C",
      created_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      bytes integer GENERATED ALWAYS AS (
        octet_length(content::text) + coalesce(octet_length(tool_calls::text), 0)
      ) STORED,
      PRIMARY KEY (session_id, ordinal)
    );
    -- GET /agent/v1/sessions/{id}/messages/{message_id}
    CREATE UNIQUE INDEX session_messages_id ON session_messages (message_id);
    -- erasures: the sessions with messages of a trace
    CREATE INDEX session_messages_of_traces ON session_messages (workspace_id, trace_id) WHERE trace_id IS NOT NULL;
    -- GET /agent/v1/sessions/{id}/messages: filter role
    CREATE INDEX session_messages_by_role ON session_messages (session_id, role, ordinal);
  `;
}

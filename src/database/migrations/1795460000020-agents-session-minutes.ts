import { minuteColumn, SqlMigration } from './sql-migration';

/** Each message changes the times of its session. Indexes contain only their minute, as in datasets. Rewrites the table. */
export class AgentsSessionMinutes1795460000020 extends SqlMigration {
  protected readonly sql = `
    DROP INDEX agent_sessions_by_update, agent_sessions_of_workspace_by_update, agent_sessions_of_agent_by_message;
    ALTER TABLE agent_sessions
      ADD COLUMN ${minuteColumn('updated_minute', 'updated_at')},
      ADD COLUMN ${minuteColumn('last_message_minute', 'last_message_at')},
      SET (fillfactor = 80);
    CREATE INDEX agent_sessions_by_update ON agent_sessions (org_id, updated_minute, session_id) INCLUDE (archived_at);
    CREATE INDEX agent_sessions_of_workspace_by_update
      ON agent_sessions (org_id, workspace_id, updated_minute, session_id) INCLUDE (archived_at);
    -- scoring: the newest sessions of agents
    CREATE INDEX agent_sessions_of_agent_by_message ON agent_sessions (agent_id, last_message_minute);
  `;
}

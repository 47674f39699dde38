import { SqlMigration } from './sql-migration';

/** Returns the expression of a generated column: the minute of a time. */
const minuteOf = (time: string): string => `date_bin('1 minute', ${time}, '2000-01-01T00:00:00Z')`;

/**
 * Each new record changes the times of its dataset, and each message those of its session. Indexes contain only the minute
 * of these times, so that most of these changes leave all indexed values as they are, and PostgreSQL writes the new row
 * into the same page, and into no index. Words of records are stored without their positions, which no search reads.
 */
export class HeapOnlyUpdates1795460000000 extends SqlMigration {
  protected readonly sql = `
    ALTER TABLE datasets
      ADD COLUMN updated_minute timestamptz GENERATED ALWAYS AS (${minuteOf('updated_at')}) STORED,
      SET (fillfactor = 80);
    DROP INDEX datasets_by_update;
    CREATE INDEX datasets_by_update ON datasets (workspace_id, updated_minute, dataset_id);

    ALTER TABLE agent_sessions
      ADD COLUMN updated_minute timestamptz GENERATED ALWAYS AS (${minuteOf('updated_at')}) STORED,
      ADD COLUMN last_message_minute timestamptz GENERATED ALWAYS AS (${minuteOf('last_message_at')}) STORED,
      SET (fillfactor = 80);
    DROP INDEX agent_sessions_by_update, agent_sessions_of_workspace_by_update, agent_sessions_of_agent_by_message;
    CREATE INDEX agent_sessions_by_update ON agent_sessions (org_id, updated_minute, session_id) INCLUDE (archived_at);
    CREATE INDEX agent_sessions_of_workspace_by_update
      ON agent_sessions (org_id, workspace_id, updated_minute, session_id) INCLUDE (archived_at);
    -- scoring: the newest sessions of agents
    CREATE INDEX agent_sessions_of_agent_by_message ON agent_sessions (agent_id, last_message_minute);

    -- removes JSON escapes, then does what search_words does, whose body each statement would plan anew
    ALTER TABLE records DROP COLUMN search, ADD COLUMN search tsvector GENERATED ALWAYS AS (
      strip(to_tsvector('pg_catalog.simple'::regconfig, regexp_replace(
        regexp_replace(
          metadata::text || ' ' || left(coalesce(expected::text, ''), 40000) || ' ' || left(coalesce(input::text, ''), 40000),
          '\\\\(?:u[0-9a-f]{4}|.)', ' ', 'g'),
        '[!-/:-@[-\`{-~]+', ' ', 'g')))
    ) STORED;
    CREATE INDEX records_search ON records USING gin (search);
  `;
}

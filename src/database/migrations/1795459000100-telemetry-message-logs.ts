import { SqlMigration } from './sql-migration';

/** Log records that carry the messages of model calls. */
export class TelemetryMessageLogs1795459000100 extends SqlMigration {
  protected readonly sql = `
    -- scoring: the messages of a trace. Partial, because most records of a trace are other logs.
    CREATE INDEX log_records_messages ON log_records (workspace_id, trace_id, logged_at, log_no)
      WHERE event_name LIKE 'gen\\_ai.%' AND trace_id IS NOT NULL;
  `;
}

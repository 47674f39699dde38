import { minuteColumn, SqlMigration } from './sql-migration';

/**
 * Each new record changes the times of its dataset. Indexes contain only the minute of these times, so that most of these
 * changes leave all indexed values as they are, and PostgreSQL writes the new row into the same page, and into no index. An
 * index of an expression would not do: PostgreSQL compares the columns in it. Rewrites the table.
 */
export class EvaluationDatasetMinutes1795460000000 extends SqlMigration {
  protected readonly sql = `
    DROP INDEX datasets_by_update;
    ALTER TABLE datasets ADD COLUMN ${minuteColumn('updated_minute', 'updated_at')}, SET (fillfactor = 80);
    CREATE INDEX datasets_by_update ON datasets (workspace_id, updated_minute, dataset_id);
  `;
}

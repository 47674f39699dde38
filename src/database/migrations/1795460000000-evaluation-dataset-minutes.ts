import { minuteColumn, SqlMigration } from './sql-migration';

/**
 * Each new record changes the times of its dataset. Indexes contain only the minute of these times, so that most of these
 * changes leave all indexed values unchanged, and PostgreSQL writes the new row to the same page, and to no index. An
 * expression index would not help, because PostgreSQL compares the columns in it. Rewrites the table.
 */
export class EvaluationDatasetMinutes1795460000000 extends SqlMigration {
  protected readonly sql = `
    DROP INDEX datasets_by_update;
    ALTER TABLE datasets ADD COLUMN ${minuteColumn('updated_minute', 'updated_at')}, SET (fillfactor = 80);
    CREATE INDEX datasets_by_update ON datasets (workspace_id, updated_minute, dataset_id);
  `;
}

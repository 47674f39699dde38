import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A migration that consists of SQL. It runs in one transaction, together with the row that records it. */
export abstract class SqlMigration implements MigrationInterface {
  protected abstract readonly sql: string;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(this.sql);
  }

  down(): Promise<never> {
    return Promise.reject(new Error('Migrations only go forward. To go back, restore a backup.'));
  }
}

/**
 * Returns the expression of a generated column `bytes`, the approximate size of other columns as JSON. Lists limit their
 * pages by it (`ListSpec.bytes`), because measuring the columns themselves would mean reading them.
 */
export const bytesOf = (...columns: readonly string[]): string =>
  columns.map((column) => `coalesce(octet_length(${column}::text), 0)`).join(' + ');

/** Returns the definition of a generated column: the minute of a time. */
export const minuteColumn = (name: string, time: string): string =>
  `${name} timestamptz GENERATED ALWAYS AS (date_bin('1 minute', ${time}, '2000-01-01T00:00:00Z')) STORED`;

/**
 * Returns statements that replace each of these indexes with the one named `new_<name>`. For the end of a migration, because
 * dropping an index blocks reads until the transaction ends.
 */
export const replaceIndexes = (...names: readonly string[]): string =>
  `DROP INDEX ${names.join(', ')};
    ${names.map((name) => `ALTER INDEX new_${name} RENAME TO ${name};`).join('\n    ')}`;

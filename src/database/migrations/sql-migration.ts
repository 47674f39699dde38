import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A migration that is SQL. It runs in one transaction, together with the row that records it. */
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
 * Returns the expression of a generated column `bytes`: about how long these columns are as JSON. Lists end their pages
 * by it (`ListSpec.bytes`), because measuring the values themselves would mean to read them.
 */
export const bytesOf = (...columns: readonly string[]): string =>
  columns.map((column) => `coalesce(octet_length(${column}::text), 0)`).join(' + ');

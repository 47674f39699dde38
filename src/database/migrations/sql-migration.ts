/** Runs SQL text on one connection. */
export interface SqlRunner {
  query(sql: string): Promise<unknown>;
}

/** A baseline: SQL that creates a part of the schema in an empty database, in one transaction. */
export abstract class SqlMigration {
  protected abstract readonly sql: string;

  async up(runner: SqlRunner): Promise<void> {
    await runner.query(this.sql);
  }
}

/**
 * Returns the expression of a generated column `bytes`, the approximate size of other columns as JSON. Lists limit their
 * pages by it (`ListSpec.bytes`), because measuring the columns themselves would mean reading them.
 */
export const bytesOf = (...columns: readonly string[]): string =>
  columns.map((column) => `coalesce(octet_length(${column}::text), 0)`).join(' + ');

/**
 * Returns the definition of a generated column: the id of the key that a sealed secret is sealed with. It refers to
 * `secrets_keys`, so that no secret can be stored under a key that is no longer in use.
 */
export const sealedByColumn = (secret: string): string =>
  `${secret}_sealed_by text COLLATE "C" GENERATED ALWAYS AS (split_part(${secret}, '.', 2)) STORED REFERENCES secrets_keys`;

/** Returns the definition of a generated column: the minute of a time. */
export const minuteColumn = (name: string, time: string): string =>
  `${name} timestamptz GENERATED ALWAYS AS (date_bin('1 minute', ${time}, '2000-01-01T00:00:00Z')) STORED`;

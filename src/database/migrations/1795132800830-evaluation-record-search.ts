import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A tsvector holds 1 MiB: what is searched of a record is its metadata, which is small, and the first 40,000 characters
 * of input and of expected, so that a long input hides neither.
 */
const PRESENT = `metadata::text || ' ' || left(coalesce(expected::text, ''), 40000) || ' ' ||
  left(coalesce(input::text, ''), 40000)`;

const BEFORE = `left(coalesce(input::text, '') || ' ' || coalesce(expected::text, '') || ' ' || metadata::text, 100000)`;

/** Escapes of JSON go, or the word after a line break would begin with an n. */
const replaceSearch = (text: string): string => `
  ALTER TABLE records DROP COLUMN search;
  ALTER TABLE records ADD COLUMN search tsvector
    GENERATED ALWAYS AS (search_words(regexp_replace(${text}, '\\\\(u[0-9a-f]{4}|.)', ' ', 'g'))) STORED;
  CREATE INDEX records_search ON records USING gin (search);
`;

/** What `q` finds in records. */
export class EvaluationRecordSearch1795132800830 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(replaceSearch(PRESENT));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(replaceSearch(BEFORE));
  }
}

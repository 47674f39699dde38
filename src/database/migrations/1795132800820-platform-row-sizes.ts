import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The columns that make up most of a row where it may be large. About how long it is as JSON is kept beside them, in
 * `bytes`: lists end their pages by it, see `ListSpec.bytes`, because looking at the values would mean to read them.
 */
const LARGE: Record<string, readonly string[]> = {
  datasets: ['description', 'metadata', 'input_schema', 'expected_schema'],
  records: ['input', 'expected', 'metadata'],
  record_versions: ['input', 'expected', 'metadata'],
  experiments: ['description', 'config', 'context_manifest', 'metrics', 'error', 'summary', 'metadata'],
  results: ['input', 'expected', 'metadata', 'output', 'error', 'scores', 'score_details'],
  scorers: ['description', 'definition', 'metadata'],
  scorer_versions: ['description', 'definition', 'metadata'],
};

const sizeOf = (columns: readonly string[]): string =>
  columns.map((column) => `coalesce(octet_length(${column}::text), 0)`).join(' + ');

/** How large rows are, so that readers know before they read them. */
export class PlatformRowSizes1795132800820 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [table, columns] of Object.entries(LARGE)) {
      await runner.query(
        `ALTER TABLE ${table} ADD COLUMN bytes integer NOT NULL GENERATED ALWAYS AS (${sizeOf(columns)}) STORED`,
      );
    }
    await runner.query(`
      ALTER TABLE span_sources
        ADD COLUMN size integer NOT NULL GENERATED ALWAYS AS (${sizeOf(['resource', 'scope'])}) STORED;
      ALTER TABLE spans ADD COLUMN content_size integer NOT NULL
        GENERATED ALWAYS AS (${sizeOf(['attributes', 'events', 'links'])}) STORED;
      -- of a trace not generated, because each change of a row would unpack what it is of to reckon it anew
      ALTER TABLE traces ADD COLUMN content_size integer NOT NULL DEFAULT 0;
      UPDATE traces SET content_size = ${sizeOf(['input', 'output'])} WHERE input IS NOT NULL OR output IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of Object.keys(LARGE)) await runner.query(`ALTER TABLE ${table} DROP COLUMN bytes`);
    await runner.query(`
      ALTER TABLE span_sources DROP COLUMN size;
      ALTER TABLE spans DROP COLUMN content_size;
      ALTER TABLE traces DROP COLUMN content_size;
    `);
  }
}

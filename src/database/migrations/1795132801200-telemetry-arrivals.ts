import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When traces, and sessions, were last added to, so that what is new can be gone through in order. Traces that are there
 * already have not arrived as far as that goes, until they get spans again: no row is written anew. Reading and storing
 * traces are held up for a moment only, because the indexes are the next migration's.
 */
export class TelemetryArrivals1795132801200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE traces ADD COLUMN arrived_at timestamptz;
      -- of traces that processes store which do not know of it yet
      ALTER TABLE traces ALTER COLUMN arrived_at SET DEFAULT clock_timestamp();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE traces DROP COLUMN arrived_at');
  }
}

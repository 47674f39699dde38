import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When traces, and sessions, were last added to, so that what is new can be gone through in order. Traces that are there
 * already have not arrived as far as that goes, until they get spans again: no row is written anew, and the indexes are
 * empty at first. To build them the table is read through once, while no trace can be stored.
 */
export class TelemetryArrivals1795132801200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE traces ADD COLUMN arrived_at timestamptz;
      -- of traces that processes store which do not know of it yet
      ALTER TABLE traces ALTER COLUMN arrived_at SET DEFAULT clock_timestamp();
      CREATE INDEX traces_by_arrival ON traces (workspace_id, arrived_at, trace_id) WHERE arrived_at IS NOT NULL;
      CREATE INDEX traces_session_arrivals ON traces (workspace_id, session_id, arrived_at, trace_id)
        WHERE session_id IS NOT NULL AND arrived_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE traces DROP COLUMN arrived_at');
  }
}

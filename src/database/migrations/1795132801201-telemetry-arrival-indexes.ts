import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The indexes over arrivals, empty at first. To build them the table is read through twice: no trace can be stored
 * meanwhile, and all can be read. They are apart from the column, whose lock would keep readers out until they are built.
 */
export class TelemetryArrivalIndexes1795132801201 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX traces_by_arrival ON traces (workspace_id, arrived_at, trace_id) WHERE arrived_at IS NOT NULL;
      CREATE INDEX traces_session_arrivals ON traces (workspace_id, session_id, arrived_at, trace_id)
        WHERE session_id IS NOT NULL AND arrived_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX traces_by_arrival, traces_session_arrivals');
  }
}

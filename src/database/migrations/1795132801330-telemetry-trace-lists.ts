import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes by which lists of traces find what is rare among many: those of a service or a root by name, those with an
 * error, and those of a model. To build them the tables are read through: no trace can be stored meanwhile, and all can
 * be read.
 */
export class TelemetryTraceLists1795132801330 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX traces_by_service ON traces (workspace_id, service_name, started_at, trace_id)
        WHERE service_name IS NOT NULL;
      CREATE INDEX traces_by_root ON traces (workspace_id, root_name, started_at, trace_id)
        WHERE root_name IS NOT NULL;
      CREATE INDEX traces_in_error ON traces (workspace_id, started_at, trace_id) WHERE error_count > 0;
      CREATE INDEX trace_models_by_model ON trace_models (workspace_id, model, trace_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP INDEX traces_by_service, traces_by_root, traces_in_error, trace_models_by_model',
    );
  }
}

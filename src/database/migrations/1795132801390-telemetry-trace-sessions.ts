import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A row for each session that traces name, with the start of its last trace: sessions are listed and counted by it. Before,
 * the traces were gone through, which grew with them. Until it is filled no trace can be stored, and all can be read.
 */
export class TelemetryTraceSessions1795132801390 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE trace_sessions (
        workspace_id text NOT NULL,
        session_id text COLLATE "C" NOT NULL,
        last_started_at timestamptz NOT NULL,
        PRIMARY KEY (workspace_id, session_id)
      );
      LOCK TABLE traces IN SHARE MODE;
      INSERT INTO trace_sessions (workspace_id, session_id, last_started_at)
        SELECT workspace_id, session_id, max(started_at) FROM traces WHERE session_id IS NOT NULL GROUP BY 1, 2;
      CREATE INDEX trace_sessions_by_start ON trace_sessions (workspace_id, last_started_at, session_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE trace_sessions');
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Jobs on their way to a queue outside PostgreSQL. The queue inside it has a schema and migrations of its own. */
export class PlatformJobOutbox1795132800150 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE job_outbox (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        kind text NOT NULL,
        ids jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE job_outbox');
  }
}

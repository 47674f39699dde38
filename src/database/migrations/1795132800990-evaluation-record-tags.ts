import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Records by tag: the index of the searches' migration, which databases lack that had run that before it was there. */
export class EvaluationRecordTags1795132800990 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX IF NOT EXISTS records_tags ON records USING gin (tags)');
  }

  async down(): Promise<void> {
    // it goes with the migration that it belongs to
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When an organization's apps were taken to be swept last: organizations take turns. */
export class RegistryAppTurns1795132801620 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX apps_of_organization_due ON apps (org_id, next_sweep_at) WHERE archived_at IS NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX apps_of_organization_due');
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Indexes of the sorts that lists have since gained, and the tenant first in that of scored targets. */
export class PlatformSortIndexes1795132800810 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX organizations_by_update ON organizations (updated_at, org_id);
      CREATE INDEX api_keys_by_update ON api_keys (service_account_id, updated_at, key_id);
      CREATE INDEX api_keys_by_name ON api_keys (service_account_id, (name COLLATE "C"), key_id);
      CREATE INDEX results_by_update ON results (experiment_id, updated_at, result_id);
      DROP INDEX score_results_target;
      CREATE INDEX score_results_target ON score_results (workspace_id, scorer_id, scorer_version, grain, target_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX organizations_by_update, api_keys_by_update, api_keys_by_name, results_by_update, score_results_target;
      CREATE INDEX score_results_target ON score_results (scorer_id, scorer_version, grain, target_id);
    `);
  }
}

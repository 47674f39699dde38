import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How the scores of one scorer are found: the newest of them, those of given targets, and those in results. */
export class EvaluationAgreement1795132800930 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX score_results_newest ON score_results (workspace_id, scorer_id, score_id);
      CREATE INDEX score_results_scored ON score_results (workspace_id, scorer_id, target_id, score_id);
      -- the few results whose scores name a scorer, or say more than a number
      CREATE INDEX results_detailed ON results (workspace_id, result_id) WHERE score_details::text <> '{}';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX score_results_newest, score_results_scored, results_detailed');
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What people said of a trace or a session, by that alone: what a new result that names it is to have of it. */
export class EvaluationScoredNames1795132800970 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX human_scores_named ON human_scores (workspace_id, target_id)
        WHERE superseded_by_score_id IS NULL AND target_kind <> 'result';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX human_scores_named');
  }
}

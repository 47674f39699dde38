import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The runs of a rule. The table of runs is read through for each index: no run can be ordered or goes on meanwhile, and
 * all can be read. They are apart from the column, whose lock would keep readers out until they are built.
 */
export class EvaluationScoringRuleRuns1795132801211 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX score_runs_rule ON score_runs (rule_id, score_run_id) WHERE rule_id IS NOT NULL;
      CREATE INDEX score_runs_rule_by_update ON score_runs (rule_id, updated_at, score_run_id) WHERE rule_id IS NOT NULL;
      CREATE INDEX score_runs_rule_open ON score_runs (rule_id)
        WHERE rule_id IS NOT NULL AND run_status IN ('queued', 'running');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX score_runs_rule, score_runs_rule_by_update, score_runs_rule_open');
  }
}

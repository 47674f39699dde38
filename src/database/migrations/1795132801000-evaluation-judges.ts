import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Hosted scoring with judges: what a run may cost, what was asked, and what all processes know of the judges. */
export class EvaluationJudges1795132801000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE score_runs
        ADD max_cost_usd double precision,
        ADD uses_cache boolean NOT NULL DEFAULT true,
        -- times that a worker could not go on with it, for another reason than that it was stopped
        ADD breakdowns integer NOT NULL DEFAULT 0;

      ALTER TABLE score_results
        ADD request_sha256 text,
        ADD is_cached boolean,
        ADD samples json;

      -- What judges have answered, so that nothing is asked twice. Service-owned copies of what results have, too.
      CREATE TABLE judge_answers (
        workspace_id text COLLATE "C" NOT NULL,
        scorer_id text COLLATE "C" NOT NULL,
        scorer_version integer NOT NULL,
        question_sha256 text COLLATE "C" NOT NULL,
        sample integer NOT NULL,
        judgement json NOT NULL,
        -- the target of a run that it was asked for, and whose cost it is
        asked_for text COLLATE "C",
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (workspace_id, scorer_id, scorer_version, question_sha256, sample)
      );
      CREATE INDEX judge_answers_by_age ON judge_answers (created_at);

      -- How much the judges bear, which all processes share; see limit-rules.ts. It is the operator's, and no tenant's.
      CREATE TABLE judge_limits (
        judge text COLLATE "C" PRIMARY KEY,
        state jsonb,
        updated_at timestamptz NOT NULL DEFAULT now()
      );

      -- What models take, as it was learned from what they refused.
      CREATE TABLE judge_features (
        model text COLLATE "C" PRIMARY KEY,
        features jsonb NOT NULL,
        learned_at timestamptz NOT NULL DEFAULT now()
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE judge_features, judge_limits, judge_answers;
      ALTER TABLE score_results DROP request_sha256, DROP is_cached, DROP samples;
      ALTER TABLE score_runs DROP max_cost_usd, DROP uses_cache, DROP breakdowns;
    `);
  }
}

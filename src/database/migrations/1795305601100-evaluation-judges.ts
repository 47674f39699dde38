import { SqlMigration } from './sql-migration';

/** Judges: their answers, their rate limits, and what their models support. */
export class EvaluationJudges1795305601100 extends SqlMigration {
  protected readonly sql = `
    -- The cache of judgements, so that no question is asked twice. Score results keep copies of their own.
    CREATE TABLE judge_answers (
      workspace_id text COLLATE "C" NOT NULL,
      scorer_id text COLLATE "C" NOT NULL,
      scorer_version integer NOT NULL,
      question_sha256 text COLLATE "C" NOT NULL,
      sample integer NOT NULL,
      judgement json NOT NULL,
      -- the run's target that it was asked for, which bears its cost
      asked_for text COLLATE "C",
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (workspace_id, scorer_id, scorer_version, question_sha256, sample)
    );
    -- the sweep of old answers
    CREATE INDEX judge_answers_by_age ON judge_answers (created_at);

    -- The state of each judge's rate limiter, which all processes share. It belongs to the operator, not to a tenant.
    CREATE TABLE judge_limits (
      judge text COLLATE "C" PRIMARY KEY,
      state jsonb,
      updated_at timestamptz NOT NULL DEFAULT now()
    );

    -- What each model supports, learned from the requests it refused.
    CREATE TABLE judge_features (
      model text COLLATE "C" PRIMARY KEY,
      features jsonb NOT NULL,
      learned_at timestamptz NOT NULL DEFAULT now()
    );
  `;
}

import { SqlMigration } from './sql-migration';

/** Judges: cached responses, and supported features of models. */
export class EvaluationJudges1795824000014 extends SqlMigration {
  protected readonly sql = `
    -- The cache of judgements, so that no request is sent twice. Score results contain copies of them.
    CREATE TABLE judge_answers (
      workspace_id text COLLATE "C" NOT NULL,
      scorer_id text COLLATE "C" NOT NULL,
      scorer_version integer NOT NULL,
      question_sha256 text COLLATE "C" NOT NULL,
      sample integer NOT NULL,
      judgement json NOT NULL,
      -- the run's target for which the request was sent, and whose cost includes the response
      target_key text COLLATE "C",
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (workspace_id, scorer_id, scorer_version, question_sha256, sample)
    );
    -- the periodic deletion of old responses
    CREATE INDEX judge_answers_by_age ON judge_answers (created_at);
    -- erasures: the responses about erased targets, and those without a run
    CREATE INDEX judge_answers_by_target ON judge_answers (workspace_id, target_key);

    -- Features that each model supports, learned from the requests that it rejected.
    CREATE TABLE judge_features (
      model text COLLATE "C" PRIMARY KEY,
      features jsonb NOT NULL,
      learned_at timestamptz NOT NULL DEFAULT now()
    );
  `;
}

import { SqlMigration } from './sql-migration';

/** Human scores. */
export class EvaluationScores1795305601000 extends SqlMigration {
  protected readonly sql = `
    -- Rows never change, except that a correction supersedes an earlier score.
    CREATE TABLE human_scores (
      score_id text COLLATE "C" PRIMARY KEY,
      workspace_id text COLLATE "C" NOT NULL,
      scorer_id text COLLATE "C" NOT NULL,
      scorer_version integer NOT NULL,
      target_kind text NOT NULL
        CONSTRAINT human_scores_target_kind CHECK (target_kind IN ('trace', 'session', 'result')),
      -- for a score of a result, the trace and session of the result, which never change
      trace_id text COLLATE "C",
      session_id text COLLATE "C",
      experiment_id text COLLATE "C",
      result_id text COLLATE "C",
      target_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        CASE target_kind WHEN 'trace' THEN trace_id WHEN 'session' THEN session_id ELSE result_id END) STORED,
      score double precision NOT NULL,
      -- the answer that the score was computed from; the scorer's definition determines which of the three is set
      choice text,
      value json,
      answers json,
      -- SHA-256 of the definition's output (RFC 8785); scores with equal hashes have the same scale
      output_sha256 text NOT NULL,
      comment text,
      metadata json NOT NULL DEFAULT '{}',
      supersedes_score_id text COLLATE "C" REFERENCES human_scores,
      superseded_by_score_id text COLLATE "C",
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (
        octet_length(metadata::text) + coalesce(octet_length(answers::text), 0) + coalesce(octet_length(comment), 0)
      ) STORED,
      FOREIGN KEY (scorer_id, scorer_version) REFERENCES scorer_versions,
      CONSTRAINT human_scores_target CHECK (
        (target_kind = 'result') = (result_id IS NOT NULL) AND (result_id IS NULL) = (experiment_id IS NULL)
        AND (target_kind <> 'trace' OR session_id IS NULL) AND (target_kind <> 'session' OR trace_id IS NULL)),
      CONSTRAINT human_scores_answer CHECK (num_nonnulls(choice, value, answers) = 1)
    );
    -- A person has one current score per scorer and target. Write-back and agreement use this index as well.
    CREATE UNIQUE INDEX human_scores_present
      ON human_scores (workspace_id, scorer_id, target_kind, target_id, created_by)
      WHERE superseded_by_score_id IS NULL;
    -- write-back to a new result: the scores of its trace and session
    CREATE INDEX human_scores_named ON human_scores (workspace_id, target_id)
      WHERE superseded_by_score_id IS NULL AND target_kind <> 'result';
    -- GET /eval/v1/scores: sorts created_at and updated_at, filters scorer_id, trace_id, session_id, result_id and
    -- created_by
    CREATE INDEX human_scores_by_creation ON human_scores (workspace_id, score_id);
    CREATE INDEX human_scores_by_update ON human_scores (workspace_id, updated_at, score_id);
    CREATE INDEX human_scores_scorer ON human_scores (workspace_id, scorer_id, score_id);
    CREATE INDEX human_scores_trace ON human_scores (workspace_id, trace_id, score_id) WHERE trace_id IS NOT NULL;
    CREATE INDEX human_scores_session ON human_scores (workspace_id, session_id, score_id) WHERE session_id IS NOT NULL;
    CREATE INDEX human_scores_result ON human_scores (workspace_id, result_id, score_id) WHERE result_id IS NOT NULL;
    CREATE INDEX human_scores_annotator ON human_scores (workspace_id, created_by, score_id);

    -- For the filter experiment_id: the experiments with a result for the target of the score.
    CREATE TABLE human_score_experiments (
      experiment_id text COLLATE "C" NOT NULL,
      score_id text COLLATE "C" NOT NULL REFERENCES human_scores,
      workspace_id text COLLATE "C" NOT NULL,
      PRIMARY KEY (experiment_id, score_id)
    );
  `;
}

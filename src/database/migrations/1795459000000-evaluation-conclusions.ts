import { SqlMigration } from './sql-migration';

/** Run keys, promoted baselines and parts of datasets; versions of results; the scores that comparisons read. */
export class EvaluationConclusions1795459000000 extends SqlMigration {
  protected readonly sql = `
    -- the promoted baselines: experiment ids by eval name
    ALTER TABLE datasets ADD COLUMN baselines jsonb NOT NULL DEFAULT '{}';

    ALTER TABLE experiments
      ADD COLUMN run_key text,
      ADD COLUMN dataset_filter json,
      -- number of cases of the dataset that back the experiment; null without a dataset
      ADD COLUMN expected_case_count integer;
    -- a failed or archived experiment releases its key
    CREATE UNIQUE INDEX experiments_run_key ON experiments (workspace_id, name, experiment_name, run_key)
      WHERE run_key IS NOT NULL AND experiment_status <> 'failed' AND archived_at IS NULL;

    ALTER TABLE results
      -- incremented when the result is replaced
      ADD COLUMN version integer NOT NULL DEFAULT 1,
      -- whether its case is one of the cases that the experiment expects
      ADD COLUMN is_expected boolean NOT NULL DEFAULT false;
    -- GET /eval/v1/experiments/{id}/results: sort duration_ms, filter has_error
    CREATE INDEX results_by_duration ON results (experiment_id, duration_ms, result_id);
    CREATE INDEX results_failed ON results (experiment_id, result_id) WHERE error IS NOT NULL;

    -- The scores of results that count: the newest score per result, scorer name, version and source. results.scores has the
    -- scores that a client wrote or that were written back, and does not change once the experiment is frozen. This table also
    -- has the scores that came later.
    CREATE TABLE result_scores (
      experiment_id text COLLATE "C" NOT NULL,
      scorer text COLLATE "C" NOT NULL,
      -- 0 if the score names no version
      scorer_version integer NOT NULL,
      result_id text COLLATE "C" NOT NULL,
      -- human scores are combined: the mean of each person's newest score
      source text NOT NULL CONSTRAINT result_scores_source CHECK (source IN ('client', 'hosted', 'human')),
      workspace_id text COLLATE "C" NOT NULL,
      scorer_id text COLLATE "C",
      -- null: the scorer gave no score on purpose
      score double precision,
      -- whether this score is the one in results.scores
      is_shown boolean NOT NULL,
      -- whether it came after the experiment was finalized
      is_late boolean NOT NULL DEFAULT false,
      -- the score that a late score replaced here; results.scores still has it if is_shown
      frozen_score double precision,
      -- the number in results.scores
      shown_score double precision GENERATED ALWAYS AS (
        CASE WHEN is_shown THEN CASE WHEN is_late THEN frozen_score ELSE score END END) STORED,
      PRIMARY KEY (experiment_id, scorer, scorer_version, result_id, source)
    );
    CREATE INDEX result_scores_result ON result_scores (experiment_id, result_id, scorer);
    -- GET /eval/v1/experiments/{id}/results: filter and sort by a score
    CREATE INDEX result_scores_by_score ON result_scores (experiment_id, scorer, shown_score, result_id)
      WHERE shown_score IS NOT NULL;
    CREATE INDEX result_scores_late ON result_scores (experiment_id) WHERE is_late;
    INSERT INTO result_scores (experiment_id, scorer, scorer_version, result_id, source, workspace_id, scorer_id, score,
                               is_shown)
    SELECT r.experiment_id, s.key, coalesce((d.detail ->> 'scorer_version')::integer, 0), r.result_id,
           CASE WHEN d.detail #> '{metadata,score_ids}' IS NOT NULL THEN 'human'
                WHEN d.detail #> '{metadata,score_run_id}' IS NOT NULL THEN 'hosted' ELSE 'client' END,
           r.workspace_id, d.detail ->> 'scorer_id',
           CASE WHEN jsonb_typeof(s.value) = 'number' THEN s.value::float8 END, true
    FROM results r CROSS JOIN LATERAL jsonb_each(r.scores) AS s
    CROSS JOIN LATERAL (SELECT r.score_details -> s.key AS detail) d;

    -- the version of the scored result, if the target is a result
    ALTER TABLE human_scores ADD COLUMN result_version integer;
    UPDATE human_scores SET result_version = 1 WHERE result_id IS NOT NULL;

    ALTER TABLE score_targets DROP CONSTRAINT score_targets_once;
    ALTER TABLE score_targets DROP COLUMN target_id;
    ALTER TABLE score_targets
      -- set for a target that is a result: a run over an experiment scores its results
      ADD COLUMN result_version integer,
      ADD COLUMN case_id text COLLATE "C";
    ALTER TABLE score_targets
      ADD COLUMN target_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        CASE WHEN result_version IS NULL THEN coalesce(trace_id, session_id)
             ELSE result_id || '@' || result_version::text END) STORED,
      ADD CONSTRAINT score_targets_once UNIQUE (score_run_id, target_id);

    DROP INDEX score_results_target;
    DROP INDEX score_results_scored;
    ALTER TABLE score_results DROP COLUMN target_id;
    ALTER TABLE score_results
      ADD COLUMN experiment_id text COLLATE "C",
      ADD COLUMN result_id text COLLATE "C",
      ADD COLUMN result_version integer,
      ADD COLUMN case_id text COLLATE "C",
      -- whether results.scores has the score; null if the target is not a result, or there is no score
      ADD COLUMN is_written_back boolean;
    ALTER TABLE score_results
      ADD COLUMN target_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        CASE WHEN result_version IS NULL THEN coalesce(trace_id, session_id)
             ELSE result_id || '@' || result_version::text END) STORED;
    -- unscored_only: the targets that this version of the scorer has scored
    CREATE INDEX score_results_target ON score_results (workspace_id, scorer_id, scorer_version, grain, target_id);
    -- agreement: the scores of a scorer for given traces, sessions and results
    CREATE INDEX score_results_trace ON score_results (workspace_id, scorer_id, trace_id, score_id)
      WHERE trace_id IS NOT NULL;
    CREATE INDEX score_results_session ON score_results (workspace_id, scorer_id, session_id, score_id)
      WHERE session_id IS NOT NULL AND trace_id IS NULL;
    CREATE INDEX score_results_result ON score_results (workspace_id, scorer_id, result_id, score_id)
      WHERE result_id IS NOT NULL;
    ALTER TABLE score_runs ADD COLUMN not_written_back_count integer NOT NULL DEFAULT 0;
  `;
}

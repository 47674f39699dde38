import { bytesOf, SqlMigration } from './sql-migration';

const EXPERIMENT_BYTES = bytesOf(
  ...['description', 'config', 'context_manifest', 'metrics', 'error', 'summary', 'metadata'],
);
const RESULT_BYTES = bytesOf('input', 'expected', 'metadata', 'output', 'error');
const CHECK_BYTES = bytesOf('request', 'result');

/** Experiments, their results and their gate checks. */
export class EvaluationExperiments1795824000011 extends SqlMigration {
  protected readonly sql = `
    -- Runs of a system over cases. An experiment collects results until it is finalized.
    CREATE TABLE experiments (
      experiment_id text COLLATE "C" PRIMARY KEY,
      workspace_id text COLLATE "C" NOT NULL,
      name text NOT NULL,
      experiment_name text NOT NULL,
      -- identifies a run of an evaluation, so that a retried job gets the same experiment
      run_key text,
      description text,
      config json NOT NULL DEFAULT '{}',
      -- "key:value" for each scalar member of config, for the filter config
      config_pairs text[] NOT NULL DEFAULT '{}',
      -- no foreign key, because an experiment may outlive its dataset and its baseline
      dataset_id text COLLATE "C",
      dataset_version integer,
      -- the part of the dataset that the experiment is run on; null for all of it
      dataset_filter json,
      -- number of cases of the dataset that back the experiment; null without a dataset
      expected_case_count integer,
      -- the revision of the dataset when the experiment was created; its snapshot shows this revision
      dataset_revision bigint,
      -- whether the dataset, or the pinned CSV version, was deleted
      dataset_erased boolean NOT NULL DEFAULT false,
      -- whether records of the snapshot were deleted
      records_erased boolean NOT NULL DEFAULT false,
      baseline_experiment_id text COLLATE "C",
      -- whether the baseline was deleted
      baseline_erased boolean NOT NULL DEFAULT false,
      subject_kind text CONSTRAINT experiments_subject_kind CHECK (subject_kind IN ('agent', 'harness', 'skill')),
      subject_id text,
      context_manifest json,
      experiment_status text NOT NULL DEFAULT 'running'
        CONSTRAINT experiments_status CHECK (experiment_status IN ('running', 'completed', 'failed')),
      metrics json,
      error json,
      summary json,
      dataset_snapshot json,
      -- separate from dataset_snapshot, because there may be 10,000 records, which lists omit
      snapshot_records json,
      tags text[] NOT NULL DEFAULT '{}',
      metadata json NOT NULL DEFAULT '{}',
      finalized_at timestamptz,
      generation integer NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS (${EXPERIMENT_BYTES}) STORED,
      search tsvector GENERATED ALWAYS AS (
        search_words(name || ' ' || experiment_name || ' ' || coalesce(description, ''))
      ) STORED,
      CONSTRAINT experiments_subject_pair CHECK ((subject_kind IS NULL) = (subject_id IS NULL))
    );
    -- a failed or archived experiment releases its key
    CREATE UNIQUE INDEX experiments_run_key ON experiments (workspace_id, name, experiment_name, run_key)
      WHERE run_key IS NOT NULL AND experiment_status <> 'failed' AND archived_at IS NULL;
    -- GET /eval/v1/experiments: sorts created_at (archived_at is included, so that totals are counted from the index
    -- alone), updated_at and name
    CREATE INDEX experiments_by_creation ON experiments (workspace_id, experiment_id) INCLUDE (archived_at);
    CREATE INDEX experiments_by_update ON experiments (workspace_id, updated_at, experiment_id);
    CREATE INDEX experiments_by_name ON experiments (workspace_id, (name COLLATE "C"), experiment_id);
    -- its filters dataset_id, baseline_experiment_id, subject_id, subject_kind, experiment_status, config, tag and q
    CREATE INDEX experiments_dataset ON experiments (dataset_id, experiment_id) WHERE dataset_id IS NOT NULL;
    CREATE INDEX experiments_baseline ON experiments (baseline_experiment_id, experiment_id)
      WHERE baseline_experiment_id IS NOT NULL;
    CREATE INDEX experiments_subject ON experiments (workspace_id, subject_id, experiment_id) WHERE subject_id IS NOT NULL;
    CREATE INDEX experiments_by_subject_kind ON experiments (workspace_id, subject_kind, experiment_id)
      WHERE subject_kind IS NOT NULL;
    CREATE INDEX experiments_by_status ON experiments (workspace_id, experiment_status, experiment_id);
    CREATE INDEX experiments_config ON experiments USING gin (config_pairs);
    CREATE INDEX experiments_tags ON experiments USING gin (tags);
    CREATE INDEX experiments_search ON experiments USING gin (search);
    -- POST /eval/v1/experiments/search: metadata
    CREATE INDEX experiments_metadata ON experiments USING gin (searchable_json(metadata) jsonb_path_ops);

    -- The mean scores of summaries, written once when an experiment is finalized.
    CREATE TABLE experiment_scores (
      workspace_id text COLLATE "C" NOT NULL,
      experiment_id text COLLATE "C" NOT NULL,
      scorer text COLLATE "C" NOT NULL,
      mean double precision NOT NULL,
      PRIMARY KEY (workspace_id, experiment_id, scorer) INCLUDE (mean)
    );
    -- POST /eval/v1/experiments/search: experiments by mean score
    CREATE INDEX experiment_scores_mean ON experiment_scores (workspace_id, scorer, mean, experiment_id);

    -- Append-only and written in bulk. The experiment comes first in the key, so that its results are stored together. No
    -- foreign keys, because they would be checked for every row while the experiment is locked.
    CREATE TABLE results (
      experiment_id text COLLATE "C" NOT NULL,
      result_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      -- incremented when the result is replaced
      version integer NOT NULL DEFAULT 1,
      -- incremented by each change of the result itself, for its ETag
      generation integer NOT NULL DEFAULT 1,
      case_id text COLLATE "C" NOT NULL,
      -- whether its case is one of the cases that the experiment expects
      is_expected boolean NOT NULL DEFAULT false,
      input json,
      expected json,
      metadata json NOT NULL DEFAULT '{}',
      tags text[] NOT NULL DEFAULT '{}',
      dataset_record_id text COLLATE "C",
      dataset_record_version integer,
      output json,
      error json,
      trace_id text COLLATE "C",
      session_id text COLLATE "C",
      duration_ms double precision,
      trial_group text COLLATE "C",
      trial_index integer,
      -- whether its content was erased: its values and the ids of its trace and session are then null
      erased boolean NOT NULL DEFAULT false,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (${RESULT_BYTES}) STORED,
      -- comparisons find the cases that have changed by these, without reading the values
      input_hash bigint GENERATED ALWAYS AS (hashtextextended(input::text COLLATE "C", 0)) STORED,
      expected_hash bigint GENERATED ALWAYS AS (hashtextextended(expected::text COLLATE "C", 0)) STORED,
      -- includes the workspace, so that totals are counted from the index alone
      PRIMARY KEY (experiment_id, result_id) INCLUDE (workspace_id)
    );
    CREATE UNIQUE INDEX results_case_id ON results (experiment_id, case_id);
    -- GET /eval/v1/experiments/{id}/results: sorts updated_at and duration_ms, filters dataset_record_id and has_error
    CREATE INDEX results_by_update ON results (experiment_id, updated_at, result_id);
    CREATE INDEX results_by_duration ON results (experiment_id, duration_ms, result_id);
    CREATE INDEX results_record ON results (experiment_id, dataset_record_id, result_id) WHERE dataset_record_id IS NOT NULL;
    CREATE INDEX results_failed ON results (experiment_id, result_id) WHERE error IS NOT NULL;
    -- results by trace or session: their human scores, the traces of an experiment, filter session_id
    CREATE INDEX results_trace ON results (workspace_id, trace_id, result_id) WHERE trace_id IS NOT NULL;
    CREATE INDEX results_session ON results (workspace_id, session_id, result_id) WHERE session_id IS NOT NULL;
    -- A score refers to a result by its id alone. A hash index, so that the planner never uses it to sort a list.
    CREATE INDEX results_id ON results USING hash (result_id);

    -- The newest checks of each experiment against the rules of a gate.
    CREATE TABLE gate_checks (
      experiment_id text COLLATE "C" NOT NULL REFERENCES experiments ON DELETE CASCADE,
      gate_check_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      passed boolean NOT NULL,
      -- the request and the response
      request json NOT NULL,
      result json NOT NULL,
      created_at timestamptz NOT NULL,
      created_by text NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (${CHECK_BYTES}) STORED,
      PRIMARY KEY (experiment_id, gate_check_id) INCLUDE (workspace_id)
    );
  `;
}

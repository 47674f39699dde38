import { SqlMigration } from './sql-migration';

/** Batches: runs over more targets than one run may have. Also the daily cost limit of rules. */
export class ScoreBatches1795459500000 extends SqlMigration {
  protected readonly sql = `
    CREATE TABLE score_batches (
      score_batch_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      scorer_id text COLLATE "C" NOT NULL,
      scorer_version integer NOT NULL,
      experiment_id text COLLATE "C",
      grain text NOT NULL CONSTRAINT score_batches_grain CHECK (grain IN ('trace', 'session')),
      -- selecting: the request is still selecting targets, and the batch is not visible
      batch_status text NOT NULL DEFAULT 'selecting' CONSTRAINT score_batches_status
        CHECK (batch_status IN ('selecting', 'queued', 'running', 'succeeded', 'failed')),
      concurrency integer NOT NULL,
      max_cost_usd double precision,
      uses_cache boolean NOT NULL,
      total integer NOT NULL DEFAULT 0,
      -- runs started so far
      run_count integer NOT NULL DEFAULT 0,
      -- sums over the runs that have ended
      completed_count integer NOT NULL DEFAULT 0,
      failed_count integer NOT NULL DEFAULT 0,
      not_written_back_count integer NOT NULL DEFAULT 0,
      cost_usd double precision,
      failure_code text,
      failure_detail text,
      started_at timestamptz,
      finished_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text NOT NULL,
      FOREIGN KEY (scorer_id, scorer_version) REFERENCES scorer_versions
    );
    -- GET /eval/v1/score-batches: sorts created_at and updated_at, filters batch_status, scorer_id and experiment_id
    CREATE INDEX score_batches_by_creation ON score_batches (workspace_id, score_batch_id);
    CREATE INDEX score_batches_by_update ON score_batches (workspace_id, updated_at, score_batch_id);
    CREATE INDEX score_batches_status_of ON score_batches (workspace_id, batch_status, score_batch_id);
    CREATE INDEX score_batches_scorer ON score_batches (scorer_id, score_batch_id);
    CREATE INDEX score_batches_experiment ON score_batches (experiment_id, score_batch_id)
      WHERE experiment_id IS NOT NULL;
    -- the number of open batches of a workspace, and abandoned requests
    CREATE INDEX score_batches_open ON score_batches (workspace_id)
      WHERE batch_status IN ('selecting', 'queued', 'running');

    -- The targets of open batches that are in no run yet. They move to score_targets when their run is started.
    CREATE TABLE score_batch_targets (
      score_batch_id text COLLATE "C" NOT NULL REFERENCES score_batches ON DELETE CASCADE,
      ordinal integer NOT NULL,
      trace_id text COLLATE "C",
      session_id text COLLATE "C",
      result_experiment_id text COLLATE "C",
      result_id text COLLATE "C",
      result_version integer,
      case_id text COLLATE "C",
      target_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        CASE WHEN result_version IS NULL THEN coalesce(trace_id, session_id)
             ELSE result_id || '@' || result_version::text END) STORED,
      PRIMARY KEY (score_batch_id, ordinal),
      -- by target first, for unscored_only: the targets that wait in a batch
      CONSTRAINT score_batch_targets_once UNIQUE (target_id, score_batch_id)
    );

    ALTER TABLE score_runs ADD COLUMN score_batch_id text COLLATE "C" REFERENCES score_batches;
    -- GET /eval/v1/score-runs: filter score_batch_id
    CREATE INDEX score_runs_batch ON score_runs (score_batch_id, score_run_id) WHERE score_batch_id IS NOT NULL;
    CREATE INDEX score_runs_batch_by_update ON score_runs (score_batch_id, updated_at, score_run_id)
      WHERE score_batch_id IS NOT NULL;
    CREATE INDEX score_runs_batch_open ON score_runs (score_batch_id)
      WHERE score_batch_id IS NOT NULL AND run_status IN ('queued', 'running');

    ALTER TABLE scoring_rules
      ADD COLUMN max_cost_usd_per_day double precision,
      -- the end of the pause of a rule whose runs have reached max_cost_usd_per_day
      ADD COLUMN paused_until timestamptz,
      ADD COLUMN last_paused_at timestamptz;
  `;
}

import { SqlMigration } from './sql-migration';

/** Hosted scoring: rules that start runs, batches, runs, their targets, and their results. */
export class EvaluationScoring1795824000015 extends SqlMigration {
  protected readonly sql = `
    -- Rules that score traces and sessions as they arrive.
    CREATE TABLE scoring_rules (
      rule_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      scorer_id text COLLATE "C" NOT NULL REFERENCES scorers ON DELETE CASCADE,
      sample_rate double precision NOT NULL CONSTRAINT scoring_rules_sample_rate CHECK (sample_rate BETWEEN 0 AND 1),
      filters json NOT NULL,
      grain text NOT NULL CONSTRAINT scoring_rules_grain CHECK (grain IN ('trace', 'session')),
      -- null for the default of the grain
      quiet_seconds integer CONSTRAINT scoring_rules_quiet CHECK (quiet_seconds BETWEEN 1 AND 86400),
      max_cost_usd_per_day double precision,
      pace text NOT NULL DEFAULT 'even' CONSTRAINT scoring_rules_pace CHECK (pace IN ('even', 'greedy')),
      enabled boolean NOT NULL,
      generation integer NOT NULL,
      enabled_at timestamptz NOT NULL,
      -- The cursor in the trace feed: microseconds since 1970, and the id of a trace that arrived then. It advances in the
      -- transaction that starts the run.
      seen_us bigint NOT NULL,
      seen_trace_id text COLLATE "C" NOT NULL DEFAULT '',
      last_seen_at timestamptz,
      seen_count bigint NOT NULL DEFAULT 0,
      chosen_count bigint NOT NULL DEFAULT 0,
      ordered_count bigint NOT NULL DEFAULT 0,
      -- the counts of one day (UTC), which begins at counted_day
      counted_day timestamptz,
      sent_today integer NOT NULL DEFAULT 0,
      skipped_today integer NOT NULL DEFAULT 0,
      scored_today integer NOT NULL DEFAULT 0,
      spent_today_usd double precision NOT NULL DEFAULT 0,
      last_run_at timestamptz,
      last_score_run_id text COLLATE "C",
      last_error text,
      -- the end of the last pause of a rule whose runs reached max_cost_usd_per_day
      paused_until timestamptz,
      last_paused_at timestamptz,
      -- end of the lease of the worker that runs the rule
      held_until timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(filters::text)) STORED
    );
    -- GET /eval/v1/scorers/{id}/rules: sorts created_at and updated_at
    CREATE INDEX scoring_rules_by_creation ON scoring_rules (workspace_id, scorer_id, rule_id);
    CREATE INDEX scoring_rules_by_update ON scoring_rules (workspace_id, scorer_id, updated_at, rule_id);
    -- GET /eval/v1/scoring-rules: sorts created_at and updated_at, filters scorer_id (above) and enabled
    CREATE INDEX scoring_rules_of_workspace ON scoring_rules (workspace_id, rule_id);
    CREATE INDEX scoring_rules_of_workspace_by_update ON scoring_rules (workspace_id, updated_at, rule_id);
    -- the deletion of a scorer; a hash index, so that the planner never uses it to sort a list
    CREATE INDEX scoring_rules_of_scorer ON scoring_rules USING hash (scorer_id);
    -- workers: all enabled rules
    CREATE INDEX scoring_rules_live ON scoring_rules (rule_id) WHERE enabled AND archived_at IS NULL;

    -- The scoring of up to 100,000 targets in runs. No foreign key to the scorer, which batches and runs may outlive.
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
      truncated_count integer NOT NULL DEFAULT 0,
      too_large_count integer NOT NULL DEFAULT 0,
      cost_usd double precision,
      failure_code text,
      failure_detail text,
      started_at timestamptz,
      finished_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text NOT NULL
    );
    -- GET /eval/v1/score-batches: sorts created_at and updated_at, filters batch_status, scorer_id and experiment_id
    CREATE INDEX score_batches_by_creation ON score_batches (workspace_id, score_batch_id);
    CREATE INDEX score_batches_by_update ON score_batches (workspace_id, updated_at, score_batch_id);
    CREATE INDEX score_batches_by_status ON score_batches (workspace_id, batch_status, score_batch_id);
    CREATE INDEX score_batches_scorer ON score_batches (scorer_id, score_batch_id);
    CREATE INDEX score_batches_experiment ON score_batches (experiment_id, score_batch_id)
      WHERE experiment_id IS NOT NULL;
    -- the number of open batches of an organization, and abandoned requests
    CREATE INDEX score_batches_open ON score_batches (org_id)
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

    -- The scoring of up to 100 targets with one version of a scorer.
    CREATE TABLE score_runs (
      score_run_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      scorer_id text COLLATE "C" NOT NULL,
      scorer_version integer NOT NULL,
      experiment_id text COLLATE "C",
      -- the rule that started it
      rule_id text COLLATE "C",
      -- the batch that it belongs to
      score_batch_id text COLLATE "C" REFERENCES score_batches ON DELETE CASCADE,
      grain text NOT NULL CONSTRAINT score_runs_grain CHECK (grain IN ('trace', 'session')),
      run_status text NOT NULL DEFAULT 'queued'
        CONSTRAINT score_runs_status CHECK (run_status IN ('queued', 'running', 'succeeded', 'failed')),
      concurrency integer NOT NULL,
      max_cost_usd double precision,
      uses_cache boolean NOT NULL DEFAULT true,
      total integer NOT NULL,
      -- set when the run ends; until then they are counted from the results
      completed_count integer NOT NULL DEFAULT 0,
      failed_count integer NOT NULL DEFAULT 0,
      not_written_back_count integer NOT NULL DEFAULT 0,
      truncated_count integer NOT NULL DEFAULT 0,
      too_large_count integer NOT NULL DEFAULT 0,
      cost_usd double precision,
      failure_code text,
      failure_detail text,
      -- the lease of the worker that has the run, and its end unless a heartbeat renews it
      lease_token text,
      lease_expires_at timestamptz,
      -- how often another worker took over the run from one that had died
      takeovers integer NOT NULL DEFAULT 0,
      -- how often a worker failed to complete the run, not counting shutdowns
      failed_attempts integer NOT NULL DEFAULT 0,
      -- when the last worker gave it back, unless a worker has continued it since
      released_at timestamptz,
      -- until when it waits after a failed attempt
      retry_at timestamptz,
      -- The oldest and the newest of the results that were scanned to select the targets. All results in between were scored,
      -- or were targets of runs, when this run was accepted, so the next selection continues outside of this range. Only a
      -- hint: results may have been replaced since, or become visible late.
      scanned_from text COLLATE "C",
      scanned_to text COLLATE "C",
      deadline_at timestamptz,
      started_at timestamptz,
      finished_at timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text NOT NULL
    );
    -- GET /eval/v1/score-runs: sorts created_at and updated_at (also for one rule or batch), filters run_status, scorer_id,
    -- experiment_id, rule_id and score_batch_id
    CREATE INDEX score_runs_by_creation ON score_runs (workspace_id, score_run_id);
    CREATE INDEX score_runs_by_update ON score_runs (workspace_id, updated_at, score_run_id);
    CREATE INDEX score_runs_by_status ON score_runs (workspace_id, run_status, score_run_id);
    CREATE INDEX score_runs_scorer ON score_runs (scorer_id, score_run_id);
    CREATE INDEX score_runs_experiment ON score_runs (experiment_id, score_run_id) WHERE experiment_id IS NOT NULL;
    CREATE INDEX score_runs_rule ON score_runs (rule_id, score_run_id) WHERE rule_id IS NOT NULL;
    CREATE INDEX score_runs_rule_by_update ON score_runs (rule_id, updated_at, score_run_id) WHERE rule_id IS NOT NULL;
    -- the latest runs of a rule with a cost
    CREATE INDEX score_runs_rule_costs ON score_runs (rule_id, scorer_version, score_run_id)
      WHERE rule_id IS NOT NULL AND cost_usd > 0;
    CREATE INDEX score_runs_batch ON score_runs (score_batch_id, score_run_id) WHERE score_batch_id IS NOT NULL;
    CREATE INDEX score_runs_batch_by_update ON score_runs (score_batch_id, updated_at, score_run_id)
      WHERE score_batch_id IS NOT NULL;
    -- the targets of open runs of a scorer version, and the number of open runs of a rule and of a batch
    CREATE INDEX score_runs_open ON score_runs (scorer_id, scorer_version) WHERE run_status IN ('queued', 'running');
    CREATE INDEX score_runs_rule_open ON score_runs (rule_id)
      WHERE rule_id IS NOT NULL AND run_status IN ('queued', 'running');
    CREATE INDEX score_runs_batch_open ON score_runs (score_batch_id)
      WHERE score_batch_id IS NOT NULL AND run_status IN ('queued', 'running');
    -- the newest scanned ranges of an experiment
    CREATE INDEX score_runs_scanned ON score_runs (scorer_id, scorer_version, grain, experiment_id, score_run_id)
      WHERE scanned_from IS NOT NULL;
    -- workers: the organizations with queued runs and the oldest run of each; runs that were started. Requests: the number
    -- of open runs of an organization
    CREATE INDEX score_runs_queued ON score_runs (org_id, score_run_id) WHERE run_status = 'queued';
    CREATE INDEX score_runs_running ON score_runs (org_id, score_run_id) WHERE run_status = 'running';

    -- When a worker last claimed a run of an organization, so that organizations take turns over all workers.
    CREATE TABLE scoring_turns (
      org_id text COLLATE "C" PRIMARY KEY,
      claimed_at timestamptz NOT NULL
    );

    -- The targets of a run, which do not change once it is accepted. A trace has its session, if any; a session has no trace.
    CREATE TABLE score_targets (
      score_run_id text COLLATE "C" NOT NULL REFERENCES score_runs ON DELETE CASCADE,
      ordinal integer NOT NULL,
      trace_id text COLLATE "C",
      session_id text COLLATE "C",
      -- these are set for a target that is a result: a run over an experiment scores its results
      result_experiment_id text COLLATE "C",
      result_id text COLLATE "C",
      result_version integer,
      case_id text COLLATE "C",
      -- whether its trace, session or result was erased, or its trace was deleted: late answers about it are not cached
      is_erased boolean NOT NULL DEFAULT false,
      -- an erased trace or session leaves a target without its id
      target_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        CASE WHEN result_version IS NULL THEN coalesce(trace_id, session_id, 'erased ' || ordinal::text)
             ELSE result_id || '@' || result_version::text END) STORED,
      PRIMARY KEY (score_run_id, ordinal),
      CONSTRAINT score_targets_once UNIQUE (score_run_id, target_id)
    );

    -- What became of each target of a run: one row, even if a job is delivered twice. Its score is in scores.
    CREATE TABLE target_outcomes (
      score_run_id text COLLATE "C" NOT NULL,
      ordinal integer NOT NULL,
      -- the id of its score, if it has one, else of this outcome
      score_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      scorer_id text COLLATE "C" NOT NULL,
      scorer_version integer NOT NULL,
      grain text NOT NULL,
      -- as in score_targets
      target_id text COLLATE "C" NOT NULL,
      -- why there is no score; null if the target was scored, or the scorer abstained
      error text,
      -- whether the summary of the result's experiment can count the score; null if the target is not a result, or failed
      is_counted boolean,
      confidence double precision,
      probabilities json,
      -- only if it is longer than the comment of the score
      reasoning text,
      samples json,
      backend text,
      -- only for a target that failed; else the score has it
      model text,
      request_sha256 text,
      is_cached boolean,
      -- whether the scorer could not be shown all of the target
      is_truncated boolean NOT NULL DEFAULT false,
      elapsed_ms integer NOT NULL,
      cost_usd double precision,
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (score_run_id, ordinal),
      FOREIGN KEY (score_run_id, ordinal) REFERENCES score_targets ON DELETE CASCADE
    );
    -- GET /eval/v1/score-runs/{id}/results
    CREATE INDEX target_outcomes_by_creation ON target_outcomes (score_run_id, score_id);
    -- unscored_only: the targets that this version of the scorer has scored. Also the outcomes of a deleted trace
    CREATE INDEX target_outcomes_target ON target_outcomes (workspace_id, target_id, scorer_id, scorer_version, grain);
  `;
}

import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Runs of hosted scoring, what each of them is to score, and what came of it. */
export class EvaluationScoring1795132800700 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE score_runs (
        score_run_id text COLLATE "C" PRIMARY KEY,
        org_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        scorer_id text COLLATE "C" NOT NULL,
        scorer_version integer NOT NULL,
        experiment_id text COLLATE "C",
        grain text NOT NULL CONSTRAINT score_runs_grain CHECK (grain IN ('trace', 'session')),
        run_status text NOT NULL DEFAULT 'queued'
          CONSTRAINT score_runs_status CHECK (run_status IN ('queued', 'running', 'succeeded', 'failed')),
        concurrency integer NOT NULL,
        total integer NOT NULL,
        -- as they stand at the end; while the run goes on they are counted from its results
        completed_count integer NOT NULL DEFAULT 0,
        failed_count integer NOT NULL DEFAULT 0,
        cost_usd double precision,
        failure_code text,
        failure_detail text,
        -- whose run it is at the moment, and until when without a sign of life
        lease_token text,
        lease_expires_at timestamptz,
        -- times that it was taken from a worker that had died
        takeovers integer NOT NULL DEFAULT 0,
        -- when it was last ordered again
        swept_at timestamptz,
        deadline_at timestamptz,
        started_at timestamptz,
        finished_at timestamptz,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        created_by text NOT NULL,
        FOREIGN KEY (scorer_id, scorer_version) REFERENCES scorer_versions
      );
      CREATE INDEX score_runs_by_creation ON score_runs (workspace_id, score_run_id);
      CREATE INDEX score_runs_by_update ON score_runs (workspace_id, updated_at, score_run_id);
      CREATE INDEX score_runs_scorer ON score_runs (scorer_id, score_run_id);
      CREATE INDEX score_runs_status_of ON score_runs (workspace_id, run_status, score_run_id);
      CREATE INDEX score_runs_experiment ON score_runs (experiment_id, score_run_id) WHERE experiment_id IS NOT NULL;
      CREATE INDEX score_runs_open ON score_runs (scorer_id, scorer_version) WHERE run_status IN ('queued', 'running');
      CREATE INDEX score_runs_unfinished ON score_runs (swept_at NULLS FIRST) WHERE run_status IN ('queued', 'running');

      -- Frozen as the run is accepted. A trace has its session beside it where it has one; a session has no trace.
      CREATE TABLE score_targets (
        score_run_id text COLLATE "C" NOT NULL REFERENCES score_runs,
        ordinal integer NOT NULL,
        trace_id text COLLATE "C",
        session_id text COLLATE "C",
        target_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (coalesce(trace_id, session_id)) STORED,
        -- the result that names it
        result_experiment_id text COLLATE "C",
        result_id text COLLATE "C",
        PRIMARY KEY (score_run_id, ordinal),
        CONSTRAINT score_targets_once UNIQUE (score_run_id, target_id)
      );

      -- One for each target, whatever is delivered twice.
      CREATE TABLE score_results (
        score_run_id text COLLATE "C" NOT NULL,
        ordinal integer NOT NULL,
        score_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        scorer_id text COLLATE "C" NOT NULL,
        scorer_version integer NOT NULL,
        grain text NOT NULL,
        trace_id text COLLATE "C",
        session_id text COLLATE "C",
        target_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (coalesce(trace_id, session_id)) STORED,
        score double precision,
        choice text,
        confidence double precision,
        probabilities json,
        answers json,
        reasoning text,
        backend text,
        model text,
        error text,
        elapsed_ms integer NOT NULL,
        cost_usd double precision,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (score_run_id, ordinal),
        FOREIGN KEY (score_run_id, ordinal) REFERENCES score_targets,
        CONSTRAINT score_results_no_score_of_a_failure CHECK (error IS NULL OR score IS NULL)
      );
      CREATE INDEX score_results_by_creation ON score_results (score_run_id, score_id);
      CREATE INDEX score_results_target ON score_results (scorer_id, scorer_version, grain, target_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE score_results, score_targets, score_runs');
  }
}

import { Injectable } from '@nestjs/common';
import { Database, prepared, sql, type Sql, type Tx } from '#platform/db';
import type { Grain } from '../../scorers';
import type { FailureCode, RunStatus, ScoringTarget } from './score-run.entity';

/** A run that a worker has claimed. */
export interface ClaimedRun {
  score_run_id: string;
  org_id: string;
  workspace_id: string;
  scorer_id: string;
  scorer_version: number;
  experiment_id: string | null;
  grain: Grain;
  concurrency: number;
  total: number;
  takeovers: number;
  max_cost_usd: number | null;
  uses_cache: boolean;
  /** Cost of the results so far, in US dollars. */
  cost_usd: number;
  /** Time until the deadline, in ms, by the database's clock. */
  ms_left: number;
  created_by: string;
}

/** The key of a run. A job holds only the run id; claiming the run returns the workspace. */
export type RunKey = Pick<ClaimedRun, 'score_run_id' | 'workspace_id'>;

/** Counts over the results of a run. */
export interface ResultCounts {
  completed: number;
  failed: number;
  /** Completed results with a score. The scorer abstained from the others. */
  scored: number;
  not_written_back: number;
  cost_usd: number | null;
  first_error: string | null;
}

/** The final state of a run in which every target has a result. */
export interface RunOutcome {
  run_status: Extract<RunStatus, 'succeeded' | 'failed'>;
  failure_code: FailureCode | null;
  failure_detail: string | null;
}

/** Longest first error that is stored, in characters. Longer ones are cut. */
const FIRST_ERROR_MAX = 500;

const milliseconds = (ms: number): Sql => sql`${ms} * interval '1 millisecond'`;

export const isRun = ({ score_run_id, workspace_id }: RunKey): Sql =>
  sql`score_run_id = ${score_run_id} AND workspace_id = ${workspace_id}`;

/** Matches the run while this worker holds it. */
const isHeld = (run: RunKey, token: string): Sql =>
  sql`${isRun(run)} AND lease_token = ${token} AND run_status = 'running'`;

/** Claims and ends runs for workers. Each step is one conditional statement, so that only one worker takes it. */
@Injectable()
export class RunExecutionRepository {
  constructor(private readonly database: Database) {}

  /**
   * Claims a run that is queued, or whose lease has expired, and marks its batch as running. Returns null if another worker
   * holds the run, or if it has ended or does not exist.
   *
   * @param seconds time until the deadline, counted from the first claim
   */
  async claim(runId: string, token: string, leaseMs: number, seconds: number): Promise<ClaimedRun | null> {
    const [run] = await this.database.query<ClaimedRun>(
      prepared(
        'score-run.claim',
        sql`WITH claimed AS (
          UPDATE score_runs
          SET run_status = 'running', lease_token = ${token}, lease_expires_at = now() + ${milliseconds(leaseMs)},
              takeovers = takeovers + (lease_token IS NOT NULL)::integer, started_at = coalesce(started_at, now()),
              deadline_at = coalesce(deadline_at, now() + ${seconds} * interval '1 second'), updated_at = now()
          WHERE score_run_id = ${runId}
            AND (run_status = 'queued'
                 OR (run_status = 'running' AND (lease_expires_at IS NULL OR lease_expires_at < now())))
          RETURNING score_run_id, score_batch_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain,
                    concurrency, total, takeovers, created_by, max_cost_usd, uses_cache,
                    (SELECT coalesce(sum(s.cost_usd), 0) FROM target_outcomes s
                     WHERE s.score_run_id = score_runs.score_run_id
                       AND s.workspace_id = score_runs.workspace_id) AS cost_usd,
                    (extract(epoch FROM deadline_at - now()) * 1000)::float8 AS ms_left
          ), started_batch AS (
            UPDATE score_batches b SET batch_status = 'running', started_at = now(), updated_at = now()
            FROM claimed c
            WHERE b.score_batch_id = c.score_batch_id AND b.workspace_id = c.workspace_id AND b.batch_status = 'queued'
          )
          SELECT * FROM claimed`,
      ),
    );
    return run ?? null;
  }

  /** Returns the targets without a result. */
  targetsLeft(run: RunKey): Promise<ScoringTarget[]> {
    return this.database.query<ScoringTarget>(
      prepared(
        'score-run.targets-left',
        sql`SELECT t.ordinal, t.trace_id, t.session_id, t.result_experiment_id, t.result_id, t.result_version, t.case_id
          FROM score_runs r JOIN score_targets t USING (score_run_id)
          LEFT JOIN target_outcomes s ON s.score_run_id = t.score_run_id AND s.ordinal = t.ordinal
          WHERE r.score_run_id = ${run.score_run_id} AND r.workspace_id = ${run.workspace_id}
            AND s.score_run_id IS NULL
          ORDER BY t.ordinal`,
      ),
    );
  }

  /** Renews the lease. Returns false if the run was cancelled, has ended or was taken over. */
  async renew(run: RunKey, token: string, leaseMs: number): Promise<boolean> {
    const renewed = await this.database.query(
      prepared(
        'score-run.renew',
        sql`UPDATE score_runs SET lease_expires_at = now() + ${milliseconds(leaseMs)}
          WHERE ${isHeld(run, token)} RETURNING 1`,
      ),
    );
    return renewed.length > 0;
  }

  /** Releases a run, so that any worker can continue it. */
  async release(run: RunKey, token: string): Promise<void> {
    await this.database.query(
      sql`UPDATE score_runs SET lease_token = NULL, lease_expires_at = NULL WHERE ${isHeld(run, token)}`,
    );
  }

  /** Releases a run after a failed attempt. Returns the number of failed attempts, or 0 if this worker lost the run. */
  async recordFailedAttempt(run: RunKey, token: string): Promise<number> {
    const [row] = await this.database.query<{ failed_attempts: number }>(
      sql`UPDATE score_runs SET lease_token = NULL, lease_expires_at = NULL, failed_attempts = failed_attempts + 1
        WHERE ${isHeld(run, token)} RETURNING failed_attempts`,
    );
    return row?.failed_attempts ?? 0;
  }

  /** Adds the cost of a judge's answer that arrived after the end of the run to the run and its batch. */
  async addLateCost(run: RunKey, costUsd: number): Promise<void> {
    await this.database.query(
      sql`WITH late AS (
          UPDATE score_runs SET cost_usd = coalesce(cost_usd, 0) + ${costUsd}
          WHERE ${isRun(run)} AND run_status = 'failed' RETURNING score_batch_id
        )
        UPDATE score_batches b SET cost_usd = coalesce(b.cost_usd, 0) + ${costUsd} FROM late
        WHERE b.score_batch_id = late.score_batch_id AND b.workspace_id = ${run.workspace_id}`,
    );
  }

  /** Counts the results of a run. Results never change, so the counts of a complete run are final. */
  async countResults(run: RunKey): Promise<ResultCounts> {
    const [counts] = await this.database.query<ResultCounts>(
      prepared(
        'score-run.count-results',
        sql`SELECT count(*) FILTER (WHERE error IS NULL) AS completed, count(error) AS failed,
              (SELECT count(score) FROM scores
               WHERE workspace_id = ${run.workspace_id} AND score_run_id = ${run.score_run_id}) AS scored,
              count(*) FILTER (WHERE NOT is_counted) AS not_written_back, sum(cost_usd) AS cost_usd,
              left((array_agg(error ORDER BY ordinal) FILTER (WHERE error IS NOT NULL))[1],
                   ${FIRST_ERROR_MAX}::integer) AS first_error
            FROM target_outcomes WHERE ${isRun(run)}`,
      ),
    );
    return counts!;
  }

  /** Ends a run in which every target has a result. Returns false if this worker no longer holds the run. */
  async finish(
    tx: Tx,
    run: RunKey,
    token: string,
    counts: ResultCounts,
    outcome: RunOutcome,
  ): Promise<boolean> {
    const ended = await tx.query(
      prepared(
        'score-run.finish',
        sql`UPDATE score_runs
          SET run_status = ${outcome.run_status}, failure_code = ${outcome.failure_code},
              failure_detail = ${outcome.failure_detail}, completed_count = ${counts.completed},
              failed_count = ${counts.failed}, not_written_back_count = ${counts.not_written_back},
              cost_usd = ${counts.cost_usd}, finished_at = now(), updated_at = now(),
              lease_token = NULL, lease_expires_at = NULL
          WHERE ${isHeld(run, token)} RETURNING 1`,
      ),
    );
    return ended.length > 0;
  }
}

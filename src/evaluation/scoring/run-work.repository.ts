import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import type { Grain } from '../scorers/scorer.entity';
import type { RunStatus, ScoringTarget } from './score-run.entity';
import type { ScoredItem } from './scored-item';

/** A run as the worker that holds it needs it. */
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
  /** What its results have cost so far. */
  cost_usd: number;
  /** Until its deadline; by the clock of the database. */
  ms_left: number;
  created_by: string;
}

/** Which run it is, and whose. A job tells only the run; claiming it tells the workspace, which all else then names. */
export type RunKey = Pick<ClaimedRun, 'score_run_id' | 'workspace_id'>;

const keyOf = ({ score_run_id, workspace_id }: RunKey): string[] => [score_run_id, workspace_id];

const CLAIM = {
  name: 'score-run.claim',
  text: `UPDATE score_runs
    SET run_status = 'running', lease_token = $2, lease_expires_at = now() + $3 * interval '1 millisecond',
        takeovers = takeovers + (lease_token IS NOT NULL)::integer, started_at = coalesce(started_at, now()),
        deadline_at = coalesce(deadline_at, now() + $4 * interval '1 second'), updated_at = now()
    WHERE score_run_id = $1
      AND (run_status = 'queued'
           OR (run_status = 'running' AND (lease_expires_at IS NULL OR lease_expires_at < now())))
    RETURNING score_run_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain, concurrency, total,
              takeovers, created_by, max_cost_usd, uses_cache,
              (SELECT coalesce(sum(s.cost_usd), 0) FROM score_results s
               WHERE s.score_run_id = score_runs.score_run_id AND s.workspace_id = score_runs.workspace_id) AS cost_usd,
              (extract(epoch FROM deadline_at - now()) * 1000)::float8 AS ms_left`,
};

const TARGETS_LEFT = {
  name: 'score-run.targets-left',
  text: `SELECT t.ordinal, t.trace_id, t.session_id, t.result_experiment_id, t.result_id
    FROM score_runs r JOIN score_targets t USING (score_run_id)
    LEFT JOIN score_results s ON s.score_run_id = t.score_run_id AND s.ordinal = t.ordinal
    WHERE r.score_run_id = $1 AND r.workspace_id = $2 AND s.score_run_id IS NULL ORDER BY t.ordinal`,
};

const RENEW = {
  name: 'score-run.renew',
  text: `UPDATE score_runs SET lease_expires_at = now() + $4 * interval '1 millisecond'
    WHERE score_run_id = $1 AND workspace_id = $2 AND lease_token = $3 AND run_status = 'running' RETURNING 1`,
};

/**
 * Keeps what came of one target, and in the same statement, which is one transaction, what its experiment's results are
 * to have of it: all that name a trace, the one that was frozen with a session. The experiment is locked shared
 * meanwhile: one that is being finalized is waited for, and one that is final takes nothing. The results are locked in
 * the order of their ids, so that runs never wait for each other crosswise. A target that has a result already keeps
 * it, and nothing lands a second time.
 *
 * Results are append-only: what stands there under the scorer's name stays, unless a run of this very scorer wrote it,
 * of this version or an older one.
 */
const STORE = {
  name: 'score-run.store',
  text: `WITH stored AS (
      INSERT INTO score_results (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                 trace_id, session_id, score, choice, confidence, probabilities, answers, reasoning,
                                 backend, model, error, elapsed_ms, cost_usd, request_sha256, is_cached, samples)
      SELECT r.score_run_id, $2, $3, r.workspace_id, r.scorer_id, r.scorer_version, r.grain, $4, $5, $6, $7, $8, $9,
             $10, $11, $12, $13, $14, $15, $16, $23, $24, $25
      FROM score_runs r WHERE r.score_run_id = $1 AND r.workspace_id = $22 AND r.run_status = 'running'
      ON CONFLICT (score_run_id, ordinal) DO NOTHING
      RETURNING workspace_id
    ), experiment AS MATERIALIZED (
      SELECT experiment_id FROM experiments
      WHERE experiment_id = $17 AND workspace_id = (SELECT workspace_id FROM stored)
        AND experiment_status = 'running' AND archived_at IS NULL
      FOR SHARE
    ), named AS (
      SELECT r.experiment_id, r.result_id FROM experiment
      JOIN results r ON r.workspace_id = (SELECT workspace_id FROM stored) AND r.experiment_id = experiment.experiment_id
      WHERE r.trace_id = $4
      UNION SELECT experiment_id, $18 FROM experiment
    ), locked AS MATERIALIZED (
      SELECT r.experiment_id, r.result_id FROM named JOIN results r USING (experiment_id, result_id)
      WHERE r.workspace_id = (SELECT workspace_id FROM stored)
      ORDER BY r.result_id FOR UPDATE OF r
    ), landed AS (
      UPDATE results SET scores = results.scores || jsonb_build_object($19::text, $20::float8), updated_at = now(),
        score_details = (
          SELECT json_object_agg(key, value) FROM (
            SELECT key, value FROM json_each(results.score_details) WHERE key <> $19
            UNION ALL SELECT $19, $21::json) merged)
      FROM locked
      WHERE results.experiment_id = locked.experiment_id AND results.result_id = locked.result_id
        AND results.workspace_id = (SELECT workspace_id FROM stored)
        AND (NOT results.scores ? $19
             OR EXISTS (
               SELECT FROM score_runs earlier JOIN score_runs own USING (workspace_id, scorer_id)
               WHERE own.score_run_id = $1 AND own.workspace_id = results.workspace_id
                 AND earlier.score_run_id = results.score_details -> $19 #>> '{metadata,score_run_id}'
                 AND earlier.scorer_version <= own.scorer_version))
      RETURNING 1
    )
    SELECT (SELECT count(*) FROM stored) AS stored, (SELECT count(*) FROM landed) AS landed`,
};

/** All targets have a result: succeeded where one of them has a score, else failed. */
const FINISH = {
  name: 'score-run.finish',
  text: `UPDATE score_runs r
    SET run_status = CASE WHEN c.scored > 0 THEN 'succeeded' ELSE 'failed' END,
        failure_code = CASE WHEN c.scored > 0 THEN NULL WHEN c.failed = r.total THEN 'all_targets_failed'
                            ELSE 'no_scores' END,
        failure_detail = CASE WHEN c.scored > 0 THEN NULL
                              WHEN c.failed = r.total THEN 'Every target ended with an error; the first: ' || c.first_error
                              ELSE 'The scorer abstained from every target that it did not fail at.' END,
        completed_count = c.completed, failed_count = c.failed, cost_usd = c.cost, finished_at = now(),
        updated_at = now(), lease_token = NULL, lease_expires_at = NULL
    FROM (SELECT count(*) FILTER (WHERE error IS NULL) AS completed, count(error) AS failed, count(score) AS scored,
                 sum(cost_usd) AS cost, left((array_agg(error ORDER BY ordinal) FILTER (WHERE error IS NOT NULL))[1], 500) AS first_error
          FROM score_results WHERE score_run_id = $1 AND workspace_id = $2) c
    WHERE r.score_run_id = $1 AND r.workspace_id = $2 AND r.lease_token = $3 AND r.run_status = 'running' AND c.completed + c.failed = r.total
    RETURNING r.run_status`,
};

/** What of a score lands in the results of a running experiment. */
export interface Landing {
  experimentId: string;
  resultId: string;
  /** The scorer's: what the score is called there. */
  name: string;
  /** Null where the scorer abstained. */
  score: number | null;
  /** Says whose score it is: `scorer_id`, and `metadata` with `score_run_id`. */
  detail: object;
}

/** What workers do to runs. Each move is one conditional statement, so that two workers never both make it. */
@Injectable()
export class RunWorkRepository {
  constructor(private readonly database: Database) {}

  /**
   * Takes a run that is queued, or whose worker has not been heard of until its lease ended. @returns null where
   * there is nothing to take: it runs elsewhere, has ended, or never was.
   */
  async claim(runId: string, token: string, leaseMs: number, seconds: number): Promise<ClaimedRun | null> {
    const [run] = await this.database.query<ClaimedRun>(CLAIM, [runId, token, leaseMs, seconds]);
    return run ?? null;
  }

  targetsLeft(run: RunKey): Promise<ScoringTarget[]> {
    return this.database.query<ScoringTarget>(TARGETS_LEFT, keyOf(run));
  }

  /** @returns whether the run is still the holder's: not when it was cancelled, ended, or taken over. */
  async renew(run: RunKey, token: string, leaseMs: number): Promise<boolean> {
    return (await this.database.query(RENEW, [...keyOf(run), token, leaseMs])).length > 0;
  }

  /** Gives a run back, for any worker to go on with. */
  async release(run: RunKey, token: string): Promise<void> {
    await this.database.query(
      `UPDATE score_runs SET lease_token = NULL, lease_expires_at = NULL
       WHERE score_run_id = $1 AND workspace_id = $2 AND lease_token = $3 AND run_status = 'running'`,
      [...keyOf(run), token],
    );
  }

  /**
   * Gives a run back with which the worker could not go on. @returns how often that has happened with it; 0 where it was
   * not the holder's any more.
   */
  async breakDown(run: RunKey, token: string): Promise<number> {
    const [row] = await this.database.query<{ breakdowns: number }>(
      `UPDATE score_runs SET lease_token = NULL, lease_expires_at = NULL, breakdowns = breakdowns + 1
       WHERE score_run_id = $1 AND workspace_id = $2 AND lease_token = $3 AND run_status = 'running'
       RETURNING breakdowns`,
      [...keyOf(run), token],
    );
    return row?.breakdowns ?? 0;
  }

  /** Keeps what came of a target. @returns false where it has a result already, or its run has ended. */
  async store(
    run: RunKey,
    target: ScoringTarget,
    scoreId: string,
    item: ScoredItem,
    landing: Landing | null,
  ): Promise<boolean> {
    const [outcome] = await this.database.query<{ stored: number }>(STORE, [
      run.score_run_id,
      target.ordinal,
      scoreId,
      target.trace_id,
      target.session_id,
      item.score ?? null,
      item.choice ?? null,
      item.confidence ?? null,
      jsonOrNull(item.probabilities),
      jsonOrNull(item.answers),
      item.reasoning ?? null,
      item.backend ?? null,
      item.model ?? null,
      item.error ?? null,
      item.elapsed_ms,
      item.cost_usd ?? null,
      landing?.experimentId ?? null,
      landing?.resultId ?? null,
      landing?.name ?? null,
      landing?.score ?? null,
      jsonOrNull(landing?.detail),
      run.workspace_id,
      item.request_sha256 ?? null,
      item.is_cached ?? null,
      jsonOrNull(item.samples),
    ]);
    return outcome!.stored > 0;
  }

  /** Adds to a run that has ended what was still being paid for as it did. */
  async addLateCost(run: RunKey, costUsd: number): Promise<void> {
    await this.database.query(
      `UPDATE score_runs SET cost_usd = coalesce(cost_usd, 0) + $3
       WHERE score_run_id = $1 AND workspace_id = $2 AND run_status = 'failed'`,
      [...keyOf(run), costUsd],
    );
  }

  /** Ends a run whose targets all have results. @returns null where it is not the holder's to end. */
  async finish(run: RunKey, token: string): Promise<RunStatus | null> {
    const [row] = await this.database.query<{ run_status: RunStatus }>(FINISH, [...keyOf(run), token]);
    return row?.run_status ?? null;
  }

  /**
   * Runs that seem to have been forgotten: queued for a while, or running under a lease that has ended. Each is told
   * once in `againMs`, the longest unheard of first.
   */
  async takeForgotten(
    tx: Tx,
    { queuedMs, againMs, limit }: { queuedMs: number; againMs: number; limit: number },
  ): Promise<string[]> {
    const rows = await tx.query<{ score_run_id: string }>(
      `UPDATE score_runs SET swept_at = now() WHERE score_run_id IN (
         SELECT score_run_id FROM score_runs
         WHERE run_status IN ('queued', 'running')
           AND (swept_at IS NULL OR swept_at < now() - $2 * interval '1 millisecond')
           AND (run_status = 'queued' AND created_at < now() - $1 * interval '1 millisecond'
                OR run_status = 'running' AND (lease_expires_at IS NULL OR lease_expires_at < now()))
         ORDER BY swept_at NULLS FIRST LIMIT $3 FOR UPDATE SKIP LOCKED
       ) RETURNING score_run_id`,
      [queuedMs, againMs, limit],
    );
    return rows.map((row) => row.score_run_id);
  }
}

const jsonOrNull = (value: object | undefined): string | null => (value ? toJsonText(value) : null);

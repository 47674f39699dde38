import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { prepared, sql, type Sql, type Tx } from '#platform/db';
import type { BatchStatus } from './score-batch.entity';
import type { FailureCode } from './score-run.entity';

/** A batch after one of its runs has ended. */
export interface CountedBatch {
  score_batch_id: string;
  batch_status: BatchStatus;
  max_cost_usd: number | null;
  cost_usd: number | null;
  total: number;
  /** Why the run failed. */
  run_failure_code: FailureCode | null;
  run_failure_detail: string | null;
  /** Whether a run of the batch has succeeded. */
  has_succeeded: boolean;
  /** Queued and running runs of the batch. */
  open_runs: number;
}

/** The end of a batch. */
export interface BatchEnd {
  batch_status: Extract<BatchStatus, 'succeeded' | 'failed'>;
  failure_code: FailureCode | null;
  failure_detail: string | null;
}

export const isBatch = ({ workspaceId }: Scope, id: string): Sql =>
  sql`score_batch_id = ${id} AND workspace_id = ${workspaceId}`;

/** Starts runs over the waiting targets of batches, and ends batches. */
@Injectable()
export class ScoreBatchProgressRepository {
  /**
   * Moves waiting targets of a batch to new runs, in order, and fills each run.
   *
   * @param runIds ids for the runs; fewer are used if fewer targets wait
   * @param maxCostUsd the cost limit of each run
   * @returns the ids of the runs that were started
   */
  async startRuns(
    tx: Tx,
    scope: Scope,
    id: string,
    runIds: readonly string[],
    { targetsMax, maxCostUsd }: { targetsMax: number; maxCostUsd: number | null },
  ): Promise<string[]> {
    const rows = await tx.query<{ score_run_id: string }>(
      prepared(
        'score-batch.start-runs',
        sql`WITH batch AS MATERIALIZED (
            SELECT * FROM score_batches WHERE ${isBatch(scope, id)}
          ), deleted AS (
            DELETE FROM score_batch_targets WHERE score_batch_id = (SELECT score_batch_id FROM batch)
              AND ordinal = ANY (ARRAY(
                SELECT ordinal FROM score_batch_targets WHERE score_batch_id = (SELECT score_batch_id FROM batch)
                ORDER BY ordinal LIMIT cardinality(${runIds}::text[]) * ${targetsMax}::integer))
            RETURNING *
          ), claimed AS MATERIALIZED (
            SELECT *, (row_number() OVER (ORDER BY ordinal) - 1)::integer AS place FROM deleted
          ), run AS (
            INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain,
                                    concurrency, total, max_cost_usd, uses_cache, created_at, updated_at, created_by,
                                    score_batch_id)
            SELECT (${runIds}::text[])[p.run + 1], b.org_id, b.workspace_id, b.scorer_id, b.scorer_version,
                   b.experiment_id, b.grain, b.concurrency, p.total, ${maxCostUsd}::float8, b.uses_cache, now(), now(),
                   b.created_by, b.score_batch_id
            FROM batch b CROSS JOIN (
              SELECT place / ${targetsMax}::integer AS run, count(*) AS total FROM claimed GROUP BY 1
            ) p
            RETURNING score_run_id
          ), target AS (
            INSERT INTO score_targets (score_run_id, ordinal, trace_id, session_id, result_experiment_id, result_id,
                                       result_version, case_id)
            SELECT (${runIds}::text[])[place / ${targetsMax}::integer + 1], place % ${targetsMax}::integer, trace_id,
                   session_id, result_experiment_id, result_id, result_version, case_id
            FROM claimed
          ), updated AS (
            UPDATE score_batches SET run_count = run_count + (SELECT count(*) FROM run) WHERE ${isBatch(scope, id)}
          )
          SELECT score_run_id FROM run`,
      ),
    );
    return rows.map(({ score_run_id }) => score_run_id);
  }

  /**
   * Adds the counts of a run that has ended to its batch, and so locks the batch. Returns null for a run without a batch.
   */
  async countRun(tx: Tx, scope: Scope, runId: string): Promise<CountedBatch | null> {
    const [batch] = await tx.query<Omit<CountedBatch, 'has_succeeded' | 'open_runs'>>(
      prepared(
        'score-batch.count-run',
        sql`UPDATE score_batches b
          SET completed_count = b.completed_count + r.completed_count, failed_count = b.failed_count + r.failed_count,
              not_written_back_count = b.not_written_back_count + r.not_written_back_count,
              cost_usd = coalesce(b.cost_usd + r.cost_usd, b.cost_usd, r.cost_usd), updated_at = now()
          FROM score_runs r
          WHERE r.score_run_id = ${runId} AND r.workspace_id = ${scope.workspaceId}
            AND b.score_batch_id = r.score_batch_id AND b.workspace_id = r.workspace_id
          RETURNING b.score_batch_id, b.batch_status, b.max_cost_usd, b.cost_usd, b.total,
                    r.failure_code AS run_failure_code, r.failure_detail AS run_failure_detail`,
      ),
    );
    if (!batch) return null;
    // A separate statement, so that it sees what other runs committed before the batch was locked.
    const [runs] = await tx.query<Pick<CountedBatch, 'has_succeeded' | 'open_runs'>>(
      prepared(
        'score-batch.runs',
        sql`SELECT EXISTS (SELECT FROM score_runs WHERE ${isBatch(scope, batch.score_batch_id)}
                             AND run_status = 'succeeded') AS has_succeeded,
              (SELECT count(*) FROM score_runs WHERE ${isBatch(scope, batch.score_batch_id)}
                 AND run_status IN ('queued', 'running')) AS open_runs`,
      ),
    );
    return { ...batch, ...runs! };
  }

  /** Counts the targets of a batch that are not in a run yet. */
  async countWaiting(tx: Tx, scope: Scope, id: string): Promise<number> {
    const [row] = await tx.query<{ waiting: number }>(
      sql`SELECT count(*) AS waiting FROM score_batches b JOIN score_batch_targets t USING (score_batch_id)
        WHERE b.score_batch_id = ${id} AND b.workspace_id = ${scope.workspaceId}`,
    );
    return row!.waiting;
  }

  /** Locks a batch. Returns false if the batch has ended or does not exist. */
  async lockOpen(tx: Tx, scope: Scope, id: string): Promise<boolean> {
    const rows = await tx.query(
      sql`SELECT 1 FROM score_batches WHERE ${isBatch(scope, id)} AND batch_status IN ('queued', 'running') FOR UPDATE`,
    );
    return rows.length > 0;
  }

  /** Ends an open batch, and deletes its waiting targets. */
  async end(tx: Tx, scope: Scope, id: string, end: BatchEnd): Promise<void> {
    await tx.query(sql`
      WITH ended AS (
        UPDATE score_batches
        SET batch_status = ${end.batch_status}, failure_code = ${end.failure_code},
            failure_detail = ${end.failure_detail}, started_at = coalesce(started_at, now()), finished_at = now(),
            updated_at = now()
        WHERE ${isBatch(scope, id)} AND batch_status IN ('queued', 'running') RETURNING score_batch_id
      )
      DELETE FROM score_batch_targets WHERE score_batch_id IN (SELECT score_batch_id FROM ended)`);
  }
}

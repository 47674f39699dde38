import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { JobQueue } from '#platform/jobs';
import { WorkspaceAccessRepository } from '../../../resources';
import {
  type BatchEnd,
  type CountedBatch,
  ScoreBatchProgressRepository,
} from './score-batch-progress.repository';
import { TARGETS_MAX } from './score-run.entity';
import { SCORE_RUN } from './score-run.job';

/**
 * Maximum number of open runs of one batch. Workers take runs in the order in which they were started, so a large batch
 * delays runs that others start later by no more than this.
 */
const OPEN_RUNS_MAX = 3;

/** Starts the runs of batches, and ends batches. */
@Injectable()
export class ScoreBatchProgress {
  constructor(
    private readonly batches: ScoreBatchProgressRepository,
    private readonly jobs: JobQueue,
    private readonly workspaces: WorkspaceAccessRepository,
  ) {}

  /**
   * Starts runs over the next targets of a batch, until the maximum number of runs is open. With a cost limit, only one run is
   * open at a time and gets the rest of the limit, so that concurrent runs cannot exceed the limit together.
   *
   * @param costUsd cost of the runs that have ended
   * @returns the number of runs that were started
   */
  async startRuns(
    tx: Tx,
    scope: Scope,
    batch: Pick<CountedBatch, 'score_batch_id' | 'max_cost_usd'>,
    { openRuns = 0, costUsd = 0 } = {},
  ): Promise<number> {
    const openMax = batch.max_cost_usd === null ? OPEN_RUNS_MAX : 1;
    if (openRuns >= openMax) return 0;
    const runIds = Array.from({ length: openMax - openRuns }, () => newId('run'));
    const started = await this.batches.startRuns(tx, scope, batch.score_batch_id, runIds, {
      targetsMax: TARGETS_MAX.score,
      maxCostUsd: batch.max_cost_usd === null ? null : batch.max_cost_usd - costUsd,
    });
    await this.jobs.enqueue(
      tx,
      SCORE_RUN,
      started.map((score_run_id) => ({ score_run_id })),
    );
    return started.length;
  }

  /**
   * Adds a run that has ended to its batch, if it has one, and starts the next runs of the batch or ends the batch. Runs in
   * the transaction that ends the run, so that a crash leaves no open batch without a run.
   */
  async onRunEnded(tx: Tx, scope: Scope, runId: string): Promise<void> {
    const batch = await this.batches.countRun(tx, scope, runId);
    if (!batch || batch.batch_status === 'succeeded' || batch.batch_status === 'failed') return;
    const { score_batch_id, max_cost_usd, open_runs } = batch;
    const costUsd = batch.cost_usd ?? 0;
    const live = await this.workspaces.filterLive([scope.workspaceId], tx);
    if (!live.has(scope.workspaceId)) {
      await this.cancel(tx, scope, batch, 'The batch was cancelled because its workspace is not active.');
      return;
    }
    const isOverLimit = batch.run_failure_code === 'budget_exceeded';
    if (isOverLimit || (max_cost_usd !== null && costUsd >= max_cost_usd)) {
      const waiting = await this.batches.countWaiting(tx, scope, score_batch_id);
      if (isOverLimit || waiting > 0) {
        return this.batches.end(tx, scope, score_batch_id, {
          batch_status: 'failed',
          failure_code: 'budget_exceeded',
          failure_detail: `The batch reached its cost limit of ${max_cost_usd} US dollars (max_cost_usd). ${notStarted(waiting, batch.total)}`,
        });
      }
    }
    const started = await this.startRuns(tx, scope, batch, { openRuns: open_runs, costUsd });
    if (open_runs + started === 0) await this.batches.end(tx, scope, score_batch_id, endOf(batch));
  }

  /** Cancels an open batch, so that it starts no further runs. Its open runs continue. Does nothing if it has ended. */
  async cancel(
    tx: Tx,
    scope: Scope,
    { score_batch_id, total }: Pick<CountedBatch, 'score_batch_id' | 'total'>,
    reason = 'The batch was cancelled.',
  ): Promise<void> {
    if (!(await this.batches.lockOpen(tx, scope, score_batch_id))) return;
    const waiting = await this.batches.countWaiting(tx, scope, score_batch_id);
    await this.batches.end(tx, scope, score_batch_id, {
      batch_status: 'failed',
      failure_code: 'cancelled',
      failure_detail: `${reason} ${notStarted(waiting, total)}`,
    });
  }
}

const notStarted = (waiting: number, total: number): string =>
  `${waiting} of its ${total} targets were not in a run yet. completed_count says how many were scored.`;

/** A batch succeeds when at least one of its runs does. */
const endOf = ({ total, has_succeeded, run_failure_code, run_failure_detail }: CountedBatch): BatchEnd =>
  has_succeeded
    ? { batch_status: 'succeeded', failure_code: null, failure_detail: null }
    : {
        batch_status: 'failed',
        failure_code: run_failure_code,
        failure_detail:
          total > TARGETS_MAX.score
            ? `No run of the batch succeeded. Last run: ${run_failure_detail}`
            : run_failure_detail,
      };

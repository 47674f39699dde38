import { Injectable } from '@nestjs/common';
import { expandRoles, type Scope, workspaceScope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { rootLogger } from '#platform/logging';
import { defineJob, JobQueue } from '#platform/jobs';
import { type ListQueryDto, type Page, toPage } from '#platform/paging';
import { orNotFound, type Problem, problem } from '#platform/problem';
import { WorkspaceAccessRepository } from '../../../resources';
import { type ScoringTarget, TARGETS_MAX } from '../targets/target.entity';
import {
  type ScoreResultDto,
  type ScoreRunDto,
  type ScoreRunListQueryDto,
  type ScoreRunRow,
  toScoreResultDto,
  toScoreRunDto,
} from './score-run.dto';
import { hasEnded, type Outcome, SUCCEEDED } from './score-run.types';
import type { Wait, WaitQueryDto } from '../waiting/wait';
import { WorkWaiter } from '../waiting/work-waiter';
import {
  type CountedBatch,
  type NewScoreRun,
  type OrderedBatch,
  type RunEnd,
  ScoreRunRepository,
} from './score-run.repository';

/** Says that a run waits. */
export const SCORE_RUN = defineJob<{ score_run_id: string }>({ name: 'score-run', subject: 'score_run_id' });

/**
 * Maximum number of open runs of one batch. Workers take the runs of an organization in the order in which they were
 * created, so a large batch delays later runs of the same organization by no more than this.
 */
const OPEN_RUNS_MAX = 3;

/** Time after which a request that exceeds a maximum should be repeated, in seconds. */
const RETRY_AFTER_SECONDS = 30;

/** The problem of a request for a run or a batch of an organization that has too many. */
export const tooManyOpen = (what: 'runs' | 'batches', max: number): Problem =>
  problem.rateLimited(
    `Your organization has ${max} open scoring ${what}, the maximum (MAX_OPEN_SCORE_${what.toUpperCase()}). Repeat the request when some have ended, or cancel some with POST /eval/v1/score-${what}/{id}/cancel.`,
    RETRY_AFTER_SECONDS,
  );

const CANCELLED = {
  code: 'cancelled',
  detail: 'The run was cancelled.',
  error: 'The run was cancelled before it scored this target.',
} as const;

const WORKSPACE_INACTIVE = 'The batch was cancelled because its workspace is not active.';

/** Starts, reads, cancels and ends runs, and continues their batches. */
@Injectable()
export class ScoreRunService {
  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly runs: ScoreRunRepository,
    private readonly jobs: JobQueue,
    private readonly workspaces: WorkspaceAccessRepository,
    private readonly waiter: WorkWaiter,
  ) {}

  /**
   * Stores a run, its targets and its job in one transaction, so that an accepted run is never lost. A run without targets
   * succeeds at once and gets no job.
   */
  async start(
    tx: Tx,
    scope: Scope,
    run: NewScoreRun,
    targets: readonly ScoringTarget[],
  ): Promise<ScoreRunRow> {
    const row = await this.runs.insert(tx, scope, run, targets);
    if (targets.length > 0) await this.enqueue(tx, [row.score_run_id]);
    return row;
  }

  /**
   * Checks that the organization may have another open run, as `isFull` does. Errors: 429 if it has `MAX_OPEN_SCORE_RUNS`
   * open runs.
   */
  async checkOpenRuns(tx: Tx, scope: Scope): Promise<void> {
    if (await this.isFull(tx, scope)) throw tooManyOpen('runs', this.environment.MAX_OPEN_SCORE_RUNS);
  }

  /**
   * Tells whether the organization has as many open runs as it may have. Other callers for the organization wait until the
   * transaction ends.
   */
  async isFull(tx: Tx, scope: Scope): Promise<boolean> {
    await this.runs.lockOpenOfOrg(tx, scope);
    const max = this.environment.MAX_OPEN_SCORE_RUNS;
    return (await this.runs.countOpenOfOrg(tx, scope, max)) >= max;
  }

  private enqueue(tx: Tx, runIds: readonly string[]): Promise<void> {
    return this.jobs.enqueue(
      tx,
      SCORE_RUN,
      runIds.map((score_run_id) => ({ score_run_id })),
    );
  }

  async list(scope: Scope, query: ScoreRunListQueryDto): Promise<Page<ScoreRunDto>> {
    return toPage(await this.runs.list(scope, query), toScoreRunDto);
  }

  async get(scope: Scope, id: string): Promise<ScoreRunDto> {
    return toScoreRunDto(await this.find(scope, id));
  }

  /** Returns a run when it has ended, or its state after a time. */
  async getEnded(scope: Scope, id: string, { wait_s = 0 }: WaitQueryDto, wait: Wait): Promise<ScoreRunDto> {
    const run = await this.get(scope, id);
    if (wait_s === 0 || hasEnded(run.run_status)) return run;
    await wait.idle(() => this.waiter.wait(scope, id, wait_s * 1000, wait.signal));
    return this.get(scope, id);
  }

  async listResults(scope: Scope, id: string, query: ListQueryDto): Promise<Page<ScoreResultDto>> {
    await this.find(scope, id);
    return toPage(await this.runs.listResults(scope, id, query), toScoreResultDto);
  }

  /** Returns the mean of the scores that a run has so far. Null without scores, and for an unknown run. */
  meanScore(scope: Scope, id: string): Promise<number | null> {
    return this.runs.meanScore(scope, id);
  }

  /**
   * Cancels an open run. Keeps stored scores, and gives the other targets an error. Idempotent. Errors: 404; 409 for a run
   * that ended without being cancelled.
   */
  async cancel(scope: Scope, id: string): Promise<ScoreRunDto> {
    await this.find(scope, id);
    await this.end(scope, id);
    const run = await this.find(scope, id);
    if (run.failure_code === 'cancelled') return toScoreRunDto(run);
    throw problem.conflict(`The run has ${run.run_status}. Only queued and running runs can be cancelled.`);
  }

  /**
   * Ends an open run, by default as cancelled, with an error for each target without a result. Its batch continues. Does
   * nothing if the run has ended.
   */
  async end(scope: Scope, id: string, end: RunEnd = CANCELLED): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (await this.runs.end(tx, scope, id, end)) {
        await this.onEnded(tx, scope, id);
      }
    });
  }

  /**
   * Starts runs over the next targets of a batch, until the maximum number of runs is open. With a cost limit, only one run is
   * open at a time and gets the rest of the limit, so that concurrent runs cannot exceed the limit together.
   *
   * @param costUsd cost of the runs that have ended
   * @returns the number of runs that were started
   */
  async startBatchRuns(
    tx: Tx,
    scope: Scope,
    batch: Pick<CountedBatch, 'score_batch_id' | 'max_cost_usd'>,
    { openRuns = 0, costUsd = 0 } = {},
  ): Promise<number> {
    const openMax = batch.max_cost_usd === null ? OPEN_RUNS_MAX : 1;
    if (openRuns >= openMax) return 0;
    const runIds = Array.from({ length: openMax - openRuns }, () => newId('run'));
    const leftUsd = batch.max_cost_usd === null ? null : batch.max_cost_usd - costUsd;
    const started = await this.runs.startBatchRuns(tx, scope, batch.score_batch_id, runIds, leftUsd);
    await this.enqueue(tx, started);
    return started.length;
  }

  /**
   * Adds a run that has ended to its batch, if it has one, and starts the next runs of the batch or ends the batch. Then
   * continues with the next batch of the order, if batches were ordered with a common cost limit. Runs in
   * the transaction that ends the run, so that a crash leaves no open batch without a run.
   */
  async onEnded(tx: Tx, scope: Scope, runId: string): Promise<void> {
    await this.runs.addToRule(tx, scope, runId);
    const batch = await this.runs.addToBatch(tx, scope, runId);
    if (!batch) return;
    const isOverLimit = batch.run_failure_code === 'budget_exceeded';
    if (batch.batch_status === 'queued' || batch.batch_status === 'running') {
      await this.continueBatch(tx, scope, batch, isOverLimit);
    }
    if (batch.order_id !== null) await this.continueOrder(tx, scope, batch.order_id, isOverLimit);
  }

  /** Starts the next runs of an open batch, or ends it. */
  private async continueBatch(
    tx: Tx,
    scope: Scope,
    batch: CountedBatch,
    isOverLimit: boolean,
  ): Promise<void> {
    const { score_batch_id, order_id, max_cost_usd, open_runs } = batch;
    const costUsd =
      order_id === null ? (batch.cost_usd ?? 0) : (await this.runs.lockOrder(tx, scope, order_id)).cost_usd;
    if (!(await this.isLive(tx, scope))) return this.cancelBatch(tx, scope, batch, WORKSPACE_INACTIVE);
    if (isOverLimit || (max_cost_usd !== null && costUsd >= max_cost_usd)) {
      const waiting = (await this.runs.lockAndCountWaiting(tx, scope, score_batch_id))!;
      if (isOverLimit || waiting > 0) return this.endOverLimit(tx, scope, batch, waiting);
    }
    const started = await this.startBatchRuns(tx, scope, batch, { openRuns: open_runs, costUsd });
    if (open_runs + started === 0) await this.runs.endBatch(tx, scope, score_batch_id, endOf(batch));
  }

  /**
   * Starts the next run of an order whose batches share a cost limit, unless one of its runs is open. Its batches run one after
   * the other, so that concurrent runs cannot exceed the limit together. At the limit, all its open batches end.
   *
   * @param isOverLimit whether a run has ended because the rest of the limit did not suffice
   */
  async continueOrder(tx: Tx, scope: Scope, orderId: string, isOverLimit = false): Promise<void> {
    const { cost_usd: costUsd, is_running } = await this.runs.lockOrder(tx, scope, orderId);
    if (is_running) return;
    const batches = await this.runs.openBatchesOf(tx, scope, orderId);
    const isLive = batches.length > 0 && (await this.isLive(tx, scope));
    for (const batch of batches) {
      if (!isLive) {
        await this.cancelBatch(tx, scope, batch, WORKSPACE_INACTIVE);
        continue;
      }
      const waiting = await this.runs.lockAndCountWaiting(tx, scope, batch.score_batch_id);
      if (waiting === null) continue;
      // all of its targets were erased
      if (waiting === 0) await this.runs.endBatch(tx, scope, batch.score_batch_id, SUCCEEDED);
      else if (isOverLimit || costUsd >= batch.max_cost_usd!)
        await this.endOverLimit(tx, scope, batch, waiting);
      else if ((await this.startBatchRuns(tx, scope, batch, { costUsd })) > 0) return;
    }
  }

  /** Continues orders whose last run was ended by a process of a release that has no orders. */
  async continueStalledOrders(): Promise<void> {
    for (const { order_id, org_id, workspace_id, created_by } of await this.runs.stalledOrders()) {
      const scope = workspaceScope(org_id, workspace_id, created_by, expandRoles(['evaluator']));
      try {
        await this.database.transaction((tx) => this.continueOrder(tx, scope, order_id));
      } catch (err) {
        rootLogger.warn({ err, order_id }, 'an order of scores could not be continued');
      }
    }
  }

  private async isLive(tx: Tx, { workspaceId }: Scope): Promise<boolean> {
    return (await this.workspaces.filterLive([workspaceId], tx)).has(workspaceId);
  }

  private endOverLimit(
    tx: Tx,
    scope: Scope,
    { score_batch_id, total, max_cost_usd }: OrderedBatch,
    waiting: number,
  ): Promise<void> {
    return this.runs.endBatch(tx, scope, score_batch_id, {
      status: 'failed',
      failure_code: 'budget_exceeded',
      failure_detail: `The batch reached its cost limit of ${max_cost_usd} US dollars (max_cost_usd). ${notStarted(waiting, total)}`,
    });
  }

  /** Cancels an open batch, so that it starts no further runs. Its open runs continue. Does nothing if it has ended. */
  async cancelBatch(
    tx: Tx,
    scope: Scope,
    { score_batch_id, total }: Pick<CountedBatch, 'score_batch_id' | 'total'>,
    reason = 'The batch was cancelled.',
  ): Promise<void> {
    const waiting = await this.runs.lockAndCountWaiting(tx, scope, score_batch_id);
    if (waiting === null) return;
    await this.runs.endBatch(tx, scope, score_batch_id, {
      status: 'failed',
      failure_code: 'cancelled',
      failure_detail: `${reason} ${notStarted(waiting, total)}`,
    });
  }

  private async find(scope: Scope, id: string): Promise<ScoreRunRow> {
    return orNotFound(await this.runs.find(scope, id), 'scoring run', id);
  }
}

const notStarted = (waiting: number, total: number): string =>
  `${waiting} of its ${total} targets were not in a run yet. completed_count says how many were scored.`;

/** A batch succeeds when at least one of its runs does. */
const endOf = ({ total, has_succeeded, run_failure_code, run_failure_detail }: CountedBatch): Outcome =>
  has_succeeded
    ? SUCCEEDED
    : {
        status: 'failed',
        failure_code: run_failure_code,
        failure_detail:
          total > TARGETS_MAX.score
            ? `No run of the batch succeeded. Last run: ${run_failure_detail}`
            : run_failure_detail,
      };

import { Injectable } from '@nestjs/common';
import { expandRoles, type Scope, workspaceScope } from '#platform/auth';
import { Batcher, FairLimiter, linkedSignal, retry, type RetryPolicy, runAs } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Database } from '#platform/db';
import { newId } from '#platform/ids';
import { JobHandedBack, JobPoisoned, WorkerShutdown } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { isLockTimeout, Problem, problemOfDatabaseError } from '#platform/problem';
import { Budget, BUDGET_EXCEEDED } from '../../judges';
import { type PinnedScorerRow, ScorerRepository } from '../../scorers';
import {
  type ClaimedRun,
  type OutcomeCounts,
  RunExecutionRepository,
  type ScoredTarget,
} from './run-execution.repository';
import type { RunLease } from './run-lease';
import { type Outcome, SUCCEEDED } from './score-run.types';
import type { RunEnd } from './score-run.repository';
import { ScoreRunService } from './score-run.service';
import { ScoringMetrics } from './scoring.metrics';
import { type ScoringJob, ScoringRunner, toRunnable } from './scoring-runner';

/** A run ends after this many workers were lost while they held it. */
const WORKERS_LOST_MAX = 5;
/** A run ends after this many failed attempts to execute it. */
const FAILED_ATTEMPTS_MAX = 5;
const DATABASE_RETRY_MS = 1_000;
/** Maximum number of targets that are stored in one transaction: half of a full run. */
const STORED_TOGETHER_MAX = 50;
/** Maximum number of results of code that wait while the next targets are scored: the group being stored, and the next. */
const UNSTORED_MAX = 2 * STORED_TOGETHER_MAX;
/** Longest time that a result of code waits for other results to be stored with, in ms. */
const STORED_WITHIN_MS = 250;

/** A run that this worker has claimed. */
export interface RunInProgress {
  run: ClaimedRun;
  lease: RunLease;
  /** Aborted when the run must finish its targets in progress, so that another one gets its slot. */
  yielding: AbortSignal;
}

/** Scores the remaining targets of a claimed run, and ends or releases the run. */
@Injectable()
export class RunExecutionService {
  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly scorers: ScorerRepository,
    private readonly runs: ScoreRunService,
    private readonly executions: RunExecutionRepository,
    private readonly runner: ScoringRunner,
    private readonly shutdown: WorkerShutdown,
    private readonly metrics: ScoringMetrics,
  ) {}

  /**
   * Scores the remaining targets of a run. After an error, any worker may continue the run. Throws `JobHandedBack` if this
   * process stops first, or the run loses its slot. If the run has failed too often, ends it and throws `JobPoisoned`.
   */
  async execute(work: RunInProgress): Promise<void> {
    const { run, lease } = work;
    try {
      await runAs(run.org_id, () => this.executeClaimed(work));
    } catch (error) {
      throw await this.releaseAfter(run, lease.token, error);
    } finally {
      lease.end();
    }
  }

  /** Releases a run after an error. Returns the error for the job queue. */
  private async releaseAfter(run: ClaimedRun, token: string, error: unknown): Promise<unknown> {
    try {
      if (error instanceof JobHandedBack || isDatabaseUnavailable(error)) {
        await this.executions.release(run, token, 0);
        return error;
      }
      const failedAttempts = await this.executions.release(run, token, 1);
      if (failedAttempts < FAILED_ATTEMPTS_MAX) return error;
      await this.endEarly(run, {
        code: 'internal_error',
        detail: `Workers failed to execute this run ${failedAttempts} times.`,
        error: 'The run ended before it scored this target, because workers failed to execute the run.',
      });
      return new JobPoisoned(error);
    } catch {
      return error; // the database is unavailable; the lease expires by itself
    }
  }

  private async executeClaimed({ run, lease, yielding }: RunInProgress): Promise<void> {
    if (run.takeovers >= WORKERS_LOST_MAX) {
      return this.endEarly(run, {
        code: 'worker_lost',
        detail: `${run.takeovers} workers were lost while they held this run.`,
        error: 'The worker that scored this target was lost.',
      });
    }
    const [version] = await this.scorers.findPinned(scopeOf(run), [run]);
    if (!version) {
      return this.endEarly(run, {
        code: 'scorer_deleted',
        detail: 'The scorer was deleted.',
        error: 'The scorer was deleted before it scored this target.',
      });
    }
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new Error('deadline')), Math.max(0, run.ms_left));
    const budget = new Budget(run.max_cost_usd, run.cost_usd);
    const stopping = linkedSignal(this.shutdown.stopping, yielding);
    try {
      await this.scoreTargets(run, lease, version, {
        deadline: deadline.signal,
        stopping: stopping.signal,
        budget,
      });
    } finally {
      clearTimeout(timer);
      stopping.unlink();
    }
    if (lease.lostSignal.aborted) return;
    if (deadline.signal.aborted) {
      return this.endEarly(run, {
        code: 'deadline_exceeded',
        detail: `The run did not finish within ${this.environment.SCORE_RUN_SECONDS} s of its start.`,
        error: 'The run reached its deadline before it scored this target.',
      });
    }
    if (budget.hasStoppedWork) {
      return this.endEarly(run, {
        code: 'budget_exceeded',
        detail: `The run reached its cost limit of ${run.max_cost_usd} US dollars (max_cost_usd).`,
        error: BUDGET_EXCEEDED,
      });
    }
    const isFinished = await retry(() => this.finish(run, lease), whileDatabaseUnavailable(lease.lostSignal));
    if (!isFinished && stopping.signal.aborted) throw new JobHandedBack();
  }

  private async scoreTargets(
    run: ClaimedRun,
    lease: RunLease,
    version: PinnedScorerRow,
    { deadline, stopping, budget }: { deadline: AbortSignal; stopping: AbortSignal; budget: Budget },
  ): Promise<void> {
    const scope = scopeOf(run);
    const scorer = toRunnable(version);
    const abandoned = linkedSignal(lease.lostSignal, deadline, this.shutdown.outOfTime);
    const job: ScoringJob = {
      scorer,
      grain: run.grain,
      targets: await this.executions.targetsLeft(run),
      concurrency: run.concurrency,
      unstored: scorer.scorer_kind === 'code' ? UNSTORED_MAX : 0,
      cache: run.cache ? 'read' : 'write',
      budget,
      runId: run.score_run_id,
      retry: whileDatabaseUnavailable(abandoned.signal),
      stopping,
      signal: abandoned.signal,
    };
    const results = this.resultsOf(run, job);
    try {
      await this.runner.run(scope, job, async (target, item) => {
        const scored = { target, scoreId: newId('score'), item };
        const store = () => results.add([run.org_id, run.workspace_id], scored);
        if (await retry(store, job.retry)) {
          this.metrics.countScored(scorer.scorer_kind, item);
          return;
        }
        // The target already has a result, or the run has ended. The cost is counted anyway.
        if (item.cost_usd) await this.executions.addLateCost(run, item.cost_usd);
        await retry(() => lease.verify(), job.retry);
      });
    } finally {
      abandoned.unlink();
    }
  }

  /**
   * Groups results, so that targets that finish while others are being stored share one transaction. Results of code, which
   * is fast, also wait for a group to fill. Answers of judges do not, because they cost money.
   */
  private resultsOf(run: ClaimedRun, { scorer, targets }: ScoringJob): Batcher<ScoredTarget, boolean> {
    let left = targets.length;
    return new Batcher({
      shared: {
        limiter: new FairLimiter({ concurrency: 1 }),
        owner: run.org_id,
        ...(scorer.scorer_kind === 'code' && {
          filling: {
            maxMs: STORED_WITHIN_MS,
            isFull: (waiting) => waiting >= Math.min(STORED_TOGETHER_MAX, left),
          },
        }),
      },
      max: STORED_TOGETHER_MAX,
      run: async (scored) => {
        const stored = await this.executions.store(run, scored);
        left -= scored.length;
        return stored;
      },
      isOfOneItem: (error) => !isOutage(error),
    });
  }

  /** Ends a run in which every target has a result. Returns false if results are missing or this worker lost the run. */
  private async finish(run: ClaimedRun, lease: RunLease): Promise<boolean> {
    const counts = await this.executions.countOutcomes(run);
    if (counts.completed + counts.failed < run.total) return false;
    const outcome = outcomeOf(counts);
    const isEnded = await this.database.transaction(async (tx) => {
      const isFinished = await this.executions.finish(tx, run, lease.token, outcome);
      if (isFinished) await this.runs.onEnded(tx, scopeOf(run), run.score_run_id);
      return isFinished;
    });
    if (isEnded) log(run, outcome.status, outcome.failure_code);
    return isEnded;
  }

  private async endEarly(run: ClaimedRun, end: RunEnd): Promise<void> {
    await this.runs.end(scopeOf(run), run.score_run_id, end);
    log(run, 'failed', end.code);
  }
}

/** A run succeeds when at least one target has a score. */
function outcomeOf({ scored, completed, failed, first_error }: OutcomeCounts): Outcome {
  if (scored > 0) return SUCCEEDED;
  if (completed > 0) {
    const failure_detail = 'The scorer abstained from every target that did not fail.';
    return { status: 'failed', failure_code: 'no_scores', failure_detail };
  }
  const failure_detail =
    failed === 1
      ? `The only target of the run failed: ${first_error!}`
      : `All ${failed} targets of the run failed. First error: ${first_error!}`;
  return { status: 'failed', failure_code: 'all_targets_failed', failure_detail };
}

/** Retries while the database is unavailable, so that scores that were paid for survive an outage. */
export const whileDatabaseUnavailable = (signal: AbortSignal): RetryPolicy => ({
  isRetryable: isDatabaseUnavailable,
  firstDelayMs: DATABASE_RETRY_MS,
  maxDelayMs: DATABASE_RETRY_MS,
  signal,
});

/** Tells whether an error means that the database cannot be reached or accepts no connections. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const cause = error instanceof Problem ? error : problemOfDatabaseError(error);
  return cause?.code === 'service_unavailable';
}

/** Tells whether an error affects all targets of a group. After a lock timeout, targets with unlocked rows can be stored. */
export const isOutage = (error: unknown): boolean => isDatabaseUnavailable(error) && !isLockTimeout(error);

const scopeOf = (run: ClaimedRun): Scope =>
  workspaceScope(run.org_id, run.workspace_id, run.created_by, expandRoles(['evaluator']));

function log(run: ClaimedRun, run_status: string, failure_code: string | null): void {
  const { score_run_id, workspace_id, org_id, scorer_id, total } = run;
  const ended = { score_run_id, workspace_id, org_id, scorer_id, total, run_status };
  rootLogger.info({ ...ended, ...(failure_code && { failure_code }) }, 'scoring run ended');
}

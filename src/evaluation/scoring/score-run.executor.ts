import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { expandRoles, type Scope, workspaceScope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database } from '#platform/db';
import { newId } from '#platform/ids';
import { JobHandedBack, JobPoisoned, WorkerShutdown } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { ScorerRepository } from '../scorers/scorer.repository';
import { Budget, BUDGET_SPENT } from './budget';
import { landingOf } from './landing';
import { linkedSignal } from './linked-signal';
import { LEASE_MS, RunLease } from './run-lease';
import { isDatabaseAway, type Patience, patientUntil } from './patience';
import { type ClaimedRun, RunWorkRepository } from './run-work.repository';
import type { ScoredItem } from './scored-item';
import { type RunEnd, ScoreRunRepository } from './score-run.repository';
import { ScoringMetrics } from './scoring.metrics';
import { type ScoringJob, ScoringRunner } from './scoring-runner';
import { runnable } from './target-scorer';

/** A run that this many workers were lost with is given up by the next, before it scores anything. */
const WORKERS_LOST_MAX = 5;
/** A run that workers could not go on with this often is given up by the last of them. */
const BREAKDOWNS_MAX = 5;

/** Does the work of a scoring run, in the worker that got its job. */
@Injectable()
export class ScoreRunExecutor {
  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly scorers: ScorerRepository,
    private readonly runs: ScoreRunRepository,
    private readonly work: RunWorkRepository,
    private readonly runner: ScoringRunner,
    private readonly shutdown: WorkerShutdown,
    private readonly metrics: ScoringMetrics,
  ) {}

  /**
   * Scores what is left of a run, if it is there to be taken. Throws `JobHandedBack` when this process stops first,
   * and what made scoring impossible; the run is then any worker's again. Where that happens again and again the run is
   * ended, and `JobPoisoned` thrown, so that the job is kept for somebody to look at.
   */
  async execute(runId: string): Promise<void> {
    const token = randomUUID();
    const run = await this.work.claim(runId, token, LEASE_MS, this.environment.SCORE_RUN_SECONDS);
    if (!run) return;
    const lease = new RunLease(this.work, run, token);
    try {
      await this.hold(run, lease);
    } catch (error) {
      throw await this.letGo(run, token, error);
    } finally {
      lease.end();
    }
  }

  /** Gives a run back because of an error. @returns what is to become of its job. */
  private async letGo(run: ClaimedRun, token: string, error: unknown): Promise<unknown> {
    try {
      if (error instanceof JobHandedBack || isDatabaseAway(error)) {
        await this.work.release(run, token);
        return error;
      }
      const breakdowns = await this.work.breakDown(run, token);
      if (breakdowns < BREAKDOWNS_MAX) return error;
      await this.endEarly(run, {
        code: 'internal_error',
        detail: `Workers could not go on with this run, ${breakdowns} times.`,
        error: 'The run was ended before this was scored, because workers could not go on with it.',
      });
      return new JobPoisoned(error);
    } catch {
      return error; // nothing could be written down; the lease ends by itself
    }
  }

  private async hold(run: ClaimedRun, lease: RunLease): Promise<void> {
    if (run.takeovers >= WORKERS_LOST_MAX) {
      return this.endEarly(run, {
        code: 'worker_lost',
        detail: `${run.takeovers} workers were lost while they held this run.`,
        error: 'The worker that was to score this was lost.',
      });
    }
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new Error('deadline')), Math.max(0, run.ms_left));
    const budget = new Budget(run.max_cost_usd, run.cost_usd);
    try {
      await this.scoreTargets(run, lease, deadline.signal, budget);
    } finally {
      clearTimeout(timer);
    }
    if (lease.lost.aborted) return;
    if (deadline.signal.aborted) {
      return this.endEarly(run, {
        code: 'deadline_exceeded',
        detail: `The run was not done within ${this.environment.SCORE_RUN_SECONDS} s of its start.`,
        error: 'The time of the run was over before this was scored.',
      });
    }
    if (budget.isFelt) {
      return this.endEarly(run, {
        code: 'budget_exceeded',
        detail: `The run has cost the ${run.max_cost_usd} US dollars that it may cost (max_cost_usd), or more.`,
        error: BUDGET_SPENT,
      });
    }
    const status = await patientUntil(lease.lost)(() => this.work.finish(run, lease.token));
    if (status) return log(run, status);
    if (this.shutdown.stopping.aborted) throw new JobHandedBack();
  }

  private async scoreTargets(
    run: ClaimedRun,
    lease: RunLease,
    deadline: AbortSignal,
    budget: Budget,
  ): Promise<void> {
    const scope = scopeOf(run);
    const version = await this.scorers.findVersion(scope, run.scorer_id, run.scorer_version);
    if (!version) throw new Error(`Version ${run.scorer_version} of ${run.scorer_id} is gone.`);
    const scorer = runnable(version);
    const targets = await this.work.targetsLeft(run);
    const giveUp = linkedSignal(lease.lost, deadline, this.shutdown.outOfTime);
    const patience = patientUntil(giveUp.signal);
    const job: ScoringJob = {
      scorer,
      targets,
      concurrency: run.concurrency,
      cache: run.uses_cache ? 'read' : 'write',
      budget,
      runId: run.score_run_id,
      patience,
      stopping: this.shutdown.stopping,
      signal: giveUp.signal,
    };
    try {
      await this.runner.run(scope, job, async (target, item) => {
        const landing = landingOf(run, scorer, target, item);
        const scoreId = newId('score');
        const isKept = await patience(() => this.work.store(run, target, scoreId, item, landing));
        if (isKept) this.metrics.scored(scorer.scorer_kind, item);
        // somebody else scored it, or the run has ended: the next heartbeat would tell, later
        else await this.keepCost(run, item, patience, lease);
      });
    } finally {
      giveUp.unlink();
    }
  }

  /** Of what came too late to be kept: what it cost is the run's all the same. */
  private async keepCost(
    run: ClaimedRun,
    item: ScoredItem,
    patience: Patience,
    lease: RunLease,
  ): Promise<void> {
    if (item.cost_usd) await this.work.addLateCost(run, item.cost_usd);
    await patience(() => lease.verify());
  }

  private async endEarly(run: ClaimedRun, end: Omit<RunEnd, 'scoreIds'>): Promise<void> {
    const scoreIds = Array.from({ length: run.total }, () => newId('score'));
    await this.database.transaction((tx) =>
      this.runs.end(tx, scopeOf(run), run.score_run_id, { ...end, scoreIds }),
    );
    log(run, 'failed', end.code);
  }
}

const scopeOf = (run: ClaimedRun): Scope =>
  workspaceScope(run.org_id, run.workspace_id, run.created_by, expandRoles(['evaluator']));

function log(run: ClaimedRun, status: string, failureCode?: string): void {
  rootLogger.info(
    {
      score_run_id: run.score_run_id,
      workspace_id: run.workspace_id,
      org_id: run.org_id,
      scorer_id: run.scorer_id,
      total: run.total,
      run_status: status,
      ...(failureCode && { failure_code: failureCode }),
    },
    'scoring run ended',
  );
}

import { randomUUID } from 'node:crypto';
import { FairLimiter, runAs } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Handles, JobHandedBack, JobProcessor, WorkerShutdown } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { tracing } from '#platform/tracing';
import { type ClaimedRun, RunExecutionRepository } from './run-execution.repository';
import { RunExecutionService, type RunInProgress } from './run-execution.service';
import { LEASE_MS, RunLease } from './run-lease';
import { type RunSlot, RunSlots } from './run-slots';
import { RunTurnRepository } from './run-turn.repository';
import { SCORE_RUN } from './score-run.service';

/** Longest time that a job waits for a slot before it looks for a run again, in ms. */
const SLOT_WAIT_MS = 1_000;
/** Age from which runs that still wait while slots are free have probably lost their job. */
const LOST_JOB_MS = 5_000;
/** Number of organizations for which runs can lose their slots at a time. */
const WAITING_ORGS_MAX = 10;

/** A claimed run, and its slot in this process. */
interface ClaimedWork extends RunInProgress {
  slot: RunSlot;
}

/** Starts runs of scoring rules. */
export abstract class RuleRuns {
  /** Starts the next run of a rule, one of whose runs has ended. Never fails. */
  abstract runNext(ruleId: string): Promise<void>;
}

/**
 * Executes scoring runs. A job only says that a run waits: which run is executed depends on whose turn it is, see
 * `RunTurnRepository`, and on the slots of this process, see `RunSlots`.
 */
@Handles(SCORE_RUN)
export class ScoreRunExecutor extends JobProcessor<{ score_run_id: string }> {
  readonly concurrency: number;
  private readonly slots: RunSlots;
  /** Claims one run at a time, so that claims of this process never exceed its slots. */
  private readonly claims = new FairLimiter({ concurrency: 1 });

  constructor(
    private readonly environment: Environment,
    private readonly turns: RunTurnRepository,
    private readonly executions: RunExecutionRepository,
    private readonly execution: RunExecutionService,
    private readonly rules: RuleRuns,
    private readonly shutdown: WorkerShutdown,
  ) {
    super();
    this.concurrency = environment.WORKER_RUNS;
    this.slots = new RunSlots(environment.WORKER_RUNS);
  }

  protected handle({ score_run_id }: { score_run_id: string }): Promise<void> {
    return this.executeNext(score_run_id);
  }

  /**
   * Claims the next run, and scores its remaining targets. Waits while this process has no slot for it. Does nothing if no
   * run waits. Throws `JobHandedBack` if this process stops first, or the run loses its slot. Throws the errors of the
   * job's own run. Logs those of other runs, and hands the job back, because its own run may still wait.
   *
   * @param jobRunId the run of the job, which the current trace belongs to. The next run may be of another organization
   */
  async executeNext(jobRunId?: string): Promise<void> {
    for (;;) {
      if (this.shutdown.stopping.aborted) throw new JobHandedBack();
      const claim = await this.claim(0);
      if (claim === 'none') return;
      if (claim !== 'full') {
        if (claim.run.score_run_id === jobRunId) return this.execute(claim);
        if (await tracing().untraced(() => this.executeLogged(claim))) return;
        throw new JobHandedBack();
      }
      await this.slots.change(SLOT_WAIT_MS, this.shutdown.stopping);
    }
  }

  /**
   * Executes runs that no job executes: those of other organizations while the runs of one take all jobs, and those whose job
   * or worker was lost. Then takes slots from runs for organizations that have none. Does not wait for the runs.
   */
  executeWaiting(): Promise<void> {
    return this.shutdown.finish(this.takeTurns());
  }

  private async takeTurns(): Promise<void> {
    while (!this.shutdown.stopping.aborted && this.slots.freeCount > 0) {
      const claim = await this.claim(this.slots.isReserved ? 0 : LOST_JOB_MS);
      if (claim === 'none' || claim === 'full') break;
      void this.shutdown.finish(this.executeLogged(claim));
    }
    if (this.slots.freeCount > 0) return;
    this.slots.yieldTo(await this.turns.countWaitingOrgs(WAITING_ORGS_MAX));
  }

  /**
   * Claims the next run for a slot of this process.
   *
   * @param minAgeMs time after which a run that waits is claimed
   * @returns `none` if no run waits; `full` if this process has no slot for the runs that wait, or others are claiming them
   */
  private claim(minAgeMs: number): Promise<ClaimedWork | 'none' | 'full'> {
    return this.claims.run('', undefined, async () => {
      if (this.slots.freeCount === 0) return 'full';
      const token = randomUUID();
      const run = await this.turns.claim({
        token,
        leaseMs: LEASE_MS,
        seconds: this.environment.SCORE_RUN_SECONDS,
        fullOrgs: this.slots.fullOrgs(),
        minAgeMs,
      });
      if (typeof run === 'string') return run;
      const slot = this.slots.take(run.org_id);
      return { run, lease: new RunLease(this.executions, run, token), slot, yielding: slot.yielding.signal };
    });
  }

  private async execute(work: ClaimedWork): Promise<void> {
    const { org_id, rule_id } = work.run;
    try {
      await this.execution.execute(work);
    } finally {
      this.slots.release(work.slot);
    }
    if (rule_id === null) return;
    // The job does not wait for it.
    void this.shutdown.finish(runAs(org_id, () => tracing().untraced(() => this.rules.runNext(rule_id))));
  }

  /** Executes a run that does not belong to the current job. Returns false if it was not completed, and logs its error. */
  private async executeLogged(work: ClaimedWork): Promise<boolean> {
    try {
      await this.execute(work);
      return true;
    } catch (error) {
      if (!(error instanceof JobHandedBack)) logFailure(work.run, error);
      return false;
    }
  }
}

function logFailure({ score_run_id, workspace_id, org_id }: ClaimedRun, error: unknown): void {
  rootLogger.error({ err: error, score_run_id, workspace_id, org_id }, 'a scoring run failed');
}

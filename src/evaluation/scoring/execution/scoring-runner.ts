import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairLimiter, linkedSignal, type Permit, retry, type RetryPolicy } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Budget, BUDGET_SPENT, failing, type Scoring, type ScoringTerms } from '../../judges';
import type { ScoredItem } from '../../scores';
import type { ScoringTarget } from '../runs/score-run.entity';
import { type ScoringResultDto, toScoringResultDto } from '../runs/score-run.dto';
import { type PreparedTarget, SubjectBuilder } from '../subjects/subject-builder';
import { type RunnableScorer, TargetScorer } from './target-scorer';

/** Targets whose input and output are read together. A larger chunk would only take more memory. */
const CHUNK = 8;
/** Share of the request's time for scoring, so that finished targets are returned even when others take too long. */
const TEST_TIME_SHARE = 0.95;
const OUT_OF_TIME = 'This was not scored within the time limit of the request.';
/** A waiting client is told at once that the database is away. */
const ONCE: RetryPolicy = { attempts: 1 };

export const CONCURRENCY_DEFAULT = 4;

/** The options of a request to score. */
export interface ScoringOptions {
  /** Targets scored at a time. */
  concurrency: number;
  /** In US dollars; null for no limit. */
  max_cost_usd: number | null;
  /** Whether a judge's cached answers are reused. */
  uses_cache: boolean;
}

export interface ScoringJob {
  scorer: RunnableScorer;
  targets: readonly ScoringTarget[];
  /** Targets scored at a time; the process may allow fewer. */
  concurrency: number;
  /** Whether earlier answers of a judge are read, and new ones kept. */
  cache: ScoringTerms['cache'];
  /** When it is spent, no further target is started and no judge is asked. */
  budget: Budget;
  /** The run, where there is one. */
  runId?: string;
  /** How reads of the database are retried. */
  retry: RetryPolicy;
  /** Aborted to start no further target; targets in progress are finished. */
  stopping: AbortSignal;
  /** Aborted to give up the targets in progress, too. */
  signal: AbortSignal;
}

type Keep = (target: ScoringTarget, item: ScoredItem) => Promise<void>;

/**
 * Scores targets: at most `concurrency` of one job at a time, and at most `WORKER_CONCURRENCY` in this process. Judges and
 * code have limits of their own, so that a judge that hangs delays no code.
 */
@Injectable()
export class ScoringRunner {
  private readonly code: FairLimiter;
  private readonly judges: FairLimiter;

  constructor(
    private readonly subjects: SubjectBuilder,
    private readonly scorer: TargetScorer,
    private readonly environment: Environment,
  ) {
    const concurrency = environment.WORKER_CONCURRENCY;
    this.code = new FairLimiter({ concurrency });
    this.judges = new FairLimiter({ concurrency });
  }

  /** Returns what would be run on each target, without running it. */
  async preview(scope: Scope, scorer: RunnableScorer, targets: ScoringTarget[]): Promise<ScoringResultDto[]> {
    const results: ScoringResultDto[] = [];
    for await (const { target, show } of this.subjects.prepare(scope, targets, targets.length, ONCE)) {
      const shown = await show();
      const result = 'error' in shown ? shown : await this.scorer.preview(scorer, shown.subject);
      results.push({ ...toScoringResultDto(target, { elapsed_ms: 0 }), ...result });
    }
    return results;
  }

  /**
   * Scores each target and returns the results in their order, without storing them. Does not use the judge cache. Targets
   * that are not finished when the request's time is nearly over get an error. Throws when none is finished by then.
   */
  async test(
    scope: Scope,
    scorer: RunnableScorer,
    targets: ScoringTarget[],
    { concurrency, max_cost_usd }: ScoringOptions,
  ): Promise<ScoringResultDto[]> {
    const signal = AbortSignal.timeout(this.environment.TEST_SCORING_TIMEOUT_MS * TEST_TIME_SHARE);
    const results = new Map<number, ScoringResultDto>();
    const job: ScoringJob = {
      scorer,
      targets,
      concurrency,
      cache: 'none',
      budget: new Budget(max_cost_usd),
      retry: ONCE,
      stopping: signal,
      signal,
    };
    await this.run(scope, job, (target, item) => {
      results.set(target.ordinal, toScoringResultDto(target, item));
      return Promise.resolve();
    });
    if (results.size === 0) signal.throwIfAborted();
    const error = signal.aborted ? OUT_OF_TIME : BUDGET_SPENT;
    return targets.map(
      (target) => results.get(target.ordinal) ?? toScoringResultDto(target, { error, elapsed_ms: 0 }),
    );
  }

  /**
   * Scores targets and passes each result to `keep` as soon as it is there. Targets that the signals cut off are not passed
   * on. Throws the error of `keep`, or the one that made scoring impossible, once no target is in progress.
   */
  async run(scope: Scope, job: ScoringJob, keep: Keep): Promise<void> {
    const chunk = Math.min(CHUNK, job.concurrency);
    const queue = this.subjects.prepare(scope, job.targets, chunk, job.retry);
    const broken = new AbortController();
    const stopping = linkedSignal(job.stopping, job.signal, broken.signal);
    const giveUp = linkedSignal(job.signal, broken.signal);
    const linkedJob = { ...job, stopping: stopping.signal, signal: giveUp.signal };
    const lane = async (): Promise<void> => {
      try {
        while (await this.next(scope, queue, linkedJob, keep));
      } catch (error) {
        broken.abort(error);
        throw error;
      }
    };
    const lanes = Array.from({ length: Math.min(job.concurrency, job.targets.length) }, lane);
    const ends = await Promise.allSettled(lanes);
    stopping.unlink();
    giveUp.unlink();
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
  }

  /** Scores the next target. Returns whether there may be another. */
  private async next(
    scope: Scope,
    queue: AsyncGenerator<PreparedTarget, undefined>,
    job: ScoringJob,
    keep: Keep,
  ): Promise<boolean> {
    const limiter = job.scorer.scorer_kind === 'llm_judge' ? this.judges : this.code;
    try {
      return await limiter.run(scope, job.stopping, async (permit) => {
        const prepared = await this.prepareNext(queue, job);
        if (!prepared || job.signal.aborted) return false;
        const { signal, cache, budget, runId } = job;
        const askedFor = runId && `${runId}:${prepared.target.ordinal}`;
        const idle = idling(permit, job.stopping);
        const item = await prepared.scoring({ owner: scope, signal, cache, budget, askedFor, idle });
        await keep(prepared.target, item);
        return true;
      });
    } catch (error) {
      // A job that is stopping leaves the targets that only waited to other workers.
      if (job.stopping.aborted) return false;
      throw error;
    }
  }

  /** A function of its own, so that the subject can be freed as soon as the scoring is prepared. */
  private async prepareNext(
    queue: AsyncGenerator<PreparedTarget, undefined>,
    { scorer, retry: policy, budget }: ScoringJob,
  ): Promise<{ target: ScoringTarget; scoring: Scoring } | undefined> {
    const { done, value } = await queue.next();
    if (done || !budget.mayGoOn()) return undefined;
    const shown = await retry(value.show, policy);
    const scoring =
      'error' in shown
        ? failing(shown.error)
        : await retry(() => this.scorer.prepare(scorer, shown.subject), policy);
    return { target: value.target, scoring };
  }
}

/** Lends a target's permit while its scoring only waits, until the job stops or the wait is aborted. */
const idling =
  (permit: Permit, stopping: AbortSignal): ScoringTerms['idle'] =>
  async (until, waiting) => {
    const either = linkedSignal(until, stopping);
    try {
      return await permit.lend(either.signal, () => waiting(either.signal));
    } finally {
      either.unlink();
    }
  };

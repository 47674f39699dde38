import { Injectable } from '@nestjs/common';
import { linkedSignal, type Owner } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { judgeBackendOf, MAX_ERROR_LENGTH, type ScoringSubject } from '../scorers';
import { type ScoredItem, storable } from '../scores';
import {
  type JudgeCall,
  JudgeFailure,
  type Judgement,
  type JudgeRequest,
  PromptError,
} from './judge-backend';
import { JudgeBackends, type JudgedScorer } from './judge-backends';
import { JudgeMetrics } from './judge-caller';
import { type CachedAnswers, JudgeRepository } from './judge.repository';
import { judgeOf, SampleTally } from './tally';

/** The error of a target that was not scored because the budget was spent. */
export const BUDGET_EXCEEDED =
  'The budget of the run (max_cost_usd) was spent before this target was scored.';

/** The budget of a scoring run, in US dollars. */
export class Budget {
  private hasRefused = false;

  /**
   * @param maxUsd null for no limit
   * @param costUsd cost so far
   */
  constructor(
    private readonly maxUsd: number | null,
    private costUsd = 0,
  ) {}

  /** Whether work was skipped because the budget was spent. */
  get hasStoppedWork(): boolean {
    return this.hasRefused;
  }

  spend(costUsd: number): void {
    this.costUsd += costUsd;
  }

  /** Tells whether more work may start. A caller that gets false must skip its work. */
  canContinue(): boolean {
    if (this.maxUsd === null || this.costUsd < this.maxUsd) return true;
    this.hasRefused = true;
    return false;
  }
}

/** How one target is scored. */
export interface ScoringContext {
  /** Owners take turns at the threads that run code, and at a judge with a rate limit. */
  owner: Owner;
  /** Aborted when the score is no longer wanted. */
  signal: AbortSignal;
  /** Aborted when a score that has not begun is left to other workers. */
  stopping: AbortSignal;
  /** Lends the worker's slot to other targets during `waiting`; see `Permit.lend`. */
  lendSlot: <Result>(
    signal: AbortSignal,
    waiting: (signal: AbortSignal) => Promise<Result>,
  ) => Promise<Result>;
  /** How a judge's answers are cached. `read`: reuses and stores them. `write`: only stores them. `none`: neither. */
  cache: 'read' | 'write' | 'none';
  /** Costs are charged to it. Once it is spent, no request is sent to a judge. */
  budget: Budget;
  /**
   * Identifies the run's target. A cached answer that the same target paid for, in a worker that was lost before it stored
   * the result, is charged to the target and not reported as cached.
   */
  targetKey?: string | undefined;
}

/**
 * Scores one prepared target. A failure of the scorer is the item's `error`. Throws the signal's reason when it is
 * aborted, and an Error if nothing can be scored at present.
 */
export type Scoring = (context: ScoringContext) => Promise<ScoredItem>;

/**
 * Returns the scoring of a target that cannot be scored.
 *
 * @param isTooLarge whether the reason is that the scorer cannot be shown it whole
 */
export const failedScoring =
  (error: string, isTooLarge = false): Scoring =>
  () =>
    Promise.resolve({ error, ...(isTooLarge && { is_truncated: true }), elapsed_ms: 0 });

/** Scores targets with judges: requests the samples of a definition, caches the answers and combines them. */
@Injectable()
export class JudgeService {
  constructor(
    private readonly environment: Environment,
    private readonly backends: JudgeBackends,
    private readonly repository: JudgeRepository,
    private readonly metrics: JudgeMetrics,
  ) {}

  /** Builds the request about a subject, even without a backend. Throws `PromptError` if that is impossible. */
  async preview(scorer: JudgedScorer, subject: ScoringSubject): Promise<JudgeRequest> {
    return (await this.backends.forPreview(scorer)).prepare(scorer.definition, subject);
  }

  /**
   * Prepares the scoring of a target. The returned function references only the request, not the subject, because many
   * targets may wait for a judge at once, and a subject may be twenty times as large as its request.
   */
  async prepare(scorer: JudgedScorer, subject: ScoringSubject): Promise<Scoring> {
    const backend = await this.backends.find(scorer);
    if (!backend)
      return failedScoring(
        'The judge of this scorer is no longer configured, or its gateway model was archived.',
      );
    try {
      const request = await backend.prepare(scorer.definition, subject);
      return (context) => this.judge(scorer, request, context);
    } catch (error) {
      if (!(error instanceof PromptError)) throw error;
      return failedScoring(storable(error.message, MAX_ERROR_LENGTH), error.isTooLarge);
    }
  }

  /** Deletes cached answers older than `JUDGE_CACHE_DAYS`. */
  deleteOldAnswers(): Promise<void> {
    return this.repository.deleteOldAnswers(this.environment.JUDGE_CACHE_DAYS);
  }

  private async judge(
    scorer: JudgedScorer,
    request: JudgeRequest,
    context: ScoringContext,
  ): Promise<ScoredItem> {
    const start = performance.now();
    const backend = judgeBackendOf(scorer.definition);
    const tally = new SampleTally(request.samples);
    await this.collect(scorer, request, tally, context);
    const item = tally.item(scorer.definition, request.sha256);
    if (item.cost_usd) this.metrics.cost.inc({ backend }, item.cost_usd);
    const elapsed_ms = Math.max(0, Math.round(performance.now() - start));
    return { backend, ...item, ...(request.isTruncated && { is_truncated: true }), elapsed_ms };
  }

  /** Collects the samples, from the cache or from the judge, until so many failed that the others do not matter. */
  private async collect(
    scorer: JudgedScorer,
    request: JudgeRequest,
    tally: SampleTally,
    { owner, signal, lendSlot, cache, budget, targetKey }: ScoringContext,
  ): Promise<void> {
    const backend = judgeBackendOf(scorer.definition);
    const charge = (costUsd: number): void => {
      tally.charge(costUsd);
      budget.spend(costUsd);
    };
    // If the cache cannot be read, the judge is asked again.
    const cached =
      cache === 'read' &&
      (await this.repository
        .findAnswers(scorer, request.questionSha256, tally.count)
        .catch(logged('the cached answers of a judge could not be read')));
    // Answers of an earlier judge do not count, so that `unscored_only` can replace its scores.
    const isByNewestJudge = cached && isNewestJudge(scorer, cached);
    const deadline = new TargetDeadline(this.environment.JUDGE_TARGET_SECONDS);
    const either = linkedSignal(signal, deadline.signal);
    const call: JudgeCall = {
      owner,
      signal: either.signal,
      remainingMs: () => deadline.remainingMs(),
      lendSlot: (waiting) => lendSlot(either.signal, waiting),
      queue: (waiting) => deadline.pausedFor(() => lendSlot(either.signal, waiting)),
      hasStarted: false,
      charge,
      checkBudget: () => {
        if (!budget.canContinue()) throw new JudgeFailure(BUDGET_EXCEEDED);
      },
    };
    try {
      for (let sample = 0; sample < tally.count && !tally.hasFailed; sample++) {
        const answer = cached ? cached.bySample.get(sample) : undefined;
        const isPaidHere = answer && answer.targetKey !== null && answer.targetKey === targetKey;
        if (answer && !isPaidHere && isByNewestJudge) {
          // Free, because another target paid for it.
          tally.addCached(answer.judgement);
          this.metrics.reused.inc({ backend });
        } else if (isPaidHere) {
          // This target paid for it, but the worker was lost before it stored the result and the cost.
          tally.addAnswer(answer.judgement);
          if (answer.judgement.costUsd !== undefined) charge(answer.judgement.costUsd);
        } else {
          const judgement = await this.requestSample(request, call, tally);
          if (!judgement || cache === 'none') continue;
          await this.repository
            .saveAnswer(scorer, request.questionSha256, sample, { judgement, targetKey: targetKey ?? null })
            .catch(logged('the answer of a judge could not be cached'));
        }
      }
      signal.throwIfAborted();
    } finally {
      either.unlink();
      deadline.end();
    }
  }

  private async requestSample(
    request: JudgeRequest,
    call: JudgeCall,
    tally: SampleTally,
  ): Promise<Judgement | undefined> {
    try {
      const judgement = await request.ask(call);
      tally.addAnswer(judgement);
      return judgement;
    } catch (error) {
      if (!(error instanceof JudgeFailure)) throw error;
      tally.addFailure(error);
      return undefined;
    }
  }
}

/** Logs the failure of a cache, which the scoring survives. */
const logged =
  (message: string) =>
  (error: unknown): undefined => {
    rootLogger.warn({ err: error }, message);
  };

/** Tells whether cached answers come from the judge of the newest score of the scorer version. */
function isNewestJudge({ definition }: JudgedScorer, { bySample, newestDigest }: CachedAnswers): boolean {
  const judgements = [...bySample.values()].map(({ judgement }) => judgement);
  return newestDigest === null || judgeOf(definition, judgements).judge_digest === newestDigest;
}

/** The deadline for judging one target. Its clock stops while the target queues for the judge. */
class TargetDeadline {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private leftMs: number;
  private runsSince = 0;
  /** Aborted at the deadline. */
  readonly signal = this.controller.signal;

  constructor(private readonly seconds: number) {
    this.leftMs = seconds * 1000;
    this.run();
  }

  /** Returns the time left, in ms. */
  remainingMs(): number {
    return this.timer ? this.leftMs - (performance.now() - this.runsSince) : this.leftMs;
  }

  /** Stops the clock during `waiting`. */
  async pausedFor<Result>(waiting: () => Promise<Result>): Promise<Result> {
    this.leftMs = this.remainingMs();
    this.end();
    try {
      return await waiting();
    } finally {
      this.run();
    }
  }

  end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private run(): void {
    this.runsSince = performance.now();
    const timeout = new JudgeFailure(`The judge gave no usable answer within ${this.seconds} s.`);
    this.timer = setTimeout(() => this.controller.abort(timeout), Math.max(0, this.leftMs));
  }
}

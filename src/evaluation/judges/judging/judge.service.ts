import { Injectable } from '@nestjs/common';
import { linkedSignal } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { type JudgeBackendName, judgeBackendOf, MAX_ERROR_LENGTH, type ScoringSubject } from '../../scorers';
import { BUDGET_EXCEEDED, failedScoring, type Scoring, type ScoringContext } from './scoring-context';
import { type ScoredItem, storable } from '../../scores';
import {
  PromptError,
  type JudgeCall,
  JudgeFailure,
  type Judgement,
  type JudgeRequest,
} from '../judge-backend';
import { JudgeBackends, type JudgedScorer } from './judge-backends';
import {
  type AskedQuestion,
  JudgeAnswerRepository,
  type CachedAnswer,
  type NewAnswer,
} from './judge-answer.repository';
import { JudgeMetrics } from '../judge.metrics';
import { judgeOf, SampleTally } from './tally';

/** Cached answers deleted per statement. */
const DELETED_AT_ONCE = 1_000;

/** A version of a scorer of kind `llm_judge`. */
interface JudgeScorer extends JudgedScorer {
  scorer_id: string;
  scorer_version: number;
}

/** Scores targets with judges: requests the samples of a definition, caches the answers and combines them. */
@Injectable()
export class JudgeService {
  constructor(
    private readonly environment: Environment,
    private readonly backends: JudgeBackends,
    private readonly answers: JudgeAnswerRepository,
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
  async prepare(scorer: JudgeScorer, subject: ScoringSubject): Promise<Scoring> {
    const { definition } = scorer;
    const backend = await this.backends.find(scorer);
    if (!backend)
      return failedScoring(
        'The judge of this scorer is no longer configured, or its gateway model was archived.',
      );
    try {
      const request = await backend.prepare(definition, subject);
      return (context) => this.judge(scorer, request, backend.samplesOf(definition), context);
    } catch (error) {
      if (error instanceof PromptError) return failedScoring(storable(error.message, MAX_ERROR_LENGTH));
      throw error;
    }
  }

  /** Deletes cached answers older than `JUDGE_CACHE_DAYS`, in batches. */
  async deleteOldAnswers(): Promise<void> {
    const { JUDGE_CACHE_DAYS } = this.environment;
    while ((await this.answers.deleteOld(JUDGE_CACHE_DAYS, DELETED_AT_ONCE)) === DELETED_AT_ONCE);
  }

  private async judge(
    scorer: JudgeScorer,
    request: JudgeRequest,
    samples: number,
    context: ScoringContext,
  ): Promise<ScoredItem> {
    const start = performance.now();
    const backend = judgeBackendOf(scorer.definition);
    const item = await this.ask(scorer, request, samples, context);
    if (item.cost_usd) this.metrics.costAdded(backend, item.cost_usd);
    return { backend, ...item, elapsed_ms: Math.max(0, Math.round(performance.now() - start)) };
  }

  private async ask(
    scorer: JudgeScorer,
    request: JudgeRequest,
    count: number,
    { owner, signal, lendSlot, cache, budget, targetKey }: ScoringContext,
  ): Promise<Omit<ScoredItem, 'elapsed_ms'>> {
    const question = { ...scorer, question_sha256: request.questionSha256 };
    const tally = new SampleTally(count);
    const charge = (costUsd: number): void => {
      tally.charge(costUsd);
      budget.spend(costUsd);
    };
    const cached = cache === 'read' ? await this.readCache(question, count) : new Map<number, CachedAnswer>();
    const { judge_digest } = judgeOf(
      scorer.definition,
      [...cached.values()].map(({ judgement }) => judgement),
    );
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
      for (let sample = 0; sample < count && !tally.hasFailed; sample++) {
        const answer = cached.get(sample);
        if (answer && isCurrent(answer, judge_digest, targetKey)) {
          this.useCached(answer, targetKey, judgeBackendOf(scorer.definition), tally, charge);
          continue;
        }
        const judgement = await this.requestSample(request, call, tally);
        if (judgement && cache !== 'none') await this.writeCache(question, { sample, judgement, targetKey });
      }
      signal.throwIfAborted();
    } finally {
      either.unlink();
      deadline.end();
    }
    return tally.item(scorer.definition, request.sha256);
  }

  /**
   * Uses a cached answer. It is free if another target paid for it. If this target paid for it, the worker was lost before
   * it stored the result, so the cost is charged now.
   */
  private useCached(
    { judgement, targetKey: payer }: CachedAnswer,
    targetKey: string | undefined,
    backend: JudgeBackendName,
    tally: SampleTally,
    charge: (costUsd: number) => void,
  ): void {
    if (payer === null || payer !== targetKey) {
      tally.addCached(judgement);
      this.metrics.answerReused(backend);
      return;
    }
    tally.addAnswer(judgement);
    if (judgement.costUsd !== undefined) charge(judgement.costUsd);
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

  /** Returns the cached answers to a question. If they cannot be read, the judge is asked again. */
  private async readCache(question: AskedQuestion, count: number): Promise<Map<number, CachedAnswer>> {
    try {
      return await this.answers.find(question, count);
    } catch (error) {
      rootLogger.warn({ err: error }, 'the cached answers of a judge could not be read');
      return new Map();
    }
  }

  private async writeCache(question: AskedQuestion, answer: NewAnswer): Promise<void> {
    try {
      await this.answers.save(question, answer);
    } catch (error) {
      rootLogger.warn({ err: error }, 'the answer of a judge could not be cached');
    }
  }
}

/**
 * Tells whether a cached answer counts: if it comes from the judge of the newest score of the scorer version, so that
 * `unscored_only` can replace the scores of an earlier judge, or if this target paid for it.
 */
const isCurrent = (
  { newestDigest, targetKey: payer }: CachedAnswer,
  digest: string | undefined,
  targetKey: string | undefined,
): boolean => newestDigest === null || newestDigest === digest || (payer !== null && payer === targetKey);

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

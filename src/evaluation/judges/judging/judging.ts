import { Injectable } from '@nestjs/common';
import { linkedSignal } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import {
  type JudgeBackendName,
  judgeBackendOf,
  type JudgeDefinition,
  MAX_ERROR_LENGTH,
  type ScoringSubject,
} from '../../scorers';
import { BUDGET_SPENT, failing, type Scoring, type ScoringTerms } from './scoring-terms';
import { type ScoredItem, storable } from '../../scores';
import {
  CannotJudge,
  JudgeBackends,
  type JudgeCall,
  JudgeFailure,
  type Judgement,
  type JudgeRequest,
} from '../judge-backend';
import {
  type AskedQuestion,
  JudgeAnswerRepository,
  type KnownAnswer,
  type NewAnswer,
} from './judge-answer.repository';
import { JudgeMetrics } from '../judge.metrics';
import { Tally } from './tally';

const DELETED_AT_ONCE = 1_000;

/** A version of a scorer that asks a judge. */
export interface JudgingScorer {
  workspace_id: string;
  scorer_id: string;
  scorer_version: number;
  definition: JudgeDefinition;
}

/** Has a judge score targets, with as many samples as the definition asks for. Caches the answers. */
@Injectable()
export class Judging {
  constructor(
    private readonly environment: Environment,
    private readonly backends: JudgeBackends,
    private readonly answers: JudgeAnswerRepository,
    private readonly metrics: JudgeMetrics,
  ) {}

  /** Returns the request that would be sent. Throws `CannotJudge` where none can be made. */
  request(definition: JudgeDefinition, subject: ScoringSubject): Promise<JudgeRequest> {
    return this.backends.require(judgeBackendOf(definition)).prepare(definition, subject);
  }

  /**
   * Prepares the question about a target. The returned function references only the request, not the subject, which may
   * be twenty times as large, because many targets may wait for their judge at once.
   */
  async prepare(scorer: JudgingScorer, subject: ScoringSubject): Promise<Scoring> {
    const { definition } = scorer;
    const backend = this.backends.find(judgeBackendOf(definition));
    if (!backend) return failing('The judge backend is no longer configured.');
    try {
      const request = await backend.prepare(definition, subject);
      return (terms) => this.judge(scorer, request, backend.samplesOf(definition), terms);
    } catch (error) {
      if (error instanceof CannotJudge) return failing(storable(error.message, MAX_ERROR_LENGTH));
      throw error;
    }
  }

  /** Deletes cached answers older than `JUDGE_CACHE_DAYS`, in batches. */
  async deleteOldAnswers(): Promise<void> {
    const { JUDGE_CACHE_DAYS } = this.environment;
    while ((await this.answers.deleteOld(JUDGE_CACHE_DAYS, DELETED_AT_ONCE)) === DELETED_AT_ONCE);
  }

  private async judge(
    scorer: JudgingScorer,
    request: JudgeRequest,
    samples: number,
    terms: ScoringTerms,
  ): Promise<ScoredItem> {
    const begun = performance.now();
    const backend = judgeBackendOf(scorer.definition);
    const item = await this.ask(scorer, request, samples, terms);
    if (item.cost_usd) this.metrics.spent(backend, item.cost_usd);
    return { backend, ...item, elapsed_ms: Math.max(0, Math.round(performance.now() - begun)) };
  }

  private async ask(
    scorer: JudgingScorer,
    request: JudgeRequest,
    count: number,
    { owner, signal, idle, cache, budget, askedFor }: ScoringTerms,
  ): Promise<Omit<ScoredItem, 'elapsed_ms'>> {
    const question = { ...scorer, question_sha256: request.questionSha256 };
    const tally = new Tally(count);
    const charge = (costUsd: number): void => {
      tally.charge(costUsd);
      budget.spend(costUsd);
    };
    const known = cache === 'read' ? await this.known(question, count) : new Map<number, KnownAnswer>();
    const deadline = new TargetDeadline(this.environment.JUDGE_TARGET_SECONDS);
    const either = linkedSignal(signal, deadline.signal);
    const call: JudgeCall = {
      owner,
      signal: either.signal,
      msLeft: () => deadline.left(),
      idle: (waiting) => idle(either.signal, waiting),
      queue: (waiting) => deadline.pausedFor(() => idle(either.signal, waiting)),
      hasBegun: false,
      charge,
      checkBudget: () => {
        if (!budget.mayGoOn()) throw new JudgeFailure(BUDGET_SPENT);
      },
    };
    try {
      for (let sample = 0; sample < count && !tally.isLost; sample++) {
        const before = known.get(sample);
        if (before) {
          this.takeKnown(before, askedFor, judgeBackendOf(scorer.definition), tally, charge);
          continue;
        }
        const judgement = await this.sample(request, call, tally);
        if (judgement && cache !== 'none') await this.keep(question, { sample, judgement, askedFor });
      }
      signal.throwIfAborted();
    } finally {
      either.unlink();
      deadline.end();
    }
    return tally.item(scorer.definition, request.sha256);
  }

  /** An answer for another target is free. An answer that this target paid for, in another worker, is charged again. */
  private takeKnown(
    { judgement, askedFor: paidFor }: KnownAnswer,
    askedFor: string | undefined,
    backend: JudgeBackendName,
    tally: Tally,
    charge: (costUsd: number) => void,
  ): void {
    if (paidFor === null || paidFor !== askedFor) {
      tally.know(judgement);
      this.metrics.knew(backend);
      return;
    }
    tally.hear(judgement);
    if (judgement.costUsd !== undefined) charge(judgement.costUsd);
  }

  private async sample(request: JudgeRequest, call: JudgeCall, tally: Tally): Promise<Judgement | undefined> {
    try {
      const judgement = await request.ask(call);
      tally.hear(judgement);
      return judgement;
    } catch (error) {
      if (!(error instanceof JudgeFailure)) throw error;
      tally.miss(error);
      return undefined;
    }
  }

  /** Returns the cached answers to a question. When they cannot be read, the judge is asked again. */
  private async known(question: AskedQuestion, count: number): Promise<Map<number, KnownAnswer>> {
    try {
      return await this.answers.find(question, count);
    } catch (error) {
      rootLogger.warn({ err: error }, 'the cached answers of a judge could not be read');
      return new Map();
    }
  }

  private async keep(question: AskedQuestion, answer: NewAnswer): Promise<void> {
    try {
      await this.answers.save(question, answer);
    } catch (error) {
      rootLogger.warn({ err: error }, 'the answer of a judge could not be cached');
    }
  }
}

/** The time limit for judging one target. Its clock stands still while the target waits for a turn. */
class TargetDeadline {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private leftMs: number;
  private runsSince = 0;
  /** Aborted when the time is over. */
  readonly signal = this.controller.signal;

  constructor(private readonly seconds: number) {
    this.leftMs = seconds * 1000;
    this.run();
  }

  /** Returns the time left, in ms. */
  left(): number {
    return this.timer ? this.leftMs - (performance.now() - this.runsSince) : this.leftMs;
  }

  /** Waits while the clock stands still. */
  async pausedFor<Result>(waiting: () => Promise<Result>): Promise<Result> {
    this.leftMs = this.left();
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
    const over = new JudgeFailure(`The judge gave no usable answer within ${this.seconds} s.`);
    this.timer = setTimeout(() => this.controller.abort(over), Math.max(0, this.leftMs));
  }
}

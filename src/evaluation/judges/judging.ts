import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { judgeBackendOf, type JudgeDefinition } from '../scorers/definitions/judge.definition';
import type { ScoringSubject } from '../scorers/engine/score-outcome';
import { linkedSignal } from '../scoring/linked-signal';
import { type ScoredItem, storable } from '../scoring/scored-item';
import type { JudgeCall, Judgement, JudgeRequest } from './judge-backend';
import { JudgeAnswerRepository } from './judge-answer.repository';
import { JudgeBackends } from './judge-backends';
import { CannotJudge, JudgeFailure } from './judge-failure';
import { spreadOf, verdictOf } from './samples';
import { TargetDeadline } from './target-deadline';

/** A version of a scorer that asks a judge. */
export interface JudgingScorer {
  workspace_id: string;
  scorer_id: string;
  scorer_version: number;
  definition: JudgeDefinition;
}

export interface JudgingTerms {
  /** Aborted when the score is not wanted any more. */
  signal: AbortSignal;
  /** Waits for something without taking up a slot of the worker; see `Slot.lend`. */
  idle: <Result>(signal: AbortSignal, waiting: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  /** `read`: what was answered before is not asked again. `write`: it is, and kept. `none`: neither. */
  cache: 'read' | 'write' | 'none';
}

/** Characters of an error and of a reasoning that are kept. */
const ERROR_MAX = 2_000;
const REASONING_MAX = 100_000;

/** Has a judge score one target: by one question or several, each asked once for good. */
@Injectable()
export class Judging {
  constructor(
    private readonly environment: Environment,
    private readonly backends: JudgeBackends,
    private readonly answers: JudgeAnswerRepository,
  ) {}

  /** The request that `judge` would send. Throws `CannotJudge` where there is none. */
  prepare(definition: JudgeDefinition, subject: ScoringSubject): Promise<JudgeRequest> {
    return this.backends.require(judgeBackendOf(definition)).prepare(definition, subject);
  }

  /**
   * What the judge makes of a target; what it fails at is the item's `error`. More than half of the samples have to be
   * answered. Throws the signal's reason when it is aborted.
   */
  async judge(scorer: JudgingScorer, subject: ScoringSubject, terms: JudgingTerms): Promise<ScoredItem> {
    const begun = performance.now();
    const item = await this.judged(scorer, subject, terms);
    return {
      backend: judgeBackendOf(scorer.definition),
      ...item,
      elapsed_ms: Math.max(0, Math.round(performance.now() - begun)),
    };
  }

  private async judged(
    scorer: JudgingScorer,
    subject: ScoringSubject,
    terms: JudgingTerms,
  ): Promise<Omit<ScoredItem, 'elapsed_ms'>> {
    const { definition } = scorer;
    const backend = this.backends.find(judgeBackendOf(definition));
    if (!backend) return { error: 'No judge backend is configured any more.' };
    let request: JudgeRequest;
    try {
      request = await backend.prepare(definition, subject);
    } catch (error) {
      if (error instanceof CannotJudge) return { error: storable(error.message, ERROR_MAX) };
      throw error;
    }
    return this.ask(scorer, request, backend.samplesOf(definition), terms);
  }

  private async ask(
    scorer: JudgingScorer,
    request: JudgeRequest,
    count: number,
    { signal, idle, cache }: JudgingTerms,
  ): Promise<Omit<ScoredItem, 'elapsed_ms'>> {
    const question = { ...scorer, request_sha256: request.sha256 };
    const known = cache === 'read' ? await this.known(question, count) : new Map<number, Judgement>();
    const deadline = new TargetDeadline(this.environment.JUDGE_TARGET_SECONDS);
    const either = linkedSignal(signal, deadline.signal);
    const call: JudgeCall = {
      signal: either.signal,
      msLeft: () => deadline.left(),
      idle: (waiting) => idle(either.signal, waiting),
    };
    const tally = new Tally(count);
    try {
      for (let sample = 0; sample < count && !tally.isLost; sample++) {
        const before = known.get(sample);
        if (before) tally.know(before);
        else
          await this.sample(request, call, tally, async (judgement) => {
            if (cache !== 'none') await this.keep(question, sample, judgement);
          });
      }
      signal.throwIfAborted();
    } finally {
      either.unlink();
      deadline.end();
    }
    return tally.item(scorer.definition, request.sha256);
  }

  private async sample(
    request: JudgeRequest,
    call: JudgeCall,
    tally: Tally,
    keep: (judgement: Judgement) => Promise<void>,
  ): Promise<void> {
    try {
      const judgement = await request.ask(call);
      tally.hear(judgement);
      await keep(judgement);
    } catch (error) {
      if (!(error instanceof JudgeFailure)) throw error;
      tally.miss(error);
    }
  }

  /** What is known of a question. That it cannot be read costs asking, and nothing else. */
  private async known(
    question: JudgingScorer & { request_sha256: string },
    count: number,
  ): Promise<Map<number, Judgement>> {
    try {
      return await this.answers.find(question, count);
    } catch (error) {
      rootLogger.warn({ err: error }, 'what a judge answered before could not be read');
      return new Map();
    }
  }

  private async keep(
    question: JudgingScorer & { request_sha256: string },
    sample: number,
    judgement: Judgement,
  ): Promise<void> {
    try {
      await this.answers.save(question, sample, judgement);
    } catch (error) {
      rootLogger.warn({ err: error }, 'what a judge answered could not be kept');
    }
  }
}

/** What came of the samples of one target. */
class Tally {
  private readonly heard: Judgement[] = [];
  private readonly failures: JudgeFailure[] = [];
  private cost: number | undefined;
  private isAsked = false;

  constructor(private readonly count: number) {}

  /** So many failed that no majority can come of the others. */
  get isLost(): boolean {
    return this.failures.length * 2 >= this.count;
  }

  /** Counts what was answered before, which costs nothing. */
  know(judgement: Judgement): void {
    this.heard.push(judgement);
  }

  hear(judgement: Judgement): void {
    this.isAsked = true;
    this.heard.push(judgement);
    this.charge(judgement.costUsd);
  }

  miss(failure: JudgeFailure): void {
    this.isAsked = true;
    this.failures.push(failure);
    this.charge(failure.costUsd);
  }

  item({ output }: JudgeDefinition, requestSha256: string): Omit<ScoredItem, 'elapsed_ms'> {
    const cost = this.isAsked ? this.cost : 0;
    const model = this.heard.findLast((one) => one.model !== undefined)?.model;
    const common = {
      ...(model !== undefined && { model: storable(model, 255) }),
      ...(cost !== undefined && { cost_usd: cost }),
      request_sha256: this.heard.at(-1)?.requestSha256 ?? requestSha256,
    };
    if (this.isLost) {
      return { ...common, error: storable(this.failures.at(-1)!.message, ERROR_MAX) };
    }
    const { reasoning, ...verdict } = verdictOf(output, this.heard);
    return {
      ...verdict,
      ...(reasoning !== undefined && { reasoning: storable(reasoning, REASONING_MAX) }),
      ...common,
      is_cached: !this.isAsked,
      ...(this.count > 1 && { samples: spreadOf(this.heard, this.heard.length + this.failures.length) }),
    };
  }

  private charge(costUsd: number | undefined): void {
    if (costUsd !== undefined) this.cost = (this.cost ?? 0) + costUsd;
  }
}

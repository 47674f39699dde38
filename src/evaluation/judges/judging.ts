import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import {
  type JudgeBackendName,
  judgeBackendOf,
  type JudgeDefinition,
} from '../scorers/definitions/judge.definition';
import { MAX_ERROR_LENGTH } from '../scorers/engine/limits';
import type { ScoringSubject } from '../scorers/engine/score-outcome';
import { BUDGET_SPENT } from '../scoring/budget';
import { linkedSignal } from '../scoring/linked-signal';
import { failing, type Scoring, type ScoringTerms } from '../scoring/scoring-terms';
import { type ScoredItem, storable } from '../scoring/scored-item';
import type { JudgeCall, Judgement, JudgeRequest } from './judge-backend';
import {
  type AskedQuestion,
  JudgeAnswerRepository,
  type KnownAnswer,
  type NewAnswer,
} from './judge-answer.repository';
import { JudgeBackends } from './judge-backends';
import { JudgeMetrics } from './judge.metrics';
import { CannotJudge, JudgeFailure } from './judge-failure';
import { Tally } from './tally';
import { TargetDeadline } from './target-deadline';

/** A version of a scorer that asks a judge. */
export interface JudgingScorer {
  workspace_id: string;
  scorer_id: string;
  scorer_version: number;
  definition: JudgeDefinition;
}

/** Has a judge score one target: by one question or several, each asked once for good. */
@Injectable()
export class Judging {
  constructor(
    private readonly environment: Environment,
    private readonly backends: JudgeBackends,
    private readonly answers: JudgeAnswerRepository,
    private readonly metrics: JudgeMetrics,
  ) {}

  /** The request that would be sent. Throws `CannotJudge` where there is none. */
  request(definition: JudgeDefinition, subject: ScoringSubject): Promise<JudgeRequest> {
    return this.backends.require(judgeBackendOf(definition)).prepare(definition, subject);
  }

  /**
   * Prepares what is asked about a target. What is answered holds on to the request alone, and no more to the subject,
   * which may be twenty times as large: many may wait for their judge at once.
   */
  async prepare(scorer: JudgingScorer, subject: ScoringSubject): Promise<Scoring> {
    const { definition } = scorer;
    const backend = this.backends.find(judgeBackendOf(definition));
    if (!backend) return failing('No judge backend is configured any more.');
    try {
      const request = await backend.prepare(definition, subject);
      return (terms) => this.judge(scorer, request, backend.samplesOf(definition), terms);
    } catch (error) {
      if (error instanceof CannotJudge) return failing(storable(error.message, MAX_ERROR_LENGTH));
      throw error;
    }
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
    { signal, idle, cache, budget, askedFor }: ScoringTerms,
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

  /** An answer for another target is free. One for this very target, before the run was another worker's, was paid by it. */
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

  /** What is known of a question. That it cannot be read costs asking, and nothing else. */
  private async known(question: AskedQuestion, count: number): Promise<Map<number, KnownAnswer>> {
    try {
      return await this.answers.find(question, count);
    } catch (error) {
      rootLogger.warn({ err: error }, 'what a judge answered before could not be read');
      return new Map();
    }
  }

  private async keep(question: AskedQuestion, answer: NewAnswer): Promise<void> {
    try {
      await this.answers.save(question, answer);
    } catch (error) {
      rootLogger.warn({ err: error }, 'what a judge answered could not be kept');
    }
  }
}

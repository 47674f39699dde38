import type { JudgeDefinition } from '../scorers/definitions/judge.definition';
import { MAX_ERROR_LENGTH } from '../scorers/engine/limits';
import { type ScoredItem, storable } from '../scoring/scored-item';
import type { Judgement } from './judge-backend';
import type { JudgeFailure } from './judge-failure';
import { spreadOf, verdictOf } from './samples';

/** Characters of a reasoning that are kept. */
const REASONING_MAX = 100_000;

/** What came of the samples of one target. */
export class Tally {
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
      return { ...common, error: storable(this.failures.at(-1)!.message, MAX_ERROR_LENGTH) };
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

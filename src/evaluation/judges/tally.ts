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

  /** So many failed that the others are not more than half. */
  get isLost(): boolean {
    return this.failures.length * 2 >= this.count;
  }

  /** Counts what was answered before, for another run. */
  know(judgement: Judgement): void {
    this.heard.push(judgement);
  }

  hear(judgement: Judgement): void {
    this.isAsked = true;
    this.heard.push(judgement);
  }

  miss(failure: JudgeFailure): void {
    this.isAsked = true;
    this.failures.push(failure);
  }

  /** In US dollars. */
  charge(costUsd: number): void {
    this.cost = (this.cost ?? 0) + costUsd;
  }

  item({ output }: JudgeDefinition, requestSha256: string): Omit<ScoredItem, 'elapsed_ms'> {
    const cost = this.cost ?? (this.isAsked ? undefined : 0);
    const model = this.heard.findLast((one) => one.model !== undefined)?.model;
    const answered = this.heard.at(-1) ?? this.failures.at(-1);
    const common = {
      ...(model !== undefined && { model: storable(model, 255) }),
      ...(cost !== undefined && { cost_usd: cost }),
      request_sha256: answered?.requestSha256 ?? requestSha256,
    };
    if (this.isLost) return { ...common, error: storable(this.whyLost(), MAX_ERROR_LENGTH) };
    const { reasoning, ...verdict } = verdictOf(output, this.heard);
    return {
      ...verdict,
      ...(reasoning !== undefined && { reasoning: storable(reasoning, REASONING_MAX) }),
      ...common,
      is_cached: !this.isAsked,
      ...(this.count > 1 && { samples: spreadOf(this.heard, this.heard.length + this.failures.length) }),
    };
  }

  private whyLost(): string {
    const { message } = this.failures.at(-1)!;
    if (this.count === 1) return message;
    return `${this.failures.length} of ${this.count} samples were not answered, the last of them for this: ${message}`;
  }
}

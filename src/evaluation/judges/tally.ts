import { sha256OfJson } from '#platform/json';
import {
  judgeBackendOf,
  type JudgeDefinition,
  MAX_ERROR_LENGTH,
  type Output,
  scoreOfAnswer,
  type SingleOutput,
} from '../scorers';
import { type SampleSpread, type ScoredItem, storable } from '../scores';
import { memberOf } from './judge-answer';
import type { JudgeFailure, Judgement } from './judge-backend';

type Value = string | boolean | number;
type Combined = Value | Record<string, Value>;

/** The combined result of several judgements about one subject. */
type Verdict = Pick<ScoredItem, 'choice' | 'answers' | 'confidence' | 'probabilities' | 'reasoning'> & {
  score: number;
};

/**
 * Combines judgements: by majority for a choice or a boolean, with ties going to the first value in the definition (true
 * before false); by the mean for a number; by each question for several questions.
 *
 * `confidence` is the model's mean probability of the combined answer or, without probabilities, the share of samples that
 * agree. A number has no confidence.
 */
export function verdictOf(output: Output, judgements: readonly Judgement[]): Verdict {
  const member = memberOf(output);
  const value = combine(output, judgements);
  // A single judgement has its own score, because a classifier's score does not depend on its choice alone.
  const [first] = judgements;
  const score = judgements.length === 1 ? first!.score : scoreOfAnswer(output, { [member]: value }).score;
  const probabilities = meanProbabilities(judgements);
  const agreeing = judgements.filter((one) => isSame(one[member]!, value));
  const isVoted = output.type === 'choice' || output.type === 'boolean';
  const share = judgements.length > 1 && isVoted ? agreeing.length / judgements.length : undefined;
  const confidence = probabilities && !isRecord(value) ? probabilities[String(value)] : share;
  const explained = agreeing.length > 0 ? agreeing : nearest(judgements, score);
  const [reasoning] = explained.flatMap((one) => one.reasoning ?? []);
  return {
    score,
    ...(member !== 'value' && { [member]: value }),
    ...(confidence !== undefined && { confidence }),
    ...(probabilities && { probabilities }),
    ...(reasoning !== undefined && { reasoning }),
  };
}

/** Returns the spread of the scores. @param requested number of samples requested */
export function spreadOf(judgements: readonly Judgement[], requested: number): SampleSpread {
  const scores = judgements.map(({ score }) => score);
  return {
    count: requested,
    failed_count: requested - scores.length,
    scores,
    spread: standardDeviation(scores),
  };
}

const isRecord = (value: Combined): value is Record<string, Value> => typeof value === 'object';

function combine(output: Output, judgements: readonly Judgement[]): Combined {
  if (output.type !== 'questions') {
    const member = output.type === 'choice' ? 'choice' : 'value';
    return combineValues(output, judgements, (one) => one[member]!);
  }
  return Object.fromEntries(
    output.questions.map(({ key, output: own }) => [
      key,
      combineValues(own, judgements, ({ answers }) => answers![key]!),
    ]),
  );
}

function combineValues(
  output: SingleOutput,
  judgements: readonly Judgement[],
  valueIn: (one: Judgement) => Value,
): Value {
  const values = judgements.map(valueIn);
  if (output.type === 'numeric') return meanOf(values as number[]);
  const order: Value[] = output.type === 'choice' ? output.choices.map(({ value }) => value) : [true, false];
  const votes = (of: Value): number => values.filter((value) => value === of).length;
  return order.reduce((best, one) => (votes(one) > votes(best) ? one : best));
}

const isSame = (one: Combined, other: Combined): boolean =>
  isRecord(one) && isRecord(other) ? Object.keys(one).every((key) => one[key] === other[key]) : one === other;

const nearest = (judgements: readonly Judgement[], score: number): Judgement[] =>
  [...judgements].sort((a, b) => Math.abs(a.score - score) - Math.abs(b.score - score));

function meanProbabilities(judgements: readonly Judgement[]): Record<string, number> | undefined {
  const withProbabilities = judgements.flatMap((one) => (one.probabilities ? [one.probabilities] : []));
  if (withProbabilities.length === 0) return undefined;
  return Object.fromEntries(
    Object.keys(withProbabilities[0]!).map((key) => [
      key,
      meanOf(withProbabilities.map((one) => one[key] ?? 0)),
    ]),
  );
}

/** Returns the mean without overflow, even if the sum would not be finite. */
const meanOf = (numbers: readonly number[]): number =>
  numbers.reduce((mean, one, index) => mean + (one / (index + 1) - mean / (index + 1)), 0);

function standardDeviation(numbers: readonly number[]): number | null {
  if (numbers.length < 2) return null;
  const mean = meanOf(numbers);
  const largest = Math.max(...numbers.map((one) => Math.abs(one - mean)));
  if (largest === 0 || !Number.isFinite(largest)) return largest === 0 ? 0 : null;
  const sum = numbers.reduce((total, one) => total + ((one - mean) / largest) ** 2, 0);
  return largest * Math.sqrt(sum / (numbers.length - 1));
}

/** Characters of a model's name that are stored. */
const MODEL_MAX = 255;

/**
 * Returns what judged: the model, and the digest of all that determines its judgements. Several models of the samples are
 * joined by commas, and their digest is the digest of their sorted digests. Returns nothing without an answer.
 */
export function judgeOf(
  definition: JudgeDefinition,
  judgements: readonly Judgement[],
): Pick<ScoredItem, 'model' | 'judge_digest'> {
  if (judgements.length === 0) return {};
  const backend = judgeBackendOf(definition);
  const judges = judgements.map(({ server, model }) => ({
    ...server,
    model: model === undefined ? null : storable(model, MODEL_MAX),
  }));
  const models = sortedUnique(judges.flatMap(({ model }) => model ?? []));
  const digests = sortedUnique(judges.map((judge) => sha256OfJson({ definition, backend, ...judge })));
  return {
    ...(models.length > 0 && { model: storable(models.join(', '), MODEL_MAX) }),
    judge_digest: digests.length === 1 ? digests[0]! : sha256OfJson(digests),
  };
}

const sortedUnique = (texts: readonly string[]): string[] => [...new Set(texts)].sort();

/** Characters of a reasoning that are stored. */
const REASONING_MAX = 100_000;

/** Collects the samples of one target and combines them into its result. */
export class SampleTally {
  private readonly judgements: Judgement[] = [];
  private readonly failures: JudgeFailure[] = [];
  private cost: number | undefined;
  private hasRequested = false;

  /** @param count number of samples requested */
  constructor(readonly count: number) {}

  /** Whether at least half of the samples failed. */
  get hasFailed(): boolean {
    return this.failures.length * 2 >= this.count;
  }

  /** Adds a cached answer that another target paid for. */
  addCached(judgement: Judgement): void {
    this.judgements.push(judgement);
  }

  addAnswer(judgement: Judgement): void {
    this.hasRequested = true;
    this.judgements.push(judgement);
  }

  addFailure(failure: JudgeFailure): void {
    this.hasRequested = true;
    this.failures.push(failure);
  }

  /** Adds a cost in US dollars. */
  charge(costUsd: number): void {
    this.cost = (this.cost ?? 0) + costUsd;
  }

  item(definition: JudgeDefinition, requestSha256: string): Omit<ScoredItem, 'elapsed_ms'> {
    const cost = this.cost ?? (this.hasRequested ? undefined : 0);
    const failure = this.failures.at(-1);
    const last = this.judgements.at(-1) ?? failure;
    const common = {
      ...judgeOf(definition, this.judgements),
      ...(cost !== undefined && { cost_usd: cost }),
      request_sha256: last?.requestSha256 ?? requestSha256,
    };
    if (failure && this.hasFailed) {
      const failures = `${this.failures.length} of ${this.count} samples failed. The last failure: `;
      const error = `${this.count === 1 ? '' : failures}${failure.message}`;
      return { ...common, error: storable(error, MAX_ERROR_LENGTH) };
    }
    const { reasoning, ...verdict } = verdictOf(definition.output, this.judgements);
    return {
      ...verdict,
      ...(reasoning !== undefined && { reasoning: storable(reasoning, REASONING_MAX) }),
      ...common,
      is_cached: !this.hasRequested,
      ...(this.count > 1 && {
        samples: spreadOf(this.judgements, this.judgements.length + this.failures.length),
      }),
    };
  }
}

import { type Output, scoreOfAnswer, type SingleOutput } from '../scorers/definitions/output.answer';
import type { Judgement } from './judge-backend';

type Value = string | boolean | number;

/** What several judgements of one subject come to. */
export interface Verdict {
  score: number;
  choice?: string;
  answers?: Record<string, Value>;
  /** From 0 to 1. */
  confidence?: number;
  probabilities?: Record<string, number>;
  reasoning?: string;
}

/** How far the samples of one subject were apart. */
export interface SampleSpread {
  /** How often the judge was asked, and how often in vain. */
  count: number;
  failed_count: number;
  /** The score of each sample that was answered, in order. */
  scores: number[];
  /** The standard deviation of these (n − 1); null of fewer than two. */
  spread: number | null;
}

/**
 * The verdict of one or more judgements: of a choice or a boolean what most of them say, where as many say one as the
 * other what the definition has first (true before false); of a number the mean; of questions each by itself.
 *
 * `confidence` is the probability that the model gave to what was answered, on average over the samples; where it told
 * none, the share of the samples that say the same. A number has none.
 */
export function verdictOf(output: Output, judgements: readonly Judgement[]): Verdict {
  const value = combined(output, judgements);
  const score = scoreOf(output, value, judgements);
  const probabilities = meanProbabilities(judgements);
  const agreeing = judgements.filter((one) => isSame(valueOf(output, one), value));
  const share = judgements.length > 1 && isVoted(output) ? agreeing.length / judgements.length : undefined;
  const confidence = probabilities && !isRecord(value) ? probabilities[String(value)] : share;
  const reasoning = (agreeing.length > 0 ? agreeing : nearest(judgements, score)).find(
    (one) => one.reasoning !== undefined,
  )?.reasoning;
  return {
    score,
    ...(output.type === 'choice' && { choice: value as string }),
    ...(isRecord(value) && { answers: value }),
    ...(confidence !== undefined && { confidence }),
    ...(probabilities && { probabilities }),
    ...(reasoning !== undefined && { reasoning }),
  };
}

/** @param asked how often the judge was asked. */
export function spreadOf(judgements: readonly Judgement[], asked: number): SampleSpread {
  const scores = judgements.map(({ score }) => score);
  return {
    count: asked,
    failed_count: asked - scores.length,
    scores,
    spread: standardDeviation(scores),
  };
}

type Combined = Value | Record<string, Value>;

const isRecord = (value: Combined): value is Record<string, Value> => typeof value === 'object';

const isVoted = ({ type }: Output): boolean => type === 'choice' || type === 'boolean';

function combined(output: Output, judgements: readonly Judgement[]): Combined {
  if (output.type !== 'questions') {
    return combinedOne(
      output,
      judgements.map((one) => valueOf(output, one) as Value),
    );
  }
  const answers = output.questions.map(({ key, output: own }) => {
    const given = judgements.map((one) => one.answers![key]!);
    return [key, combinedOne(own, given)] as const;
  });
  return Object.fromEntries(answers);
}

function combinedOne(output: SingleOutput, values: readonly Value[]): Value {
  if (output.type === 'numeric') return meanOf(values as number[]);
  const order: Value[] = output.type === 'choice' ? output.choices.map(({ value }) => value) : [true, false];
  const votes = (of: Value): number => values.filter((value) => value === of).length;
  return order.reduce((best, one) => (votes(one) > votes(best) ? one : best));
}

const valueOf = (output: Output, { choice, value, answers }: Judgement): Combined =>
  output.type === 'choice'
    ? choice!
    : output.type === 'questions'
      ? (answers as Record<string, Value>)
      : value!;

/** A classifier's score is not that of its choice alone, so that of one judgement is taken as it is. */
function scoreOf(output: Output, value: Combined, judgements: readonly Judgement[]): number {
  if (judgements.length === 1) return judgements[0]!.score;
  if (isRecord(value)) return scoreOfAnswer(output, { answers: value }).score;
  return scoreOfAnswer(output, output.type === 'choice' ? { choice: value } : { value }).score;
}

const isSame = (one: Combined, other: Combined): boolean =>
  isRecord(one) && isRecord(other) ? Object.keys(one).every((key) => one[key] === other[key]) : one === other;

const nearest = (judgements: readonly Judgement[], score: number): Judgement[] =>
  [...judgements].sort((a, b) => Math.abs(a.score - score) - Math.abs(b.score - score));

function meanProbabilities(judgements: readonly Judgement[]): Record<string, number> | undefined {
  const told = judgements.flatMap((one) => (one.probabilities ? [one.probabilities] : []));
  if (told.length === 0) return undefined;
  return Object.fromEntries(
    Object.keys(told[0]!).map((key) => [key, meanOf(told.map((one) => one[key] ?? 0))]),
  );
}

/** Within the bounds of the numbers, also where their sum would not be finite. */
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

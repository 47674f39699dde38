import { bootstrapInterval, type Interval } from '../statistics/bootstrap';
import { clusteredMeanOf, meanOf } from '../statistics/mean';
import type { Pace } from '#platform/turns';
import { permutationsOf, signFlipTest } from '../statistics/permutation';
import type { Resampled } from '../statistics/resampled';
import { type Seed, seedOf } from '../statistics/xoshiro';
import { type Outcome, outcomeOf, type PairedCases } from './paired-cases';

/** How small a p-value is to be for a difference to count. */
export const SIGNIFICANCE = 0.05;

export type Verdict = 'improved' | 'regressed' | 'inconclusive';
export const VERDICTS = ['improved', 'regressed', 'inconclusive'] as const satisfies Verdict[];

/** What is said of the difference of two experiments by one scorer. */
export interface PairedDifference {
  /** The mean of the differences of the cases that both have scores of; null where there is none, or no number is. */
  difference: number | null;
  /** Cases that both have scores of. */
  cases: number;
  interval: Interval | null;
  pValue: number | null;
  outcomes: Record<Outcome, number>;
  verdict: Verdict;
}

/**
 * What chance is drawn from: the two experiments, whichever way round, and the scorer. So an answer repeats, and with
 * the sides swapped it is mirrored.
 */
const seedOfPair = (purpose: string, a: string, b: string, scorer: string): Seed =>
  seedOf(purpose, ...[a, b].sort(), scorer);

/** The ids of the two experiments. */
export type ExperimentPair = readonly [candidate: string, baseline: string];

/** The differences of the cases that both have scores of, and their mean. */
export function sharedDifferences(
  cases: PairedCases,
  scorer: string,
): { shared: Float64Array; mean: Resampled; difference: number | null } {
  const differences = cases.differences(scorer);
  const known = new Float64Array(differences.length);
  let count = 0;
  for (let i = 0; i < differences.length; i++) {
    if (!Number.isNaN(differences[i]!)) known[count++] = differences[i]!;
  }
  const shared = known.subarray(0, count);
  const mean = meanOf(shared);
  return { shared, mean, difference: Number.isFinite(mean.estimate) ? mean.estimate : null };
}

export const differenceInterval = (
  mean: Resampled,
  scorer: string,
  pair: ExperimentPair,
  pace: Pace,
): Promise<Interval | null> => bootstrapInterval(mean, seedOfPair('bootstrap', ...pair, scorer), pace);

/** @param scorers how many are compared: of more than ten, each has fewer permutations; its interval is the same */
export async function pairedDifference(
  cases: PairedCases,
  scorer: string,
  pair: ExperimentPair,
  { pace, scorers }: { pace: Pace; scorers: number },
): Promise<PairedDifference> {
  const outcomes: Record<Outcome, number> = { improved: 0, regressed: 0, unchanged: 0, missing: 0 };
  for (const difference of cases.differences(scorer)) outcomes[outcomeOf(difference)]++;
  const { shared, mean, difference } = sharedDifferences(cases, scorer);
  const isKnown = difference !== null;
  const interval = isKnown ? await differenceInterval(mean, scorer, pair, pace) : null;
  const seed = seedOfPair('permutation', ...pair, scorer);
  const pValue = isKnown ? await signFlipTest(shared, seed, pace, permutationsOf(scorers)) : null;
  const found = { difference, interval, pValue };
  return { ...found, cases: shared.length, outcomes, verdict: verdictOf(found) };
}

/**
 * `improved` or `regressed` where both methods say that the difference is not chance: p < 0.05, and the interval leaves
 * out 0. Everything else is inconclusive.
 */
export function verdictOf({
  difference,
  interval,
  pValue,
}: Pick<PairedDifference, 'difference' | 'interval' | 'pValue'>): Verdict {
  if (difference === null || interval === null || pValue === null || pValue >= SIGNIFICANCE) {
    return 'inconclusive';
  }
  if (interval.lower > 0 && difference > 0) return 'improved';
  return interval.upper < 0 && difference < 0 ? 'regressed' : 'inconclusive';
}

/** The interval of an experiment's own mean by one scorer, over its cases with all their trials. */
export function meanInterval(
  { candidate }: PairedCases,
  scores: Float64Array,
  seed: Seed,
  pace: Pace,
): Promise<Interval | null> {
  const { sums, counts } = candidate.sums(scores);
  const isScored = (_: number, index: number): boolean => counts[index]! > 0;
  const mean = clusteredMeanOf(sums.filter(isScored), counts.filter(isScored));
  return bootstrapInterval(mean, seed, pace);
}

export const seedOfMean = (experimentId: string, scorer: string): Seed =>
  seedOf('mean', experimentId, scorer);

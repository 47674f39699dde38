import { bootstrapInterval, type Interval } from '../bootstrap';
import { sumOf } from '../numeric';
import { permutationsOf, signFlipTest } from '../permutation';
import { seedOf } from '../random';
import { clusteredMeanOf, meanOf } from '../resampled-statistic';
import {
  caseDifferences,
  type CaseResults,
  columnOf,
  meanDifferences,
  type Outcome,
  outcomeOf,
  pairCases,
  type PairedCases,
  type ScoreColumns,
  type ScoreTotals,
  sumByCase,
  totalsOf,
} from './paired-cases';

/** Significance level. */
const SIGNIFICANCE = 0.05;

export const VERDICTS = ['improved', 'regressed', 'inconclusive', 'not_comparable'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** The difference between two experiments by one scorer. */
export interface PairedDifference {
  candidate: ScoreTotals;
  baseline: ScoreTotals;
  /** The mean difference of the cases with scores on both sides; null without such cases, and if it is not finite. */
  difference: number | null;
  /** Number of cases with scores on both sides. */
  cases: number;
  interval: Interval | null;
  pValue: number | null;
  outcomes: Record<Outcome, number>;
  verdict: Verdict;
  /** Number of cases that different judges scored. They have no difference. */
  judgeChanged: number;
}

/** The ids of the two experiments. */
export type PairIds = readonly [candidate: string, baseline: string];

export interface ComparisonInput {
  pair: PairIds;
  scorers: readonly string[];
  /** Whether the scores of each scorer may be compared. If not, no case has a difference. */
  isComparable: readonly boolean[];
  candidate: ScoreColumns;
  baseline: ScoreColumns;
  /** The lowest share of pairs that the same judge must have scored, of those that judges scored on both sides. */
  minComparable: number;
  withStatistics: boolean;
}

export interface ComparedCases extends PairedCases {
  /** For each scorer, the difference of each case; NaN for a case without a difference. */
  differences: Float64Array[];
  /** The mean of each case's differences over all scorers. */
  meanDifferences: Float64Array;
  /** One item per scorer; null unless requested. */
  statistics: PairedDifference[] | null;
}

/** Pairs the cases of two experiments and tests their difference by each scorer. */
export function compareExperiments(input: ComparisonInput): ComparedCases {
  const { pair, scorers, isComparable, candidate, baseline, minComparable, withStatistics } = input;
  const cases = pairCases(candidate.caseKeys, baseline.caseKeys);
  const none = () => new Float64Array(cases.keys.length).fill(NaN);
  const compared = scorers.map((_, scorer) => {
    if (isComparable[scorer] !== true) return { differences: none(), judgeChanged: 0, isComparable: false };
    const { differences, judgeChanged } = caseDifferences(cases, candidate, baseline, scorer);
    const isSameJudge = isSameJudgeOf(withoutMissing(differences).length, judgeChanged, minComparable);
    return { differences: isSameJudge ? differences : none(), judgeChanged, isComparable: isSameJudge };
  });
  const differences = compared.map((one) => one.differences);
  const test = (own: Float64Array, scorer: number): PairedDifference => {
    const tested = pairedDifference(own, pair, scorers[scorer]!, scorers.length);
    return {
      ...tested,
      candidate: totalsOf(candidate, scorer),
      baseline: totalsOf(baseline, scorer),
      judgeChanged: compared[scorer]!.judgeChanged,
      ...(!compared[scorer]!.isComparable && { verdict: 'not_comparable' }),
    };
  };
  return {
    ...cases,
    differences,
    meanDifferences: meanDifferences(differences, cases.keys.length),
    statistics: withStatistics ? differences.map(test) : null,
  };
}

/** Whether enough of the pairs that judges scored were scored by the same judge on both sides. */
export const isSameJudgeOf = (pairs: number, judgeChanged: number, minComparable: number): boolean =>
  judgeChanged === 0 || pairs / (pairs + judgeChanged) >= minComparable;

/** The measures of one scorer that the rules of a gate need. */
export interface RequiredMeasures {
  scorer: string;
  meanInterval: boolean;
  difference: boolean;
  differenceInterval: boolean;
}

export interface GateInput {
  candidateId: string;
  candidate: ScoreColumns;
  /** Null if no rule is about regressions. */
  baseline: { experimentId: string; scores: ScoreColumns } | null;
  /** One item per scorer, in the order of the columns. */
  needed: readonly RequiredMeasures[];
}

export interface GateMeasures {
  candidate: ScoreTotals;
  /** Null if no rule is about regressions. */
  baseline: ScoreTotals | null;
  /** Number of cases with scores on both sides by the same judge, or without one. */
  sharedCases: number;
  /** Number of cases that different judges scored. They are left out. */
  judgeChanged: number;
  difference: number | null;
  /** Number of cases that got worse. Null without shared cases. */
  regressedCases: number | null;
  /** The lowest difference of any case. Null without shared cases. */
  worstDifference: number | null;
  meanInterval: Interval | null;
  differenceInterval: Interval | null;
}

/** Computes the measures that the rules of a gate need, one item per scorer. */
export function measureForGate({ candidateId, candidate, baseline, needed }: GateInput): GateMeasures[] {
  const cases = pairCases(candidate.caseKeys, baseline?.scores.caseKeys ?? []);
  return needed.map(({ scorer, ...measures }, column): GateMeasures => {
    const scores = columnOf(candidate, column);
    const meanInterval = measures.meanInterval
      ? bootstrapMean(cases.candidate, scores, candidateId, scorer)
      : null;
    const totals = totalsOf(candidate, column);
    if (!baseline || !measures.difference) {
      return { ...NO_DIFFERENCE, candidate: totals, baseline: null, meanInterval };
    }
    const { differences, judgeChanged } = caseDifferences(cases, candidate, baseline.scores, column);
    const shared = withoutMissing(differences);
    const difference = meanDifference(shared);
    const differenceInterval =
      measures.differenceInterval && difference !== null
        ? bootstrapDifference(shared, [candidateId, baseline.experimentId], scorer)
        : null;
    const hasShared = shared.length > 0;
    return {
      candidate: totals,
      baseline: totalsOf(baseline.scores, column),
      sharedCases: shared.length,
      judgeChanged,
      difference,
      regressedCases: hasShared ? shared.filter((one) => one < 0).length : null,
      worstDifference: hasShared ? shared.reduce((worst, one) => Math.min(worst, one)) : null,
      meanInterval,
      differenceInterval,
    };
  });
}

const NO_DIFFERENCE = {
  sharedCases: 0,
  judgeChanged: 0,
  difference: null,
  regressedCases: null,
  worstDifference: null,
  differenceInterval: null,
};

/**
 * Tests the difference between two experiments by one scorer.
 *
 * @param scorers number of scorers compared; with more than ten, each test draws fewer permutations
 */
export function pairedDifference(
  differences: Float64Array,
  pair: PairIds,
  scorer: string,
  scorers: number,
): Omit<PairedDifference, 'candidate' | 'baseline' | 'judgeChanged'> {
  const outcomes: Record<Outcome, number> = { improved: 0, regressed: 0, unchanged: 0, missing: 0 };
  for (const one of differences) outcomes[outcomeOf(one)]++;
  const shared = withoutMissing(differences);
  const difference = meanDifference(shared);
  const isKnown = difference !== null;
  const interval = isKnown ? bootstrapDifference(shared, pair, scorer) : null;
  const seed = seedOf('permutation', ...[...pair].sort(), scorer);
  const pValue = isKnown ? signFlipTest(shared, seed, permutationsOf(scorers)) : null;
  const verdict = verdictOf({ difference, interval, pValue });
  return { difference, cases: shared.length, interval, pValue, outcomes, verdict };
}

/**
 * Returns `improved` or `regressed` if both methods rule out chance: p < 0.05 and an interval that excludes 0. Otherwise
 * returns `inconclusive`.
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

const withoutMissing = (differences: Float64Array): Float64Array =>
  differences.filter((one) => !Number.isNaN(one));

function meanDifference(shared: Float64Array): number | null {
  const mean = sumOf(shared) / shared.length;
  return Number.isFinite(mean) ? mean : null;
}

/** The seed does not depend on the order of the pair, so that swapping the sides mirrors the interval. */
const bootstrapDifference = (shared: Float64Array, pair: PairIds, scorer: string): Interval | null =>
  bootstrapInterval(meanOf(shared), seedOf('bootstrap', ...[...pair].sort(), scorer));

/** Returns the interval of an experiment's mean by one scorer. A case with all its trials is one unit. */
function bootstrapMean(
  results: CaseResults,
  scores: Float64Array,
  experimentId: string,
  scorer: string,
): Interval | null {
  const { sums, counts } = sumByCase(results, scores);
  const isScored = (_: number, index: number): boolean => counts[index]! > 0;
  const mean = clusteredMeanOf(sums.filter(isScored), counts.filter(isScored));
  return bootstrapInterval(mean, seedOf('mean', experimentId, scorer));
}

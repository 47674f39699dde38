import { bootstrapInterval, type Interval } from '../bootstrap';
import { permutationsOf, signFlipTest } from '../permutation';
import { seedOf } from '../random';
import { meanOf } from '../resampled-statistic';
import {
  caseDifferences,
  caseTotals,
  columnOf,
  meanDifference,
  meanDifferences,
  meansByCase,
  type Outcome,
  outcomeOf,
  pairCases,
  type PairedCases,
  type ScoreColumns,
  type ScoreTotals,
  totalsOf,
  withoutMissing,
} from './paired-cases';
import { countTrials, type PassRates, passRates, type PassRule } from './pass-rates';
import { type RunColumns, type RunMeasures, runMeasures } from './run-measures';

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
  /** The keys of the cases that have changed. */
  changed: readonly string[];
  /** The lowest share of comparable pairs: of cases that have not changed, and of pairs that the same judge scored. */
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
  const cases = pairCases(candidate.caseKeys, baseline.caseKeys, input.changed);
  const { paired, changed } = caseTotals(cases);
  const areSameCases = isEnough(paired, changed, minComparable);
  const none = () => new Float64Array(cases.keys.length).fill(NaN);
  const compared = scorers.map((_, scorer) => {
    const { differences, judgeChanged } = caseDifferences(cases, candidate, baseline, scorer);
    const shared = withoutMissing(differences).length;
    const isOneScale = isComparable[scorer] === true;
    const isOne = isOneScale && areSameCases && isEnough(shared, judgeChanged, minComparable);
    return {
      differences: isOne ? differences : none(),
      missing: cases.keys.length - changed - shared - judgeChanged,
      judgeChanged: isOneScale ? judgeChanged : 0,
      isComparable: isOne,
    };
  });
  const differences = compared.map((one) => one.differences);
  const test = (own: Float64Array, scorer: number): PairedDifference => {
    const tested = pairedDifference(own, cases.isChanged, pair, scorers[scorer]!, scorers.length);
    return {
      ...tested,
      candidate: totalsOf(cases.candidate, candidate, scorer),
      baseline: totalsOf(cases.baseline, baseline, scorer),
      outcomes: { ...tested.outcomes, missing: compared[scorer]!.missing },
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

/** Whether the pairs that can be compared are enough of those that could be. */
export const isEnough = (comparable: number, others: number, minComparable: number): boolean =>
  others === 0 || comparable / (comparable + others) >= minComparable;

/** The measures of one scorer that the rules of a gate need. */
export interface RequiredMeasures {
  scorer: string;
  meanInterval: boolean;
  difference: boolean;
  differenceInterval: boolean;
  /** The pass rates to estimate. */
  passes: readonly PassRule[];
}

export interface GateInput {
  candidateId: string;
  candidate: ScoreColumns;
  /** Null if no rule is about regressions. */
  baseline: { experimentId: string; scores: ScoreColumns } | null;
  /** The keys of the cases that have changed. */
  changed: readonly string[];
  /** One item per scorer, in the order of the columns. */
  needed: readonly RequiredMeasures[];
  /** 1 for each of the candidate's results with an error. */
  hasErrors: Uint8Array;
  /** Number of cases that should have a result; null if it is unknown. */
  expectedCases: number | null;
  /** The candidate's measures; null if no rule is about them. */
  run: Omit<RunColumns, 'hasErrors'> | null;
}

/** The measures that the rules of a gate need. */
export interface GateOutput {
  /** One item per scorer. */
  scorers: GateMeasures[];
  /** Cases of both experiments that have not changed. */
  paired: number;
  changed: number;
  run: RunMeasures | null;
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
  /** In the order of the required `passes`. */
  passes: PassRates[];
}

/** Computes the measures that the rules of a gate need. */
export function measureForGate(input: GateInput): GateOutput {
  const { candidateId, candidate, baseline, needed, hasErrors, expectedCases, changed, run } = input;
  const cases = pairCases(candidate.caseKeys, baseline?.scores.caseKeys ?? [], changed);
  const results = { cases: cases.candidate, scores: candidate, hasErrors, expectedCases };
  const scorers = needed.map(({ scorer, ...measures }, column): GateMeasures => {
    const passes = measures.passes.map((rule) =>
      passRates(results, countTrials(results, column, rule.threshold), rule, [candidateId, scorer]),
    );
    const means = measures.meanInterval ? meansByCase(cases.candidate, columnOf(candidate, column)) : null;
    const meanInterval =
      means && bootstrapInterval(meanOf(withoutMissing(means)), seedOf('mean', candidateId, scorer));
    const totals = totalsOf(cases.candidate, candidate, column);
    if (!baseline || !measures.difference) {
      return { ...NO_DIFFERENCE, candidate: totals, baseline: null, meanInterval, passes };
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
      baseline: totalsOf(cases.baseline, baseline.scores, column),
      sharedCases: shared.length,
      judgeChanged,
      difference,
      regressedCases: hasShared ? shared.filter((one) => one < 0).length : null,
      worstDifference: hasShared ? shared.reduce((worst, one) => Math.min(worst, one)) : null,
      meanInterval,
      differenceInterval,
      passes,
    };
  });
  const totals = caseTotals(cases);
  return {
    scorers,
    paired: totals.paired,
    changed: totals.changed,
    run: run && runMeasures(cases.candidate, candidate, { ...run, hasErrors }),
  };
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
  isChanged: Uint8Array,
  pair: PairIds,
  scorer: string,
  scorers: number,
): Omit<PairedDifference, 'candidate' | 'baseline' | 'judgeChanged'> {
  const outcomes: Record<Outcome, number> = {
    improved: 0,
    regressed: 0,
    unchanged: 0,
    missing: 0,
    changed: 0,
  };
  for (let i = 0; i < differences.length; i++) outcomes[outcomeOf(differences[i]!, isChanged[i] === 1)]++;
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

/** The seed does not depend on the order of the pair, so that swapping the sides mirrors the interval. */
const bootstrapDifference = (shared: Float64Array, pair: PairIds, scorer: string): Interval | null =>
  bootstrapInterval(meanOf(shared), seedOf('bootstrap', ...[...pair].sort(), scorer));

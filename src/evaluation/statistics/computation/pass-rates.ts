import { bootstrapInterval, type Interval } from '../bootstrap';
import { decimalMean } from '../numeric';
import { seedOf } from '../random';
import { meanOf } from '../resampled-statistic';
import { type CaseResults, columnOf, meansByCase, pairCases, type ScoreColumns } from './paired-cases';

/** What counts as passed, and how many trials are drawn. */
export interface PassRule {
  k: number;
  /** The lowest score that passes. */
  threshold: number;
}

/** An estimate over the cases with at least k trials that were judged. Null without such cases. */
export interface PassEstimate {
  value: number | null;
  interval: Interval | null;
}

export interface PassRates extends PassRule {
  /** At least one of k trials passes. */
  passAtK: PassEstimate;
  /** All of k trials pass. */
  passHatK: PassEstimate;
  /** Number of cases in the estimates. */
  caseCount: number;
  /** Number of other cases, with fewer than k trials that were judged. */
  leftOutCount: number;
}

/** For each case, the number of trials with a score or an error, and of those that passed. */
export interface CaseTrials {
  judged: Int32Array;
  passed: Int32Array;
}

/** The results whose trials are counted. */
export interface TrialResults {
  cases: CaseResults;
  scores: ScoreColumns;
  /** 1 for each result with an error. */
  hasErrors: Uint8Array;
  /** Number of cases that should have a result. Null if it is unknown. */
  expectedCases: number | null;
}

/**
 * Counts the trials of each case. An error never passes, even with a score. A trial without a score or an error says
 * nothing, like one with a deliberate null.
 */
export function countTrials(
  { cases, scores, hasErrors }: TrialResults,
  scorer: number,
  threshold: number,
): CaseTrials {
  const { starts, results } = cases;
  const column = columnOf(scores, scorer);
  const [judged, passed] = [new Int32Array(starts.length - 1), new Int32Array(starts.length - 1)];
  for (let one = 0; one < judged.length; one++) {
    for (let i = starts[one]!; i < starts[one + 1]!; i++) {
      const result = results[i]!;
      const isError = hasErrors[result] === 1;
      if (isError || !Number.isNaN(column[result]!)) judged[one]!++;
      if (!isError && column[result]! >= threshold) passed[one]!++;
    }
  }
  return { judged, passed };
}

/**
 * Returns the probability that k trials, drawn from n without replacement, are all among m of them: C(m, k) / C(n, k). It is
 * the unbiased estimator of the probability that k new trials are all like these.
 */
export function allAmong(m: number, n: number, k: number): number {
  let probability = 1;
  for (let i = 0; i < k && probability > 0; i++) probability *= Math.max(0, m - i) / (n - i);
  return probability;
}

/**
 * Estimates pass@k (M. Chen et al., "Evaluating large language models trained on code", arXiv:2107.03374, 2021) and pass^k
 * (S. Yao et al., "τ-bench", arXiv:2406.12045, 2024): the means over cases of the unbiased estimators. Intervals are
 * those of means, see `bootstrapInterval`.
 *
 * @param names the experiment and the scorer, which seed the intervals
 */
export function passRates(
  results: TrialResults,
  { judged, passed }: CaseTrials,
  { k, threshold }: PassRule,
  names: readonly [experimentId: string, scorer: string],
): PassRates {
  const counted = Array.from(judged.keys()).filter((one) => judged[one]! >= k);
  const estimate = (kind: string, of: (n: number, c: number) => number): PassEstimate => {
    const values = Float64Array.from(counted, (one) => of(judged[one]!, passed[one]!));
    const seed = seedOf(kind, ...names, String(k), String(threshold));
    return { value: decimalMean(values), interval: bootstrapInterval(meanOf(values), seed) };
  };
  return {
    k,
    threshold,
    passAtK: estimate('pass@k', (n, c) => 1 - allAmong(n - c, n, k)),
    passHatK: estimate('pass^k', (n, c) => allAmong(c, n, k)),
    caseCount: counted.length,
    leftOutCount: judged.length - counted.length + missingCases(results),
  };
}

/** Returns the number of expected cases without a result. */
function missingCases({ cases: { starts, results }, scores, expectedCases }: TrialResults): number {
  if (expectedCases === null) return 0;
  let found = 0;
  for (let one = 0; one + 1 < starts.length; one++) {
    if (starts[one + 1]! > starts[one]! && scores.areExpected[results[starts[one]!]!] === 1) found++;
  }
  return Math.max(0, expectedCases - found);
}

/** The trials of one experiment by one scorer. */
export interface TrialsInput extends Omit<TrialResults, 'cases'> {
  experimentId: string;
  scorer: string;
  rule: PassRule;
}

export interface TrialsOutput extends CaseTrials {
  /** The keys of the cases, sorted. */
  keys: string[];
  /** The first result of each case. */
  firstResults: Int32Array;
  /** The mean of each case's scores; NaN without scores. */
  means: Float64Array;
  rates: PassRates;
}

/** Counts the trials of each case, and estimates the pass rates. */
export function measureTrials({ experimentId, scorer, rule, ...input }: TrialsInput): TrialsOutput {
  const { keys, candidate: cases } = pairCases(input.scores.caseKeys, []);
  const results = { ...input, cases };
  const trials = countTrials(results, 0, rule.threshold);
  return {
    ...trials,
    keys,
    firstResults: Int32Array.from(keys, (_, one) => cases.results[cases.starts[one]!]!),
    means: meansByCase(cases, columnOf(input.scores, 0)),
    rates: passRates(results, trials, rule, [experimentId, scorer]),
  };
}

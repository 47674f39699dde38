import { decimalMean, Numbering } from '../numeric';

/** Values with a relative difference below this are equal up to rounding. */
const ROUNDING = 1e-12;

export const OUTCOMES = ['improved', 'regressed', 'unchanged', 'missing'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Returns the outcome for a difference candidate - baseline. NaN means that a side has no score. */
export function outcomeOf(difference: number): Outcome {
  if (Number.isNaN(difference)) return 'missing';
  if (difference === 0) return 'unchanged';
  return difference > 0 ? 'improved' : 'regressed';
}

/** The scores of one experiment as columns: results in order of arrival, scorers in the order of the request. */
export interface ScoreColumns {
  /** The key of each result's case: `trial_group`, else `dataset_record_id`, else `case_id`. */
  caseKeys: string[];
  /** All scores of the first scorer, one per result, then of the next. NaN for a result without a score. */
  scores: Float64Array;
  /** In the same order: 1 for a result with a deliberate null. */
  nulls: Uint8Array;
  /** The number of each result's expected case, from 0; -1 for a result without one. */
  expectedCases: Int32Array;
  /** In the order of `scores`: the number of the judge that gave the score, in both experiments alike; 0 for no judge. */
  judges: Int32Array;
}

/** Mean and count of one scorer's scores in one experiment, and the expected cases that they cover. */
export interface ScoreTotals {
  /** Null without scores. */
  mean: number | null;
  /** Number of results with a score. */
  count: number;
  /** Expected cases with a score. */
  scoredCount: number;
  /** Expected cases without a score, but with a deliberate null. */
  nullCount: number;
}

/** Returns the scores of one scorer. */
export function columnOf({ caseKeys, scores }: ScoreColumns, scorer: number): Float64Array {
  return scores.subarray(scorer * caseKeys.length, (scorer + 1) * caseKeys.length);
}

const judgesOf = ({ caseKeys, judges }: ScoreColumns, scorer: number): Int32Array =>
  judges.subarray(scorer * caseKeys.length, (scorer + 1) * caseKeys.length);

export function totalsOf(columns: ScoreColumns, scorer: number): ScoreTotals {
  const scores = columnOf(columns, scorer);
  const nulls = columns.nulls.subarray(scorer * scores.length, (scorer + 1) * scores.length);
  // for each expected case: 0 if it is not covered, 1 for a deliberate null, 2 for a score
  const coverage = new Uint8Array(scores.length);
  let count = 0;
  for (let i = 0; i < scores.length; i++) {
    const isScored = !Number.isNaN(scores[i]!);
    if (isScored) count++;
    const expected = columns.expectedCases[i]!;
    if (expected >= 0) coverage[expected] = Math.max(coverage[expected]!, isScored ? 2 : nulls[i]!);
  }
  const countOf = (kind: number): number => coverage.filter((one) => one === kind).length;
  return { mean: decimalMean(scores), count, scoredCount: countOf(2), nullCount: countOf(1) };
}

/** The results of one side, grouped by case. Case i has `results[starts[i]]` to `results[starts[i + 1] - 1]`. */
export interface CaseResults {
  starts: Int32Array;
  results: Int32Array;
}

/** The cases of two experiments, paired and sorted by key. The order does not depend on which side is the candidate. */
export interface PairedCases {
  keys: string[];
  candidate: CaseResults;
  baseline: CaseResults;
}

/** Returns the indices of a case's results among those of its side, in order of arrival. */
export const resultsOf = ({ starts, results }: CaseResults, index: number): Int32Array =>
  results.subarray(starts[index], starts[index + 1]);

/** Returns the number of cases with a result on this side. */
export function countCases({ starts }: CaseResults): number {
  let count = 0;
  for (let i = 1; i < starts.length; i++) if (starts[i]! > starts[i - 1]!) count++;
  return count;
}

/** Pairs the cases of two experiments by the keys of their results. */
export function pairCases(candidate: readonly string[], baseline: readonly string[]): PairedCases {
  // keys are numbered in order of appearance, then sorted
  const numbering = new Numbering<string>();
  const numbered = [candidate, baseline].map((keys) =>
    Int32Array.from(keys, (key) => numbering.numberOf(key)),
  );
  const keys = numbering.values.sort();
  const indexes = new Int32Array(keys.length);
  keys.forEach((key, index) => (indexes[numbering.numberOf(key)] = index));
  const [own, other] = numbered.map((side) =>
    groupResults(
      side.map((number) => indexes[number]!),
      keys.length,
    ),
  );
  return { keys, candidate: own!, baseline: other! };
}

function groupResults(caseOf: Int32Array, cases: number): CaseResults {
  const starts = new Int32Array(cases + 1);
  for (const one of caseOf) starts[one + 1]!++;
  for (let i = 0; i < cases; i++) starts[i + 1]! += starts[i]!;
  const next = starts.slice();
  const results = new Int32Array(caseOf.length);
  for (let result = 0; result < caseOf.length; result++) results[next[caseOf[result]!]!++] = result;
  return { starts, results };
}

/** Returns the sum and the number of each case's scores. @param scores one per result; NaN for no score */
export function sumByCase(
  { starts, results }: CaseResults,
  scores: Float64Array,
): { sums: Float64Array; counts: Float64Array } {
  const cases = starts.length - 1;
  const sums = new Float64Array(cases);
  const counts = new Float64Array(cases);
  for (let one = 0; one < cases; one++) {
    for (let i = starts[one]!; i < starts[one + 1]!; i++) {
      const score = scores[results[i]!]!;
      if (Number.isNaN(score)) continue;
      sums[one]! += score;
      counts[one]!++;
    }
  }
  return { sums, counts };
}

/** The differences of two experiments by one scorer. */
export interface CaseDifferences {
  /** For each case, the difference of mean scores, candidate - baseline; NaN if a side has no score, or the judges differ. */
  differences: Float64Array;
  /** Number of cases with scores on both sides by different judges. */
  judgeChanged: number;
}

export function caseDifferences(
  cases: PairedCases,
  candidate: ScoreColumns,
  baseline: ScoreColumns,
  scorer: number,
): CaseDifferences {
  const own = sumByCase(cases.candidate, columnOf(candidate, scorer));
  const other = sumByCase(cases.baseline, columnOf(baseline, scorer));
  const ownJudges = judgesByCase(cases.candidate, judgesOf(candidate, scorer));
  const otherJudges = judgesByCase(cases.baseline, judgesOf(baseline, scorer));
  const differences = new Float64Array(cases.keys.length);
  let judgeChanged = 0;
  for (let i = 0; i < differences.length; i++) {
    differences[i] = differenceOf(own.sums[i]! / own.counts[i]!, other.sums[i]! / other.counts[i]!);
    const [one, another] = [ownJudges[i]!, otherJudges[i]!];
    if (Number.isNaN(differences[i]) || one === 0 || another === 0 || (one === another && one !== SEVERAL))
      continue;
    differences[i] = NaN;
    judgeChanged++;
  }
  return { differences, judgeChanged };
}

/** Stands for several judges. */
const SEVERAL = -1;

/** Returns the judge of each case: its number, 0 for none, or `SEVERAL`. */
function judgesByCase({ starts, results }: CaseResults, judges: Int32Array): Int32Array {
  const byCase = new Int32Array(starts.length - 1);
  for (let one = 0; one < byCase.length; one++) {
    for (let i = starts[one]!; i < starts[one + 1]!; i++) {
      const judge = judges[results[i]!]!;
      if (judge !== 0) byCase[one] = byCase[one] === 0 || byCase[one] === judge ? judge : SEVERAL;
    }
  }
  return byCase;
}

/** Returns NaN if the difference overflows, because such numbers cannot be compared. */
function differenceOf(candidate: number, baseline: number): number {
  const difference = candidate - baseline;
  if (!Number.isFinite(difference)) return NaN;
  return Math.abs(difference) <= ROUNDING * Math.max(Math.abs(candidate), Math.abs(baseline))
    ? 0
    : difference;
}

/** Returns the mean of each case's differences over the scorers; NaN for a case without any difference. */
export function meanDifferences(columns: readonly Float64Array[], cases: number): Float64Array {
  const means = new Float64Array(cases);
  const sizes = new Float64Array(cases);
  const counts = new Int32Array(cases);
  for (const differences of columns) {
    for (let i = 0; i < cases; i++) {
      const difference = differences[i]!;
      if (Number.isNaN(difference)) continue;
      means[i]! += difference;
      sizes[i]! += Math.abs(difference);
      counts[i]!++;
    }
  }
  for (let i = 0; i < cases; i++) means[i] = meanOf(means[i]!, sizes[i]!, counts[i]!);
  return means;
}

/** @param size sum of the absolute values of the terms of `sum` */
function meanOf(sum: number, size: number, count: number): number {
  if (count === 0 || !Number.isFinite(sum)) return NaN;
  const rounding = Number.isFinite(size) ? ROUNDING * size : 0;
  return Math.abs(sum) <= rounding ? 0 : sum / count;
}

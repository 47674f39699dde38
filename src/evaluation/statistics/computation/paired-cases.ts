import { decimalMean, Numbering, sumOf } from '../numeric';

/** Values with a relative difference below this are equal up to rounding. */
const ROUNDING = 1e-12;

export const OUTCOMES = ['improved', 'regressed', 'unchanged', 'missing', 'changed'] as const;
/** `changed`: a case whose input or expected output differs between the experiments. */
export type Outcome = (typeof OUTCOMES)[number];

/** Returns the outcome for a difference candidate - baseline of a case. NaN means that a side has no score. */
export function outcomeOf(difference: number, isChanged: boolean): Outcome {
  if (isChanged) return 'changed';
  if (Number.isNaN(difference)) return 'missing';
  if (difference === 0) return 'unchanged';
  return difference > 0 ? 'improved' : 'regressed';
}

/** The scores of one experiment as columns: results in order of arrival, scorers in the order of the request. */
export interface ScoreColumns {
  /** The key of each result's case: `dataset_record_id`, else `trial_group`, else `case_id`. */
  caseKeys: string[];
  /** All scores of the first scorer, one per result, then of the next. NaN for a result without a score. */
  scores: Float64Array;
  /** In the same order: 1 for a result with a deliberate null. */
  nulls: Uint8Array;
  /** Number of results that complete a case. */
  trials: number;
  /** 1 for each result whose case the experiment expects. */
  areExpected: Uint8Array;
  /** In the order of `scores`: the number of the judge that gave the score, in both experiments alike; 0 for no judge. */
  judges: Int32Array;
}

/** Mean and count of one scorer's scores in one experiment, and the expected cases that they cover. */
export interface ScoreTotals {
  /** The mean over the cases with a score, each with the mean of its trials. Null without scores. */
  mean: number | null;
  /** Number of cases with a score. */
  count: number;
  /** Expected cases with all trials, which all have a score or a deliberate null, at least one of them a score. */
  scoredCount: number;
  /** Expected cases with all trials, which all have a deliberate null. */
  nullCount: number;
}

/** Returns the scores of one scorer. */
export function columnOf({ caseKeys, scores }: ScoreColumns, scorer: number): Float64Array {
  return scores.subarray(scorer * caseKeys.length, (scorer + 1) * caseKeys.length);
}

const judgesOf = ({ caseKeys, judges }: ScoreColumns, scorer: number): Int32Array =>
  judges.subarray(scorer * caseKeys.length, (scorer + 1) * caseKeys.length);

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
  /** 1 for each case of both experiments whose input or expected output differs. It is no pair. */
  isChanged: Uint8Array;
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

/** Numbers of cases by the experiments that have them. They add up to all cases. */
export interface CaseTotals {
  /** Cases of both experiments that have not changed. */
  paired: number;
  changed: number;
  onlyInCandidate: number;
  onlyInBaseline: number;
}

export function caseTotals({ keys, candidate, baseline, isChanged }: PairedCases): CaseTotals {
  const onlyInCandidate = keys.length - countCases(baseline);
  const onlyInBaseline = keys.length - countCases(candidate);
  const changed = countSet(isChanged);
  const paired = keys.length - onlyInCandidate - onlyInBaseline - changed;
  return { paired, changed, onlyInCandidate, onlyInBaseline };
}

function countSet(flags: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < flags.length; i++) count += flags[i]!;
  return count;
}

/**
 * Pairs the cases of two experiments by the keys of their results.
 *
 * @param changed the keys of the cases that have changed
 */
export function pairCases(
  candidate: readonly string[],
  baseline: readonly string[],
  changed: readonly string[] = [],
): PairedCases {
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
  const isChanged = new Uint8Array(keys.length);
  for (const key of changed) isChanged[indexes[numbering.numberOf(key)]!] = 1;
  return { keys, candidate: own!, baseline: other!, isChanged };
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

/** Returns the mean of each case's values; NaN for a case without any. @param values one per result; NaN for none */
export function meansByCase({ starts, results }: CaseResults, values: Float64Array): Float64Array {
  const means = new Float64Array(starts.length - 1).fill(NaN);
  for (let one = 0; one < means.length; one++) {
    const [start, end] = [starts[one]!, starts[one + 1]!];
    if (end - start === 1) means[one] = values[results[start]!]!;
    if (end - start > 1) {
      means[one] = decimalMean(Float64Array.from(results.subarray(start, end), (i) => values[i]!)) ?? NaN;
    }
  }
  return means;
}

export function totalsOf(cases: CaseResults, columns: ScoreColumns, scorer: number): ScoreTotals {
  const scores = columnOf(columns, scorer);
  const nulls = columns.nulls.subarray(scorer * scores.length, (scorer + 1) * scores.length);
  const means = meansByCase(cases, scores);
  const totals = { mean: decimalMean(means), count: 0, scoredCount: 0, nullCount: 0 };
  const { starts, results } = cases;
  for (let one = 0; one < means.length; one++) {
    const isScored = !Number.isNaN(means[one]!);
    if (isScored) totals.count++;
    const [start, end] = [starts[one]!, starts[one + 1]!];
    let isCovered = end - start >= columns.trials && columns.areExpected[results[start]!] === 1;
    for (let i = start; i < end && isCovered; i++) {
      isCovered = nulls[results[i]!] === 1 || !Number.isNaN(scores[results[i]!]!);
    }
    if (isCovered && isScored) totals.scoredCount++;
    else if (isCovered) totals.nullCount++;
  }
  return totals;
}

/** The differences of two experiments by one scorer. */
export interface CaseDifferences {
  /**
   * For each case, the difference of mean scores, candidate - baseline; NaN if a side has no score, the case has changed, or
   * the judges differ.
   */
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
  const differences = differencesOf(
    cases.isChanged,
    meansByCase(cases.candidate, columnOf(candidate, scorer)),
    meansByCase(cases.baseline, columnOf(baseline, scorer)),
  );
  const ownJudges = judgesByCase(cases.candidate, judgesOf(candidate, scorer));
  const otherJudges = judgesByCase(cases.baseline, judgesOf(baseline, scorer));
  let judgeChanged = 0;
  for (let i = 0; i < differences.length; i++) {
    const [one, another] = [ownJudges[i]!, otherJudges[i]!];
    if (Number.isNaN(differences[i]) || one === 0 || another === 0 || (one === another && one !== SEVERAL))
      continue;
    differences[i] = NaN;
    judgeChanged++;
  }
  return { differences, judgeChanged };
}

/** Returns the difference of each case, candidate - baseline; NaN for a case that has changed or lacks a value. */
export function differencesOf(
  isChanged: Uint8Array,
  candidate: Float64Array,
  baseline: Float64Array,
): Float64Array {
  const differences = new Float64Array(isChanged.length);
  for (let i = 0; i < differences.length; i++) {
    differences[i] = isChanged[i] === 1 ? NaN : differenceOf(candidate[i]!, baseline[i]!);
  }
  return differences;
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

/** Returns candidate - baseline; NaN if one of them is. A difference that overflows is the largest finite number. */
function differenceOf(candidate: number, baseline: number): number {
  const difference = candidate - baseline;
  if (Number.isNaN(difference)) return NaN;
  if (!Number.isFinite(difference)) return Math.sign(difference) * Number.MAX_VALUE;
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

export const withoutMissing = (differences: Float64Array): Float64Array =>
  differences.filter((one) => !Number.isNaN(one));

export function meanDifference(shared: Float64Array): number | null {
  const mean = sumOf(shared) / shared.length;
  return Number.isFinite(mean) ? mean : null;
}

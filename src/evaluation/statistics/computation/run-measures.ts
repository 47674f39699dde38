import { bootstrapInterval, type Interval, quantile } from '../bootstrap';
import { decimalMean } from '../numeric';
import { seedOf } from '../random';
import { meanOf } from '../resampled-statistic';
import {
  type CaseResults,
  differencesOf,
  meanDifference,
  meansByCase,
  type PairedCases,
  type ScoreColumns,
  withoutMissing,
} from './paired-cases';

/** The measures of a result besides its scores. */
export const MEASURES = ['duration_ms', 'input_tokens', 'output_tokens', 'cost_usd'] as const;
export type MeasureName = (typeof MEASURES)[number];

/** For each measure, one value per result; NaN where it is unknown. */
export type MeasureColumns = Record<MeasureName, Float64Array>;

export interface MeasureInput {
  pair: readonly [candidate: string, baseline: string];
  cases: Omit<PairedCases, 'keys'>;
  candidate: MeasureColumns;
  baseline: MeasureColumns;
  /** Whether the cases may be compared. If not, there are no differences. */
  isComparable: boolean;
}

/** The mean over the cases for which a measure is known, each with the mean of its trials. */
export interface MeasureTotals {
  mean: number | null;
  count: number;
}

export interface MeasureDifference {
  candidate: MeasureTotals;
  baseline: MeasureTotals;
  /** The mean difference of the cases for which both sides are known; null without such cases. */
  difference: number | null;
  interval: Interval | null;
  /** Number of these cases. */
  cases: number;
}

/** Compares each measure of two experiments over their paired cases. */
export function compareMeasures({
  pair,
  cases,
  candidate,
  baseline,
  isComparable,
}: MeasureInput): Record<MeasureName, MeasureDifference> {
  const compared = MEASURES.map((measure): [MeasureName, MeasureDifference] => {
    const own = meansByCase(cases.candidate, candidate[measure]);
    const other = meansByCase(cases.baseline, baseline[measure]);
    const shared = isComparable
      ? withoutMissing(differencesOf(cases.isChanged, own, other))
      : new Float64Array();
    const difference = meanDifference(shared);
    const seed = seedOf('measure', ...[...pair].sort(), measure);
    return [
      measure,
      {
        candidate: totalsOf(own),
        baseline: totalsOf(other),
        difference,
        interval: difference === null ? null : bootstrapInterval(meanOf(shared), seed),
        cases: shared.length,
      },
    ];
  });
  return Object.fromEntries(compared) as Record<MeasureName, MeasureDifference>;
}

const totalsOf = (means: Float64Array): MeasureTotals => ({
  mean: decimalMean(means),
  count: withoutMissing(means).length,
});

/** The measures of an experiment's results that the rules of a gate are about. NaN where a value is unknown. */
export interface RunColumns {
  /** Number of cases that should have a result. */
  expectedCases: number;
  /** 1 for each result with an error. */
  hasErrors: Uint8Array;
  durations: Float64Array;
  costs: Float64Array;
}

/** Measures over the expected cases, each with the mean of its trials. */
export interface RunMeasures {
  expectedCases: number;
  /** Expected cases without a result. */
  missingCases: number;
  /** The share of the cases that ended in an error or have no result. Null without cases. */
  errorRate: number | null;
  /** Null if the duration of any trial is unknown. */
  p95Duration: number | null;
  unknownDurations: number;
  /** Null if the cost of any trial is unknown. */
  meanCost: number | null;
  unknownCosts: number;
}

export function runMeasures(
  cases: CaseResults,
  { areExpected, trials }: Pick<ScoreColumns, 'areExpected' | 'trials'>,
  { expectedCases, hasErrors, durations, costs }: RunColumns,
): RunMeasures {
  const errors = ofExpected(cases, areExpected, trials, Float64Array.from(hasErrors), 1);
  // more cases may have results than the count says if the records of the dataset change meanwhile
  const expected = Math.max(expectedCases, errors.length);
  const missing = expected - errors.length;
  const known = (values: Float64Array): Float64Array =>
    withoutMissing(ofExpected(cases, areExpected, trials, values, NaN));
  const [knownDurations, knownCosts] = [known(durations), known(costs)];
  const isKnown = (values: Float64Array): boolean => values.length === expected && expected > 0;
  return {
    expectedCases: expected,
    missingCases: missing,
    errorRate: decimalMean(Float64Array.from([...errors, ...new Array<number>(missing).fill(1)])),
    p95Duration: isKnown(knownDurations) ? quantile(knownDurations.sort(), P95) : null,
    unknownDurations: expected - knownDurations.length,
    meanCost: isKnown(knownCosts) ? decimalMean(knownCosts) : null,
    unknownCosts: expected - knownCosts.length,
  };
}

const P95 = 0.95;

/**
 * Returns the mean of each expected case with a result; NaN if the value of any of its trials is unknown.
 *
 * @param missing the value of a trial without a result
 */
function ofExpected(
  { starts, results }: CaseResults,
  areExpected: Uint8Array,
  trials: number,
  values: Float64Array,
  missing: number,
): Float64Array {
  const expected: number[] = [];
  for (let one = 0; one + 1 < starts.length; one++) {
    const own = results.subarray(starts[one], starts[one + 1]);
    if (own.length === 0 || areExpected[own[0]!] !== 1) continue;
    const all = new Float64Array(Math.max(own.length, trials)).fill(missing);
    own.forEach((result, i) => (all[i] = values[result]!));
    expected.push(all.some(Number.isNaN) ? NaN : decimalMean(all)!);
  }
  return Float64Array.from(expected);
}

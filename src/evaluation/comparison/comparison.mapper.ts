import type {
  ComparedCaseDto,
  ComparedExperimentDto,
  ComparedResultDto,
  ComparisonTotalsDto,
  ScorerComparisonDto,
} from './comparison.dto';
import type { ComparedExperiment, ShownRow } from './comparison.repository';
import { type CaseResults, outcomeOf, type PairedCases } from './paired-cases';
import type { ComparedScorer } from './prepared-comparison';

export const toExperiment = (
  {
    experiment_id,
    name,
    experiment_name,
    experiment_status,
    dataset_id,
    dataset_version,
  }: ComparedExperiment,
  results: CaseResults,
): ComparedExperimentDto => ({
  experiment_id,
  name,
  experiment_name,
  experiment_status,
  dataset_id,
  dataset_version,
  result_count: results.resultIds.length,
  is_truncated: results.isTruncated,
});

export function toTotals({ keys, candidate, baseline }: PairedCases): ComparisonTotalsDto {
  const cases_only_in_candidate = keys.length - baseline.caseCount;
  const cases_only_in_baseline = keys.length - candidate.caseCount;
  const cases_shared = keys.length - cases_only_in_candidate - cases_only_in_baseline;
  return { cases: keys.length, cases_shared, cases_only_in_candidate, cases_only_in_baseline };
}

export const toScorer = ({
  scorer,
  candidate,
  baseline,
  difference,
  interval,
  pValue,
  cases,
  outcomes,
  verdict,
}: ComparedScorer): ScorerComparisonDto => ({
  scorer,
  candidate,
  baseline,
  difference,
  confidence_interval: interval,
  p_value: pValue,
  cases,
  ...outcomes,
  verdict,
});

/** One case, of which these results were read. */
export function toCase(
  cases: PairedCases,
  scorers: readonly string[],
  index: number,
  difference: number,
  shown: { candidate: ShownRow[]; baseline: ShownRow[] },
): ComparedCaseDto {
  const first = [shown.candidate[0], shown.baseline[0]];
  return {
    key: cases.keys[index]!,
    input: first[0]?.input ?? first[1]?.input ?? null,
    expected: first[0]?.expected ?? first[1]?.expected ?? null,
    difference: orNull(difference),
    outcome: outcomeOf(difference),
    // fromEntries defines members, so that a scorer named __proto__ is one like any other
    differences: Object.fromEntries(
      scorers.map((scorer) => [scorer, orNull(cases.differences(scorer)[index]!)]),
    ),
    candidate_count: cases.candidate.of(index).length,
    baseline_count: cases.baseline.of(index).length,
    candidate: shown.candidate.map(toResult),
    baseline: shown.baseline.map(toResult),
  };
}

const orNull = (number: number): number | null => (Number.isNaN(number) ? null : number);

const toResult = ({ input: _input, expected: _expected, ...result }: ShownRow): ComparedResultDto => result;

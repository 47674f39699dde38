import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsNumber, IsOptional, Max, Min } from 'class-validator';
import { AnyJson, IsOneOf, IsNullableText, IsWholeNumber } from '#platform/http';
import { PageQueryDto, ToBoolean, ToInteger, ToNumber, PageOf } from '#platform/paging';
import { EXPERIMENT_STATUSES, type ExperimentStatus } from '../experiments/experiment.entity';
import type { IntervalDto } from '../../statistics';
import { CASE_SORTS, type CaseSort } from './case-page';
import type { ComparedExperiment, ComparedRow } from './comparison.repository';
import {
  countCases,
  type Outcome,
  outcomeOf,
  OUTCOMES,
  type PairedCases,
  resultsOf,
  type ScoreTotals,
} from '../../statistics';
import { type ComparedCases, type PairedDifference, type Verdict, VERDICTS } from '../../statistics';
import type { SelectedScorer } from './score-reader';
import { differentJudgesReason } from './scorer-versions';

/** The default of `min_comparable`. */
export const MIN_COMPARABLE = 0.9;

export class CompareQueryDto extends PageQueryDto {
  /**
   * The completed experiment to compare with. By default, the experiment's own baseline, else the promoted baseline of its
   * dataset for experiments of this name.
   */
  @IsNullableText()
  baseline_experiment_id?: string;

  /** The scorer whose differences sort and filter the cases. By default, the mean difference over all scorers. */
  @IsNullableText(255)
  scorer?: string;

  /** The version of `scorer` to compare. By default, the newest that both experiments have. */
  @IsOptional()
  @IsWholeNumber({ required: false, minimum: 1, maximum: 2_147_483_647, format: 'int32' })
  @ToInteger()
  scorer_version?: number;

  /**
   * Compares even if the scorers, their versions, the judges or the numbered CSV rows differ, instead of returning
   * `not_comparable`.
   */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  allow_version_mismatch?: boolean;

  /**
   * The lowest share of comparable cases, of those with scores on both sides; cases that different judges scored are not
   * comparable. Below it, the verdict is `not_comparable`.
   */
  @ApiProperty({ required: false, type: 'number', minimum: 0, maximum: 1, default: MIN_COMPARABLE })
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  @ToNumber()
  min_comparable?: number;

  /** Returns only cases that improved, regressed, did not change, or lack a score on one side. */
  @IsOptional()
  @IsOneOf(OUTCOMES, { required: false })
  only?: Outcome;

  @IsOptional()
  @IsOneOf(CASE_SORTS, {
    required: false,
    default: 'difference',
    description: '`difference`: the worst regressions first. `-difference`: the largest improvements first.',
  })
  sort?: CaseSort;
}

export class ComparedExperimentDto {
  experiment_id!: string;
  name!: string;
  experiment_name!: string;
  @ApiProperty({ enum: EXPERIMENT_STATUSES })
  experiment_status!: ExperimentStatus;
  /** The dataset of the cases. Cases are paired by key, even if the experiments use different datasets or versions. */
  dataset_id!: string | null;
  /** The pinned CSV version; null if the cases are records. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  dataset_version!: number | null;
  /** Number of results compared: at most the first 10,000 in order of arrival, as in the summary. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  result_count!: number;
  /** Number of these results with an error. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  error_count!: number;
  /** Number of cases that the dataset has for the experiment; null without a dataset. */
  @ApiProperty({ type: 'integer', minimum: 0, nullable: true })
  expected_case_count!: number | null;
  /** Whether the experiment has more results than are compared. */
  is_truncated!: boolean;
}

export class ComparisonTotalsDto {
  /** Number of distinct cases in the two experiments together. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases_shared!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases_only_in_candidate!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases_only_in_baseline!: number;
}

/** Mean and count of an experiment's current scores, including those that came after it was finalized. */
export class ComparedMeanDto {
  /** The version of the scorer. Null without scores, and for scores that name no version. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  scorer_version!: number | null;
  /** The version whose scores the results show, of several the newest. Null like `scorer_version`. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  current_scorer_version!: number | null;
  /** Mean of the scores that are not null; null without such scores. */
  mean!: number | null;
  @ApiProperty({ type: 'integer', minimum: 0 })
  count!: number;
  /** Number of expected cases with a score. Without a dataset, every case is expected. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  scored_count!: number;
  /** Number of expected cases with a deliberate null. Results with an error do not count. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  null_count!: number;
  /** Number of scores that came after the experiment was finalized. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  late_count!: number;
}

export class ScorerComparisonDto {
  scorer!: string;
  candidate!: ComparedMeanDto;
  baseline!: ComparedMeanDto;
  /** Mean of candidate - baseline over the cases with scores on both sides; null without such cases. */
  difference!: number | null;
  /** 95% confidence interval of the difference, by bootstrap over cases (BCa). Null for fewer than two cases. */
  confidence_interval!: IntervalDto | null;
  /** Two-sided p-value of the paired permutation test by sign flips. */
  @ApiProperty({ type: 'number', minimum: 0, maximum: 1, nullable: true })
  p_value!: number | null;
  /** Number of cases with scores on both sides. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  improved!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  regressed!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  unchanged!: number;
  /** Number of cases whose score is null or absent on either side, or that different judges scored. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  missing!: number;
  /** Number of cases with scores on both sides that different judges gave (`judge_digest`). They are left out. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  judge_changed_count!: number;
  @ApiProperty({
    enum: VERDICTS,
    description:
      '`improved` or `regressed` if `p_value` is below 0.05 and `confidence_interval` excludes 0, else `inconclusive`. `not_comparable` if the scores or the cases cannot be compared: `reason` says why, and there is no difference.',
  })
  verdict!: Verdict;
  /** Why the scores are not comparable; null if they are. */
  reason!: string | null;
}

/** One experiment's result for a case. Each trial is a result. */
export class ComparedResultDto {
  result_id!: string;
  case_id!: string;
  @AnyJson()
  output!: unknown;
  @AnyJson()
  error!: unknown;
  /** Current score by scorer name; null if the scorer abstained. */
  @ApiProperty({ type: 'object', additionalProperties: { type: ['number', 'null'] } } as object)
  scores!: Record<string, number | null>;
  trace_id!: string | null;
  session_id!: string | null;
  duration_ms!: number | null;
  @ApiProperty({ type: 'integer', minimum: 0, nullable: true })
  trial_index!: number | null;
}

export class ComparedCaseDto {
  /** The key shared by its results: `trial_group`, else `dataset_record_id`, else `case_id`. */
  key!: string;
  /** The input of its first result. */
  @AnyJson()
  input!: unknown;
  /** The expected output of its first result. */
  @AnyJson()
  expected!: unknown;
  /** The difference that sorts the case: candidate - baseline by `scorer`, or the mean over all scorers. */
  difference!: number | null;
  @ApiProperty({ enum: OUTCOMES })
  outcome!: Outcome;
  /** Candidate - baseline by scorer name, each side the mean of its trials; null if either side has no score. */
  @ApiProperty({ type: 'object', additionalProperties: { type: ['number', 'null'] } } as object)
  differences!: Record<string, number | null>;
  /** Number of trials. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  candidate_count!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  baseline_count!: number;
  /** The first 20 trials in order of arrival, or fewer if they are large. */
  candidate!: ComparedResultDto[];
  baseline!: ComparedResultDto[];
}

export class ComparedCasePageDto extends PageOf(ComparedCaseDto) {}

/** Comparison of an experiment with its baseline. Deterministic: the same results give the same answer. */
export class ComparisonDto {
  candidate!: ComparedExperimentDto;
  baseline!: ComparedExperimentDto;
  /** Whether either experiment has more results than are compared. */
  is_truncated!: boolean;
  totals!: ComparisonTotalsDto;
  /**
   * The compared scorers, at most 100, sorted by name; those in both experiments take precedence, then those with the most
   * scores. Null on further pages of cases, requested with `cursor` or an `offset` above 0.
   */
  scorers!: ScorerComparisonDto[] | null;
  /** Number of scorers found in either experiment (in at most 10,000 versions of each). `scorers` has those that are compared. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  scorer_count!: number;
  cases!: ComparedCasePageDto;
}

export const toExperiment = (
  {
    baseline_experiment_id: _,
    promoted_baseline_id: _promoted,
    has_numbered_cases: _numbered,
    has_people: _people,
    late_digest: _digest,
    ...experiment
  }: ComparedExperiment,
  results: { resultIds: readonly string[]; errorCount: number; isTruncated: boolean },
): ComparedExperimentDto => ({
  ...experiment,
  result_count: results.resultIds.length,
  error_count: results.errorCount,
  is_truncated: results.isTruncated,
});

const toMean = (
  { mean, count, scoredCount, nullCount }: ScoreTotals,
  { version, current, lateCount }: { version: number | null; current: number | null; lateCount: number },
): ComparedMeanDto => ({
  scorer_version: toVersion(version),
  current_scorer_version: toVersion(current),
  mean,
  count,
  scored_count: scoredCount,
  null_count: nullCount,
  late_count: lateCount,
});

/** Converts a version to its form in responses: null for scores that name no version. */
export const toVersion = (version: number | null): number | null => version || null;

export function toTotals({ keys, candidate, baseline }: PairedCases): ComparisonTotalsDto {
  const cases_only_in_candidate = keys.length - countCases(baseline);
  const cases_only_in_baseline = keys.length - countCases(candidate);
  const cases_shared = keys.length - cases_only_in_candidate - cases_only_in_baseline;
  return { cases: keys.length, cases_shared, cases_only_in_candidate, cases_only_in_baseline };
}

export const toScorer = (
  { scorer, versions, current, models, reason }: SelectedScorer,
  late: { candidate: number; baseline: number },
  {
    candidate,
    baseline,
    difference,
    interval,
    pValue,
    cases,
    outcomes,
    verdict,
    judgeChanged,
  }: PairedDifference,
): ScorerComparisonDto => ({
  scorer,
  candidate: toMean(candidate, {
    version: versions.candidate,
    current: current.candidate,
    lateCount: late.candidate,
  }),
  baseline: toMean(baseline, {
    version: versions.baseline,
    current: current.baseline,
    lateCount: late.baseline,
  }),
  difference,
  confidence_interval: interval,
  p_value: pValue,
  cases,
  ...outcomes,
  judge_changed_count: judgeChanged,
  verdict,
  reason: reason ?? (verdict === 'not_comparable' ? differentJudgesReason(models, judgeChanged) : null),
});

/** @param difference the value that sorts the case; NaN without one @param results rows of each side */
export function toCase(
  cases: ComparedCases,
  scorers: readonly string[],
  index: number,
  difference: number,
  results: { candidate: ComparedRow[]; baseline: ComparedRow[] },
): ComparedCaseDto {
  const first = [results.candidate[0], results.baseline[0]];
  return {
    key: cases.keys[index]!,
    input: first[0]?.input ?? first[1]?.input ?? null,
    expected: first[0]?.expected ?? first[1]?.expected ?? null,
    difference: orNull(difference),
    outcome: outcomeOf(difference),
    // fromEntries defines members, so that a scorer may be named __proto__
    differences: Object.fromEntries(
      scorers.map((scorer, i) => [scorer, orNull(cases.differences[i]![index]!)]),
    ),
    candidate_count: resultsOf(cases.candidate, index).length,
    baseline_count: resultsOf(cases.baseline, index).length,
    candidate: results.candidate.map(toResult),
    baseline: results.baseline.map(toResult),
  };
}

const orNull = (number: number): number | null => (Number.isNaN(number) ? null : number);

const toResult = ({ input: _input, expected: _expected, ...result }: ComparedRow): ComparedResultDto =>
  result as unknown as ComparedResultDto;

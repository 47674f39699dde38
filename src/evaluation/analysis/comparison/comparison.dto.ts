import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, Length } from 'class-validator';
import { AnyJson, IsOneOf } from '#platform/http';
import { PageMetaDto, PageQueryDto } from '#platform/paging';
import { EXPERIMENT_STATUSES, type ExperimentStatus } from '../../experiments';
import { CASE_SORTS, type CaseSort } from './case-page';
import type { ComparedExperiment, ComparedRow } from './comparison.repository';
import {
  countCases,
  type Outcome,
  outcomeOf,
  OUTCOMES,
  type PairedCases,
  resultsOf,
} from '../computation/paired-cases';
import {
  type ComparedCases,
  type PairedDifference,
  type Verdict,
  VERDICTS,
} from '../computation/paired-statistics';

export class CompareQueryDto extends PageQueryDto {
  /** The experiment to compare with. By default, the experiment's own baseline. */
  @IsOptional()
  @IsString()
  baseline_experiment_id?: string;

  /** The scorer whose differences sort and filter the cases. By default, the mean difference over all scorers. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  scorer?: string;

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
  /** Whether the experiment has more results than are compared. */
  is_truncated!: boolean;
}

export class ComparisonTotalsDto {
  /** Number of distinct cases in both experiments. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases_shared!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases_only_in_candidate!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases_only_in_baseline!: number;
}

/** Mean and count of scores, as in the summary. */
export class ComparedMeanDto {
  /** Mean of the scores that are not null; null without such scores. */
  @ApiProperty({ type: 'number', nullable: true })
  mean!: number | null;
  @ApiProperty({ type: 'integer', minimum: 0 })
  count!: number;
}

export class IntervalDto {
  lower!: number;
  upper!: number;
}

export class ScorerComparisonDto {
  scorer!: string;
  candidate!: ComparedMeanDto;
  baseline!: ComparedMeanDto;
  /** Mean of candidate - baseline over the cases with scores on both sides; null without such cases. */
  @ApiProperty({ type: 'number', nullable: true })
  difference!: number | null;
  /** 95 % confidence interval of the difference, by bootstrap over cases (BCa). Null for fewer than two cases. */
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
  /** Number of cases whose score is null or absent on either side. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  missing!: number;
  @ApiProperty({
    enum: VERDICTS,
    description:
      '`improved` or `regressed` if `p_value` is below 0.05 and `confidence_interval` excludes 0, else `inconclusive`.',
  })
  verdict!: Verdict;
}

/** One experiment's result for a case. Each trial is a result. */
export class ComparedResultDto {
  result_id!: string;
  case_id!: string;
  @AnyJson()
  output!: unknown;
  @AnyJson()
  error!: unknown;
  /** Score by scorer name; null if the scorer abstained. */
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
  @ApiProperty({ type: 'number', nullable: true })
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
  @ApiProperty({ type: [ComparedResultDto] })
  candidate!: ComparedResultDto[];
  @ApiProperty({ type: [ComparedResultDto] })
  baseline!: ComparedResultDto[];
}

export class ComparedCasePageDto {
  items!: ComparedCaseDto[];
  page!: PageMetaDto;
}

/** Comparison of an experiment with its baseline. Deterministic: the same results give the same answer. */
export class ComparisonDto {
  candidate!: ComparedExperimentDto;
  baseline!: ComparedExperimentDto;
  /** Whether either experiment has more results than are compared. */
  is_truncated!: boolean;
  totals!: ComparisonTotalsDto;
  /**
   * The scorers compared, sorted by name. At most 100: first those in both experiments, then those with the most scores.
   * Null on further pages of cases, requested with `cursor` or an `offset` above 0.
   */
  @ApiProperty({ type: [ScorerComparisonDto], nullable: true })
  scorers!: ScorerComparisonDto[] | null;
  /** Number of scorers found in either experiment (at most 1,000 per experiment). `scorers` holds the ones compared. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  scorer_count!: number;
  cases!: ComparedCasePageDto;
}

/** Mean and count of one scorer in both experiments. */
export interface ComparedMeans {
  scorer: string;
  candidate: ComparedMeanDto;
  baseline: ComparedMeanDto;
}

export const toExperiment = (
  { baseline_experiment_id: _, ...experiment }: ComparedExperiment,
  results: { resultIds: readonly string[]; isTruncated: boolean },
): ComparedExperimentDto => ({
  ...experiment,
  result_count: results.resultIds.length,
  is_truncated: results.isTruncated,
});

export function toTotals({ keys, candidate, baseline }: PairedCases): ComparisonTotalsDto {
  const cases_only_in_candidate = keys.length - countCases(baseline);
  const cases_only_in_baseline = keys.length - countCases(candidate);
  const cases_shared = keys.length - cases_only_in_candidate - cases_only_in_baseline;
  return { cases: keys.length, cases_shared, cases_only_in_candidate, cases_only_in_baseline };
}

export const toScorer = (
  means: ComparedMeans,
  { difference, interval, pValue, cases, outcomes, verdict }: PairedDifference,
): ScorerComparisonDto => ({
  ...means,
  difference,
  confidence_interval: interval,
  p_value: pValue,
  cases,
  ...outcomes,
  verdict,
});

/** @param difference that sorts the case; NaN for none @param shown results of each side */
export function toCase(
  cases: ComparedCases,
  scorers: readonly string[],
  index: number,
  difference: number,
  shown: { candidate: ComparedRow[]; baseline: ComparedRow[] },
): ComparedCaseDto {
  const first = [shown.candidate[0], shown.baseline[0]];
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
    candidate: shown.candidate.map(toResult),
    baseline: shown.baseline.map(toResult),
  };
}

const orNull = (number: number): number | null => (Number.isNaN(number) ? null : number);

const toResult = ({ input: _input, expected: _expected, ...result }: ComparedRow): ComparedResultDto =>
  result;

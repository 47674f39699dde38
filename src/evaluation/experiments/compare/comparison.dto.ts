import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsNumber, IsOptional, Max, Min } from 'class-validator';
import { IsOneOf, IsNullableText, IsWholeNumber } from '#platform/http';
import { PageQueryDto, ToBoolean, ToInteger, ToNumber } from '#platform/paging';
import { EXPERIMENT_STATUSES, type ExperimentStatus } from '../experiments/experiment.entity';
import type { IntervalDto } from '../../statistics';
import { CASE_SORTS, type CaseSort } from './case-page';
import type { ComparedCasePageDto } from './compared-case.dto';
import type { ComparedExperiment } from './comparison.repository';
import {
  type CaseTotals,
  type MeasureDifference,
  type MeasureName,
  type Outcome,
  OUTCOMES,
  type PairedDifference,
  type ScoreTotals,
  type Verdict,
  VERDICTS,
} from '../../statistics';
import { changedCasesReason, differentJudgesReason } from './scorer-versions';
import type { SelectedScorer } from './side-reader';

/** The default of `min_comparable`. */
export const MIN_COMPARABLE = 0.9;

/** Means are over cases, each with the mean of its trials. */
export const UNIT = 'cases';
export const IsUnit = () => ApiProperty({ enum: [UNIT] });

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
   * Compares even if the scorers, their versions or the judges differ, instead of returning `not_comparable`.
   */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  allow_version_mismatch?: boolean;

  /**
   * The lowest share of comparable cases: of the cases of both experiments, those whose `input` and `expected` have not
   * changed; and of the cases with scores on both sides, those that the same judge scored. Below it, the verdict is
   * `not_comparable`.
   */
  @ApiProperty({ required: false, type: 'number', minimum: 0, maximum: 1, default: MIN_COMPARABLE })
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  @ToNumber()
  min_comparable?: number;

  /**
   * Returns only cases that improved, regressed, did not change (`unchanged`), lack a score on one side (`missing`), or whose
   * `input` or `expected` differs between the experiments (`changed`).
   */
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
  /** How often each case is run. */
  @ApiProperty({ type: 'integer', minimum: 1 })
  trials!: number;
  /** Whether the experiment has more results than are compared. */
  is_truncated!: boolean;
}

export class ComparisonTotalsDto {
  /** Number of distinct cases in the two experiments together. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases!: number;
  /** Cases of both experiments that have not changed. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases_shared!: number;
  /**
   * Cases of both experiments whose `input` or `expected` is known on both sides and differs. They are left out of all
   * differences.
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  changed_case_count!: number;
  /**
   * Those of `cases_shared` with a result whose content was erased on either side. Whether they have changed is unknown, so
   * their scores are compared.
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  erased_count!: number;
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
  /** Mean over the cases with a score, each with the mean of its trials; null without scores. */
  mean!: number | null;
  /** Number of cases with a score. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  count!: number;
  /**
   * Number of expected cases with a score; each trial of a case needs a score or a deliberate null. Without a dataset, every
   * case with a result is expected.
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  scored_count!: number;
  /** Number of expected cases with only deliberate nulls. Results with an error do not count. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  null_count!: number;
  /** Number of scores that came after the experiment was finalized. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  late_count!: number;
}

export class ScorerComparisonDto {
  scorer!: string;
  @IsUnit()
  unit!: typeof UNIT;
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
  /** Number of cases whose score is null or absent on either side. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  missing!: number;
  /** Number of cases with scores on both sides that different judges gave (`judge_digest`). They are left out. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  judge_changed_count!: number;
  /** Number of cases that have changed, as in `totals`. They count neither as improved, regressed or unchanged nor as missing. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  changed_case_count!: number;
  @ApiProperty({
    enum: VERDICTS,
    description:
      '`improved` or `regressed` if `p_value` is below 0.05 and `confidence_interval` excludes 0, else `inconclusive`. `not_comparable` if the scores or the cases cannot be compared: `reason` says why, and there is no difference.',
  })
  verdict!: Verdict;
  /** Why the scores are not comparable; null if they are. */
  reason!: string | null;
}

/** Mean of a measure in one experiment. */
export class MeasureMeanDto {
  /** Mean over the cases for which the measure is known, each with the mean of its trials; null without such cases. */
  mean!: number | null;
  /** Number of these cases. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  count!: number;
}

/** Comparison of a measure of the results besides their scores. Results with an error count too. */
export class MeasureComparisonDto {
  @IsUnit()
  unit!: typeof UNIT;
  candidate!: MeasureMeanDto;
  baseline!: MeasureMeanDto;
  /**
   * Mean of candidate - baseline over the cases for which both sides are known; null without such cases, and if too many
   * cases have changed.
   */
  difference!: number | null;
  /** 95% confidence interval of the difference, by bootstrap over cases (BCa). Null for fewer than two cases. */
  confidence_interval!: IntervalDto | null;
  /** Number of cases for which both sides are known. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases!: number;
}

/** Tokens and costs are those of the traces that results name. */
export class ComparedMeasuresDto {
  duration_ms!: MeasureComparisonDto;
  input_tokens!: MeasureComparisonDto;
  output_tokens!: MeasureComparisonDto;
  cost_usd!: MeasureComparisonDto;
}

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
  /** Duration, tokens and cost. Null on further pages, like `scorers`. */
  measures!: ComparedMeasuresDto | null;
  /** Number of scorers found in either experiment (in at most 10,000 versions of each). `scorers` has those that are compared. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  scorer_count!: number;
  cases!: ComparedCasePageDto;
}

export const toExperiment = (
  {
    baseline_experiment_id: _,
    promoted_baseline_id: _promoted,
    has_people: _people,
    late_digest: _digest,
    generation: _generation,
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

export const toTotals = (
  cases: number,
  { paired, changed, onlyInCandidate, onlyInBaseline }: CaseTotals,
  erased: number,
): ComparisonTotalsDto => ({
  cases,
  cases_shared: paired,
  changed_case_count: changed,
  erased_count: erased,
  cases_only_in_candidate: onlyInCandidate,
  cases_only_in_baseline: onlyInBaseline,
});

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
    outcomes: { changed, ...outcomes },
    verdict,
    judgeChanged,
  }: PairedDifference,
  sameCases: { totals: CaseTotals; minComparable: number },
): ScorerComparisonDto => ({
  scorer,
  unit: UNIT,
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
  changed_case_count: changed,
  verdict,
  reason:
    verdict === 'not_comparable'
      ? (reason ??
        changedCasesReason(sameCases.totals, sameCases.minComparable) ??
        differentJudgesReason(models, judgeChanged))
      : null,
});

export const toMeasures = (
  measures: Record<MeasureName, MeasureDifference>,
): Record<MeasureName, MeasureComparisonDto> => {
  const compared = Object.entries(measures).map(([name, { interval, ...one }]) => [
    name,
    { unit: UNIT, ...one, confidence_interval: interval },
  ]);
  return Object.fromEntries(compared) as Record<MeasureName, MeasureComparisonDto>;
};

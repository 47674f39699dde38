import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, Length } from 'class-validator';
import { AnyJson, IsOneOf } from '#platform/http';
import { PageMetaDto, PageQueryDto } from '#platform/paging';
import { EXPERIMENT_STATUSES, type ExperimentStatus } from '../experiments/experiment.entity';
import { CASE_SORTS, type CaseSort } from './case-order';
import { type Outcome, OUTCOMES } from './paired-cases';
import { type Verdict, VERDICTS } from './scorer-statistics';

export class CompareQueryDto extends PageQueryDto {
  /** What to compare with; the experiment's own baseline unless given. */
  @IsOptional()
  @IsString()
  baseline_experiment_id?: string;

  /** The scorer by whose differences cases are sorted and filtered; by their mean over all scorers unless given. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  scorer?: string;

  /** Only cases that became better, worse, neither, or lack a score on one side. */
  @IsOptional()
  @IsOneOf(OUTCOMES, { required: false })
  only?: Outcome;

  @IsOptional()
  @IsOneOf(CASE_SORTS, {
    required: false,
    default: 'difference',
    description: 'The worst regressions first; with a leading `-`, the largest improvements.',
  })
  sort?: CaseSort;
}

export class ComparedExperimentDto {
  experiment_id!: string;
  name!: string;
  experiment_name!: string;
  @ApiProperty({ enum: EXPERIMENT_STATUSES })
  experiment_status!: ExperimentStatus;
  /** What its cases are of. Cases are paired by their keys, also where the sides are of other datasets or versions. */
  dataset_id!: string | null;
  /** The CSV version that it pins; null where it is of the records. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  dataset_version!: number | null;
  /** Results that are compared: the first 10,000 in order of arrival, as in the summary. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  result_count!: number;
  /** There are more results than are compared. */
  is_truncated!: boolean;
}

export class ComparisonTotalsDto {
  /** What results of either experiment are of, counted once. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases_shared!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases_only_in_candidate!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases_only_in_baseline!: number;
}

/** As in the summary. */
export class ComparedMeanDto {
  /** Of the scores that are not null; null where there is none. */
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
  /** Mean of candidate - baseline over the cases that both have scores of; null without such a case. */
  @ApiProperty({ type: 'number', nullable: true })
  difference!: number | null;
  /** Of the difference: 95 %, by bootstrap over cases (BCa). Null for fewer than two cases. */
  confidence_interval!: IntervalDto | null;
  /** Of the paired permutation test by sign flips, two-sided. */
  @ApiProperty({ type: 'number', minimum: 0, maximum: 1, nullable: true })
  p_value!: number | null;
  /** Cases that both have scores of. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  cases!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  improved!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  regressed!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  unchanged!: number;
  /** Cases whose score on either side is null or absent. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  missing!: number;
  @ApiProperty({
    enum: VERDICTS,
    description:
      '`improved` or `regressed` where `p_value` is below 0.05 and `confidence_interval` leaves out 0, else `inconclusive`.',
  })
  verdict!: Verdict;
}

/** What one experiment has of a case, once for each trial. */
export class ComparedResultDto {
  result_id!: string;
  case_id!: string;
  @AnyJson()
  output!: unknown;
  @AnyJson()
  error!: unknown;
  /** Scorer name to number, or to null for a scorer that gave none. */
  @ApiProperty({ type: 'object', additionalProperties: { type: ['number', 'null'] } } as object)
  scores!: Record<string, number | null>;
  trace_id!: string | null;
  session_id!: string | null;
  duration_ms!: number | null;
  @ApiProperty({ type: 'integer', minimum: 0, nullable: true })
  trial_index!: number | null;
}

export class ComparedCaseDto {
  /** What its results share: `trial_group`, else `dataset_record_id`, else `case_id`. */
  key!: string;
  /** As the first of its results has it. */
  @AnyJson()
  input!: unknown;
  @AnyJson()
  expected!: unknown;
  /** What the case is sorted by: candidate - baseline by the scorer asked for, else the mean over all. */
  @ApiProperty({ type: 'number', nullable: true })
  difference!: number | null;
  @ApiProperty({ enum: OUTCOMES })
  outcome!: Outcome;
  /** Scorer name to candidate - baseline, each the mean of its trials; null where either side has no score. */
  @ApiProperty({ type: 'object', additionalProperties: { type: ['number', 'null'] } } as object)
  differences!: Record<string, number | null>;
  /** Trials of the case. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  candidate_count!: number;
  @ApiProperty({ type: 'integer', minimum: 0 })
  baseline_count!: number;
  /** The first 20 trials, in order of arrival; fewer where they are large. */
  @ApiProperty({ type: [ComparedResultDto] })
  candidate!: ComparedResultDto[];
  @ApiProperty({ type: [ComparedResultDto] })
  baseline!: ComparedResultDto[];
}

export class ComparedCasePageDto {
  items!: ComparedCaseDto[];
  page!: PageMetaDto;
}

/** An experiment held against its baseline. Of the same results, the same answer. */
export class ComparisonDto {
  candidate!: ComparedExperimentDto;
  baseline!: ComparedExperimentDto;
  /** Either experiment has more results than are compared. */
  is_truncated!: boolean;
  totals!: ComparisonTotalsDto;
  /**
   * In the order of their names; of more than 100, those that both have, then those with the most scores. Null where
   * further pages of cases are asked for: with `cursor`, or an `offset` beyond 0.
   */
  @ApiProperty({ type: [ScorerComparisonDto], nullable: true })
  scorers!: ScorerComparisonDto[] | null;
  /** Of how many those that are compared are chosen: scorers of either experiment, of each the 1,000 with the most scores. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  scorer_count!: number;
  cases!: ComparedCasePageDto;
}

import { ApiProperty } from '@nestjs/swagger';
import { IsNumber, IsOptional } from 'class-validator';
import { IsText, IsWholeNumber } from '#platform/http';
import { PageMetaDto, PageQueryDto, ToInteger, ToNumber } from '#platform/paging';
import { IntervalDto } from '../../statistics';
import { TRIALS_MAX } from '../experiments/experiment.dto';

/** The default of `threshold`. */
export const THRESHOLD = 1;

export class ExperimentTrialListQueryDto extends PageQueryDto {
  /** The name of a scorer that has scored results of the experiment. */
  @IsText(255)
  scorer!: string;

  /** The lowest score of a trial that passes. */
  @ApiProperty({ required: false, type: 'number', default: THRESHOLD })
  @IsOptional()
  @IsNumber()
  @ToNumber()
  threshold?: number;

  /** The number of trials that pass@k and pass^k are about. Defaults to the `trials` of the experiment. */
  @IsOptional()
  @ToInteger()
  @IsWholeNumber({ minimum: 1, maximum: TRIALS_MAX, format: 'int32', required: false })
  k?: number;
}

/** The trials of a case by one scorer. */
export class CaseTrialsDto {
  /** The `external_id` of the record, else its id; without a record, the `trial_group`, else the `case_id` of the result. */
  case_id!: string;
  /** Number of trials with a score or an error. Null scores do not count. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  n!: number;
  /** Number of trials without an error whose score is at least the threshold. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  passed!: number;
  /** Mean of the scores; null without scores. */
  mean!: number | null;
}

/** Estimates over all cases with at least `k` trials that have a score or an error. */
export class PassSummaryDto {
  @ApiProperty({ type: 'integer', minimum: 1 })
  k!: number;
  threshold!: number;
  /** Probability that at least one of `k` trials passes, as the mean over the cases. Null without such cases. */
  pass_at_k!: number | null;
  /** 95% confidence interval, by bootstrap over cases (BCa). Null for fewer than two cases. */
  @ApiProperty({ type: () => IntervalDto, nullable: true })
  pass_at_k_interval!: IntervalDto | null;
  /** Probability that all of `k` trials pass, as the mean over the cases. Null without such cases. */
  pass_hat_k!: number | null;
  /** 95% confidence interval, by bootstrap over cases (BCa). Null for fewer than two cases. */
  @ApiProperty({ type: () => IntervalDto, nullable: true })
  pass_hat_k_interval!: IntervalDto | null;
  /** Number of cases in the estimates. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  case_count!: number;
  /** Number of cases that are left out because they have fewer trials, including expected cases without any result. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  left_out_count!: number;
  /** The version of the scorer whose scores count. Null for scores that name no version. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  scorer_version!: number | null;
  /** Why there are no estimates although cases have enough trials: the scores have no single scale. */
  reason!: string | null;
  /** Whether the experiment has more than 10,000 results. Only the first 10,000 count. */
  is_truncated!: boolean;
}

/** A page of the cases that have results, in the order of their records, else by id. */
export class ExperimentTrialPageDto {
  @ApiProperty({ type: [CaseTrialsDto] })
  items!: CaseTrialsDto[];
  @ApiProperty({ type: PageMetaDto })
  page!: PageMetaDto;
  summary!: PassSummaryDto;
}

import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Length,
  Max,
  Min,
} from 'class-validator';
import { ClosedBody, Nested } from '#platform/http';
import { IntervalDto } from '../comparison/comparison.dto';
import { EXPERIMENT_STATUSES, type ExperimentStatus } from '../experiments/experiment.entity';
import { SUMMARY_RESULTS_MAX } from '../experiments/summary.repository';

export const RULES_MAX = 100;

/** What is asked of one scorer: at least one bound. Each bound is a check of its own. */
@ClosedBody()
export class GateRuleDto {
  @IsString()
  @Length(1, 255)
  scorer!: string;

  /** The mean is to be at least this. */
  @IsOptional()
  @IsNumber()
  min_mean?: number | null;

  /** The mean difference to the baseline, over the cases that both have scores of, may be at most this much below 0. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  max_regression?: number | null;

  /** There are to be at least so many scores that are not null. */
  @IsOptional()
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    minimum: 1,
    maximum: SUMMARY_RESULTS_MAX,
    nullable: true,
    required: false,
  })
  @IsInt()
  @Min(1)
  @Max(SUMMARY_RESULTS_MAX)
  min_count?: number | null;

  /**
   * Holds the lower end of the 95 % interval against `min_mean` and `max_regression`, in place of the value itself: the
   * check passes only where it is sure.
   */
  @IsOptional()
  @IsBoolean()
  confident?: boolean | null;
}

@ClosedBody()
export class GateDto {
  /** What regressions are held against; the experiment's own baseline unless given. */
  @IsOptional()
  @IsString()
  baseline_experiment_id?: string | null;

  /** 1 to 100 rules, all of which must hold. */
  @ApiProperty({ type: [GateRuleDto], minItems: 1, maxItems: RULES_MAX })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(RULES_MAX)
  @Nested(() => GateRuleDto)
  rules!: GateRuleDto[];
}

export const CHECK_KINDS = ['min_mean', 'max_regression', 'min_count'] as const;
export type CheckKind = (typeof CHECK_KINDS)[number];

export class GateCheckDto {
  scorer!: string;
  /** The rule that it comes from, by its place in the request. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  rule!: number;
  @ApiProperty({ enum: CHECK_KINDS })
  kind!: CheckKind;
  passed!: boolean;
  /** Whether the lower end of the interval is what is held against the bound. */
  confident!: boolean;
  /** What is held against the bound, for `max_regression` candidate - baseline. Null where there is none: a failure. */
  @ApiProperty({ type: 'number', nullable: true })
  actual!: number | null;
  /** The least that `actual` may be; for `max_regression` below or at 0. */
  bound!: number;
  /** The mean, the mean difference, or the count, whether or not it is what is held against the bound. */
  @ApiProperty({ type: 'number', nullable: true })
  estimate!: number | null;
  /** Of the estimate, 95 %; null unless `confident`, and for fewer than two cases. */
  confidence_interval!: IntervalDto | null;
  /** In words, for people. */
  detail!: string;
}

/** Whether an experiment may go on. */
export class GateResultDto {
  /** Whether every check did. */
  passed!: boolean;
  experiment_id!: string;
  name!: string;
  experiment_name!: string;
  /** Of a running experiment the outcome may change. */
  @ApiProperty({ enum: EXPERIMENT_STATUSES })
  experiment_status!: ExperimentStatus;
  /** Null where there is none. */
  baseline_experiment_id!: string | null;
  /** An experiment has more results than the 10,000 that are looked at. */
  is_truncated!: boolean;
  /** One for each bound, in the order of the rules. */
  @ApiProperty({ type: [GateCheckDto] })
  checks!: GateCheckDto[];
}

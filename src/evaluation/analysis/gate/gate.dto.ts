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
import { Nested } from '#platform/http';
import { IntervalDto } from '../comparison/comparison.dto';
import { EXPERIMENT_STATUSES, type ExperimentStatus, SUMMARY_RESULTS_MAX } from '../../experiments';

export const RULES_MAX = 100;

/** A rule about one scorer, with at least one bound. Each bound is a check. */
export class GateRuleDto {
  @IsString()
  @Length(1, 255)
  scorer!: string;

  /** The mean must be at least this. */
  @IsOptional()
  @IsNumber()
  min_mean?: number | null;

  /** The mean difference to the baseline, over the cases with scores on both sides, must be at least minus this. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  max_regression?: number | null;

  /** The number of scores that are not null must be at least this. */
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
   * Compares the lower end of the 95 % confidence interval, instead of the value itself, with `min_mean` and
   * `max_regression`.
   */
  @IsOptional()
  @IsBoolean()
  confident?: boolean | null;
}

export class GateDto {
  /** The baseline for `max_regression`. By default, the experiment's own baseline. */
  @IsOptional()
  @IsString()
  baseline_experiment_id?: string | null;

  /** 1 to 100 rules, all of which must pass. */
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
  /** Index of its rule in the request. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  rule!: number;
  @ApiProperty({ enum: CHECK_KINDS })
  kind!: CheckKind;
  passed!: boolean;
  /** Whether the check compares the lower end of the interval with the bound. */
  confident!: boolean;
  /** The value compared with the bound; for `max_regression`, candidate - baseline. Null if unknown, which fails the check. */
  @ApiProperty({ type: 'number', nullable: true })
  actual!: number | null;
  /** The lowest `actual` that passes; for `max_regression`, 0 or less. */
  bound!: number;
  /** The mean, the mean difference or the count, whether or not it is compared with the bound. */
  @ApiProperty({ type: 'number', nullable: true })
  estimate!: number | null;
  /** 95 % confidence interval of the estimate. Null unless `confident`, and for fewer than two cases. */
  confidence_interval!: IntervalDto | null;
  /** The outcome in words. */
  detail!: string;
}

/** Result of a gate. */
export class GateResultDto {
  /** Whether every check passed. */
  passed!: boolean;
  experiment_id!: string;
  name!: string;
  experiment_name!: string;
  /** The result may change while the experiment is running. */
  @ApiProperty({ enum: EXPERIMENT_STATUSES })
  experiment_status!: ExperimentStatus;
  /** Null without a baseline. */
  baseline_experiment_id!: string | null;
  /** Whether an experiment has more than 10,000 results. Only the first 10,000 count. */
  is_truncated!: boolean;
  /** One check per bound, in the order of the rules. */
  @ApiProperty({ type: [GateCheckDto] })
  checks!: GateCheckDto[];
}

import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsNumber,
  IsOptional,
  Max,
  Min,
} from 'class-validator';
import { Nested, IsNullableText, IsText, IsWholeNumber } from '#platform/http';
import type { IntervalDto } from '../../statistics';
import type { CoverageDto } from '../experiments/experiment.dto';
import { EXPERIMENT_STATUSES, type ExperimentStatus } from '../experiments/experiment.entity';
import { SUMMARY_RESULTS_MAX } from '../experiments/summary.repository';

export const RULES_MAX = 100;

/** Declares a number of results, which may be absent or null. */
const IsResultCount = (minimum: number) =>
  IsWholeNumber({ minimum, maximum: SUMMARY_RESULTS_MAX, format: 'int32', nullable: true, required: false });

/** A rule about one scorer, with at least one bound. Each bound is a check. */
export class GateRuleDto {
  @IsText(255)
  scorer!: string;

  /** Minimum mean of the scores. */
  @IsOptional()
  @IsNumber()
  min_mean?: number | null;

  /** How far the mean may drop below the baseline, over the cases with scores on both sides. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  max_regression?: number | null;

  /** Minimum number of scores that are not null. */
  @IsOptional()
  @IsResultCount(1)
  min_count?: number | null;

  /**
   * Minimum share of the expected cases (those of the dataset's snapshot or pinned CSV version; without a dataset, those
   * with a result) that have a score or a deliberate null, not an error; checks that compare with a baseline require the
   * same share of the baseline. Defaults to 1 with a dataset, else to 0, which turns the check off.
   */
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  min_coverage?: number | null;

  /** Maximum number of cases that are worse than in the baseline. */
  @IsOptional()
  @IsResultCount(0)
  max_regressed_cases?: number | null;

  /** How far any single case may drop below the baseline. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  max_case_regression?: number | null;

  /**
   * Compares the lower end of the 95% confidence interval, instead of the value itself, with `min_mean` and
   * `max_regression`.
   */
  @IsOptional()
  @IsBoolean()
  confident?: boolean | null;
}

export class GateDto {
  /**
   * The completed experiment to compare with; by default, the experiment's own baseline, else the promoted baseline of its
   * dataset for experiments of this name. Without a baseline, the checks that need one are skipped.
   */
  @IsNullableText()
  baseline_experiment_id?: string | null;

  /** Fails the checks that need a baseline if there is none, instead of skipping them. */
  @IsOptional()
  @IsBoolean()
  require_baseline?: boolean | null;

  /** Compares even if the scorers, their versions, the judges or the numbered CSV rows differ, instead of failing the check. */
  @IsOptional()
  @IsBoolean()
  allow_version_mismatch?: boolean | null;

  /**
   * The lowest share of comparable cases, of those with scores on both sides; cases that different judges scored are not
   * comparable. Below it, checks that compare with the baseline fail; defaults to 0.9.
   */
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  min_comparable?: number | null;

  /** 1 to 100 rules. All must pass. */
  @ApiProperty({ type: [GateRuleDto], minItems: 1, maxItems: RULES_MAX })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(RULES_MAX)
  @Nested(() => GateRuleDto)
  rules!: GateRuleDto[];
}

/** Each kind of check is named like the bound in its rule. */
export const CHECK_KINDS = [
  'min_mean',
  'max_regression',
  'min_count',
  'min_coverage',
  'max_regressed_cases',
  'max_case_regression',
] as const;
export type CheckKind = (typeof CHECK_KINDS)[number];

export const CHECK_STATUSES = ['passed', 'failed', 'skipped'] as const;
export type CheckStatus = (typeof CHECK_STATUSES)[number];

export class GateCheckDto {
  scorer!: string;
  /** Index of its rule in the request. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  rule!: number;
  @ApiProperty({ enum: CHECK_KINDS })
  kind!: CheckKind;
  /** `skipped` if the check needs a baseline and there is none. A skipped check does not fail the gate. */
  @ApiProperty({ enum: CHECK_STATUSES })
  status!: CheckStatus;
  /** The outcome in words. */
  reason!: string;
  /** Whether the check compares the lower end of the interval with the bound. */
  confident!: boolean;
  /**
   * The value compared with the bound: for `max_regression`, candidate - baseline; for `max_case_regression`, this
   * difference in the worst case. Null if unknown, which fails the check.
   */
  actual!: number | null;
  /** The lowest `actual` that passes, 0 or less for regressions. For `max_regressed_cases`, the highest. */
  bound!: number;
  /** The value itself, whether or not it is compared with the bound. */
  estimate!: number | null;
  /** 95% confidence interval of the estimate. Null unless `confident`, and for fewer than two cases. */
  confidence_interval!: IntervalDto | null;
  /** The version of the scorer. Null without scores, and for scores that name no version. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  scorer_version!: number | null;
  /** The version whose scores the results show, of several the newest. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  current_scorer_version!: number | null;
  /** The version that scored the baseline. Null if it is unknown or the check does not use the baseline. */
  @ApiProperty({ type: 'integer', minimum: 1, nullable: true })
  baseline_scorer_version!: number | null;
  /** Number of cases that different judges scored, which are left out. 0 if the check does not use the baseline. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  judge_changed_count!: number;
}

/** Result of a gate. */
export class GateResultDto {
  /** True if no check failed. */
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
  /** Coverage of the experiment by its results and current scores, for the scorers that the rules name. */
  coverage!: CoverageDto;
  /** Coverage of the baseline. Null if there is no baseline or no rule needs one. */
  baseline_coverage!: CoverageDto | null;
  /** One check per bound, in the order of the rules. */
  checks!: GateCheckDto[];
}

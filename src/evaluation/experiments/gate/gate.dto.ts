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
import { Nested, IsNullableText, IsWholeNumber, viewOf } from '#platform/http';
import type { RawJson } from '#platform/json';
import { OrderedListQueryDto, PageOf } from '#platform/paging';
import type { IntervalDto } from '../../statistics';
import { IsUnit, type UNIT } from '../compare/comparison.dto';
import type { CoverageDto } from '../experiments/experiment.dto';
import { TRIALS_MAX } from '../experiments/experiment.dto';
import { EXPERIMENT_STATUSES, type ExperimentStatus } from '../experiments/experiment.entity';
import { THRESHOLD } from '../trials/experiment-trial.dto';
import { SUMMARY_RESULTS_MAX } from '../experiments/summary.repository';

export const RULES_MAX = 100;

/** Declares a number of results, which may be absent or null. */
const IsResultCount = (minimum: number) =>
  IsWholeNumber({ minimum, maximum: SUMMARY_RESULTS_MAX, format: 'int32', nullable: true, required: false });

/** A bound on pass@k or pass^k. */
export class PassBoundDto {
  /** The number of trials. */
  @IsWholeNumber({ minimum: 1, maximum: TRIALS_MAX, format: 'int32' })
  k!: number;

  /** The lowest value that passes. */
  @IsNumber()
  @Min(0)
  @Max(1)
  value!: number;

  /** The lowest score of a trial that passes. */
  @ApiProperty({ required: false, type: 'number', nullable: true, default: THRESHOLD })
  @IsOptional()
  @IsNumber()
  threshold?: number | null;
}

/** A rule with at least one bound. Each bound is a check. Bounds on scores need a `scorer`. */
export class GateRuleDto {
  /** Not needed for `max_error_rate`, `max_p95_duration_ms` and `max_mean_cost_usd`. */
  @IsNullableText(255)
  scorer?: string | null;

  /** Minimum mean of the scores over the cases, each with the mean of its trials. */
  @IsOptional()
  @IsNumber()
  min_mean?: number | null;

  /** How far the mean may drop below the baseline, over the cases with scores on both sides. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  max_regression?: number | null;

  /** Minimum number of cases with a score that is not null. */
  @IsOptional()
  @IsResultCount(1)
  min_count?: number | null;

  /**
   * Minimum share of the expected cases (those of the dataset's snapshot or pinned CSV version; without a dataset, those
   * with a result) that have a score or a deliberate null in each trial; checks that compare with a baseline require the
   * same share of the baseline. Defaults to 1; 0 turns the check off.
   */
  @ApiProperty({ required: false, type: 'number', nullable: true, minimum: 0, maximum: 1, default: 1 })
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

  /** Minimum probability that at least one of `k` trials passes (pass@k), as the mean over the cases with `k` trials. */
  @IsOptional()
  @Nested(() => PassBoundDto)
  min_pass_at_k?: PassBoundDto | null;

  /** Minimum probability that all of `k` trials pass (pass^k), as the mean over the cases with `k` trials. */
  @IsOptional()
  @Nested(() => PassBoundDto)
  min_pass_hat_k?: PassBoundDto | null;

  /**
   * Maximum share of the expected cases that ended in an error, each with the share of its trials. A case or a trial without
   * a result counts as an error.
   */
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  max_error_rate?: number | null;

  /** Maximum 95th percentile of the cases' `duration_ms`. Fails if the duration of an expected case is unknown. */
  @IsOptional()
  @IsNumber()
  @Min(0)
  max_p95_duration_ms?: number | null;

  /**
   * Maximum mean cost of a case, by the traces of its results. Fails if the cost of an expected case is unknown, such as that of a
   * trace that several results name.
   */
  @IsOptional()
  @IsNumber()
  @Min(0)
  max_mean_cost_usd?: number | null;

  /**
   * Compares the lower end of the 95% confidence interval, instead of the value itself, with `min_mean`, `max_regression`,
   * `min_pass_at_k` and `min_pass_hat_k`.
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

  /** Compares even if the scorers, their versions or the judges differ, instead of failing the check. */
  @IsOptional()
  @IsBoolean()
  allow_version_mismatch?: boolean | null;

  /**
   * The lowest share of comparable cases: of the cases of both experiments, those whose `input` and `expected` have not
   * changed; and of the cases with scores on both sides, those that the same judge scored. Below it, checks that compare
   * with the baseline fail; defaults to 0.9.
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
  'min_pass_at_k',
  'min_pass_hat_k',
  'max_error_rate',
  'max_p95_duration_ms',
  'max_mean_cost_usd',
] as const;
export type CheckKind = (typeof CHECK_KINDS)[number];

/** The bounds on trials that pass. */
export const PASS_KINDS = ['min_pass_at_k', 'min_pass_hat_k'] as const;
export type PassKind = (typeof PASS_KINDS)[number];

/** The bounds that are not about scores. */
export const RUN_KINDS = ['max_error_rate', 'max_p95_duration_ms', 'max_mean_cost_usd'] as const;
export type RunKind = (typeof RUN_KINDS)[number];

/** Whether a bound is the highest value that passes, not the lowest. */
export const isUpperBound = (kind: CheckKind): boolean =>
  kind === 'max_regressed_cases' || (RUN_KINDS as readonly CheckKind[]).includes(kind);

export const CHECK_STATUSES = ['passed', 'failed', 'skipped'] as const;
export type CheckStatus = (typeof CHECK_STATUSES)[number];

export class GateCheckDto {
  /** Null if the check is not about scores. */
  scorer!: string | null;
  /** Index of its rule in the request. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  rule!: number;
  @ApiProperty({ enum: CHECK_KINDS })
  kind!: CheckKind;
  @IsUnit()
  unit!: typeof UNIT;
  /**
   * `skipped` if the check needs a baseline and there is none, or the experiment is itself the promoted baseline. A skipped
   * check does not fail the gate.
   */
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
  /** The lowest `actual` that passes, 0 or less for regressions. For the other maximums, the highest. */
  bound!: number;
  /** The value itself, whether or not it is compared with the bound. */
  estimate!: number | null;
  /** 95% confidence interval of the estimate. Null unless `confident`, and for fewer than two cases. */
  confidence_interval!: IntervalDto | null;
  /** The version of the scorer whose scores count. Null without scores, and for scores that name no version. */
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
  /** Number of cases whose `input` or `expected` differs, which are left out. 0 if the check does not use the baseline. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  changed_case_count!: number;
  /** Number of compared cases with a result whose content was erased. 0 if the check does not use the baseline. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  erased_count!: number;
  /** Number of the experiment's scores by this scorer that came after it was finalized. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  late_count!: number;
  /** Number of the baseline's scores that came after it was finalized. 0 if the check does not use the baseline. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  baseline_late_count!: number;
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

/** A check that was made before: its request and its result. */
export class KeptGateDto {
  gate_check_id!: string;
  experiment_id!: string;
  workspace_id!: string;
  passed!: boolean;
  request!: GateDto;
  result!: GateResultDto;
  created_at!: Date;
  /** Who made the check. */
  created_by!: string;
}

/** A check as it is stored. */
export type KeptGateRow = Omit<KeptGateDto, 'request' | 'result'> & { request: RawJson; result: RawJson };

export class KeptGatePageDto extends PageOf(KeptGateDto) {}

export class KeptGateListQueryDto extends OrderedListQueryDto {}

export const toKeptGateDto = viewOf(KeptGateDto) as unknown as (row: KeptGateRow) => KeptGateDto;

import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  Min,
} from 'class-validator';
import { ClosedBody, IsJson, IsOneOf, Nested, NotNull, ValuesCheckedLater } from '#platform/http';
import { ChangingListQueryDto, PageMetaDto } from '#platform/paging';
import { ARRIVAL_TEXTS } from '../../telemetry';
import { type Grain, GRAINS } from '../scorers/scorer.entity';
import { FILTERS_MAX, STATS_FIGURES, STATS_OPERATORS } from '../traces/trace-stats.dto';
import { QUIET_MAX, QUIET_MIN } from './quiet-time';

export const RULE_FIELDS = [...ARRIVAL_TEXTS, ...STATS_FIGURES] as const;

const FILTER_VALUE = {
  description:
    'Text, or a number for a measure; null for traces without one. For `in` a list of 1 to 100 of them.',
};

const QUIET =
  'Seconds without a further span after which a trace, or a whole session, is taken to be done: 60 for traces and 900 for sessions unless given.';

/** A condition on a trace: the form that figures over traces take, of what a trace itself has. */
@ClosedBody()
export class RuleFilterDto {
  @IsOneOf(RULE_FIELDS)
  field!: (typeof RULE_FIELDS)[number];

  /** `gte` and `lte` are for measures. */
  @IsOneOf(STATS_OPERATORS)
  op!: (typeof STATS_OPERATORS)[number];

  @IsJson(FILTER_VALUE)
  value!: unknown;
}

/** What a scorer is to score as it arrives. */
@ClosedBody()
@ValuesCheckedLater()
export class CreateScoringRuleDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** The share that is scored, by the id alone: the same trace is decided alike by every rule of the same rate. */
  @ApiProperty({ type: 'number', minimum: 0, maximum: 1, default: 1, required: false, nullable: true })
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  sample_rate?: number | null;

  /** All of them hold: of the trace, or of one trace of the session. Without any, everything is for the rule. */
  @ApiProperty({ type: [RuleFilterDto], maxItems: FILTERS_MAX, nullable: true, required: false })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(FILTERS_MAX)
  @Nested(() => RuleFilterDto)
  filters?: RuleFilterDto[] | null;

  /** What one score is about; the scorer's unless given. */
  @IsOptional()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain | null;

  @ApiProperty({ type: 'boolean', default: true, required: false, nullable: true })
  @IsOptional()
  @IsBoolean()
  enabled?: boolean | null;

  @ApiProperty({
    type: 'integer',
    minimum: QUIET_MIN,
    maximum: QUIET_MAX,
    required: false,
    nullable: true,
    description: QUIET,
  })
  @IsOptional()
  @IsInt()
  @Min(QUIET_MIN)
  @Max(QUIET_MAX)
  quiet_seconds?: number | null;
}

/** A merge patch (RFC 7396); `filters` are replaced whole. A rule that is enabled again is for what arrives from then on. */
@ClosedBody()
@ValuesCheckedLater()
export class PatchScoringRuleDto {
  /** Only the present one: a rule cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  rule_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  scorer_id?: string;

  @ApiProperty({ type: 'number', minimum: 0, maximum: 1, required: false })
  @NotNull()
  @IsNumber()
  @Min(0)
  @Max(1)
  sample_rate?: number;

  /** Replaced whole; null takes all away. */
  @ApiProperty({ type: [RuleFilterDto], maxItems: FILTERS_MAX, nullable: true, required: false })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(FILTERS_MAX)
  @Nested(() => RuleFilterDto)
  filters?: RuleFilterDto[] | null;

  @NotNull()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain;

  @NotNull()
  @IsBoolean()
  enabled?: boolean;

  @ApiProperty({
    type: 'integer',
    minimum: QUIET_MIN,
    maximum: QUIET_MAX,
    required: false,
    nullable: true,
    description: `${QUIET} Null: that of the grain.`,
  })
  @IsOptional()
  @IsInt()
  @Min(QUIET_MIN)
  @Max(QUIET_MAX)
  quiet_seconds?: number | null;
}

export class ScoringRuleListQueryDto extends ChangingListQueryDto {}

/** What a scorer scores as it arrives. The ETag is of what people set; figures of its work change without it. */
export class ScoringRuleDto {
  rule_id!: string;
  scorer_id!: string;
  workspace_id!: string;
  @ApiProperty({ minimum: 0, maximum: 1 })
  sample_rate!: number;
  filters!: RuleFilterDto[];
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  enabled!: boolean;
  @ApiProperty({ type: 'integer', minimum: QUIET_MIN, maximum: QUIET_MAX })
  quiet_seconds!: number;
  /** When it was made or last enabled: what arrived before is not for it. */
  enabled_at!: Date;
  /** When the last trace that it has come to arrived; null before the first. */
  last_seen_at!: Date | null;
  /** Traces or sessions that it has come to, each once for every time that it became quiet. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  seen_count!: number;
  /** Those that its filters and its sample have. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  chosen_count!: number;
  /** Those that runs were ordered for; the others this version of the scorer had scored, or was about to. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  ordered_count!: number;
  /** When it last ordered a run. */
  last_run_at!: Date | null;
  last_score_run_id!: string | null;
  /** Why it does not go on at the moment; what arrives meanwhile waits. */
  last_error!: string | null;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

export class ScoringRulePageDto {
  items!: ScoringRuleDto[];
  page!: PageMetaDto;
}

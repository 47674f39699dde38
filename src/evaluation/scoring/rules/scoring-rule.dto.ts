import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsNumber, IsOptional, IsString, Max, Min } from 'class-validator';
import {
  IsOneOf,
  NotNull,
  ReadOnlyMembersOf,
  ValuesCheckedLater,
  viewOf,
  IsImmutable,
  IsOptionalText,
  IsWholeNumber,
} from '#platform/http';
import { ChangingListQueryDto, PageOf, ToBoolean } from '#platform/paging';
import { IsRuleFilters, RuleFilterDto } from '../../../telemetry';
import { type Pace, PACES } from './pace';
import { type Grain, GRAINS } from '../../scorers';
import { IsCost } from '../score/scoring.dto';
import type { ScoringRuleEntity } from './scoring-rule.entity';

/** Default time without a new span after which a trace or session counts as complete, in seconds. */
const QUIET_DEFAULTS: Readonly<Record<Grain, number>> = { trace: 60, session: 900 };
const QUIET_MIN = 1;
const QUIET_MAX = 86_400;

/** Returns the quiet time of a rule, in seconds. */
export const quietSecondsOf = ({
  grain,
  quiet_seconds,
}: Pick<ScoringRuleEntity, 'grain' | 'quiet_seconds'>): number => quiet_seconds ?? QUIET_DEFAULTS[grain];

const QUIET =
  'Seconds without a new span after which a trace (60 by default) or a whole session (900 by default) counts as complete.';

const IsQuietSeconds = (description: string) =>
  applyDecorators(
    IsOptional(),
    IsWholeNumber({
      minimum: QUIET_MIN,
      maximum: QUIET_MAX,
      required: false,
      nullable: true,
      description,
    }),
  );

/** Declares the pace of a rule. */
const IsPace = (defaultPace?: Pace) =>
  applyDecorators(
    IsOptional(),
    IsOneOf(PACES, {
      required: false,
      ...(defaultPace && { default: defaultPace }),
      description:
        '`even` spends the share of `max_cost_usd_per_day` that equals the share of the day (UTC) that has passed, to within half a target, and skips traces beyond it, so that the scored traces are spread over the day; `greedy` spends it as traces arrive.',
    }),
  );

/** A rule by which a scorer scores traces or sessions as they arrive. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ScoringRuleDto)
export class CreateScoringRuleDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** Share of targets to score. Sampling depends only on the id, so rules with the same rate sample the same targets. */
  @ApiProperty({ type: 'number', minimum: 0, maximum: 1, default: 1, required: false, nullable: true })
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  sample_rate?: number | null;

  /** The trace, or one trace of the session, must meet all of these conditions. Without filters, everything matches. */
  @IsRuleFilters()
  filters?: RuleFilterDto[] | null;

  /** Whether each score is about a trace or a session. Defaults to the scorer's grain. */
  @IsOptional()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain | null;

  @ApiProperty({ type: 'boolean', default: true, required: false, nullable: true })
  @IsOptional()
  @IsBoolean()
  enabled?: boolean | null;

  @IsQuietSeconds(QUIET)
  quiet_seconds?: number | null;

  /**
   * Limit for the cost of the runs that the rule starts on one day (UTC), in US dollars; with a limit, the rule has only one
   * open run at a time. At the limit, the rule pauses until the next day and skips traces that arrive meanwhile.
   */
  @IsCost()
  max_cost_usd_per_day?: number | null;

  @IsPace('even')
  pace?: Pace | null;
}

/** A merge patch (RFC 7396). A rule that is enabled again ignores traces that arrived before. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ScoringRuleDto)
export class PatchScoringRuleDto {
  @IsImmutable('Must be the current workspace, because a rule cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  rule_id?: string;

  @IsImmutable()
  scorer_id?: string;

  @ApiProperty({ type: 'number', minimum: 0, maximum: 1, required: false })
  @NotNull()
  @IsNumber()
  @Min(0)
  @Max(1)
  sample_rate?: number;

  /** Replaces all filters; null removes them. */
  @IsRuleFilters()
  filters?: RuleFilterDto[] | null;

  @NotNull()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain;

  @NotNull()
  @IsBoolean()
  enabled?: boolean;

  @IsQuietSeconds(`${QUIET} Null restores the default.`)
  quiet_seconds?: number | null;

  /** Null removes the limit. A change ends a pause, but skipped traces remain skipped. */
  @IsCost()
  max_cost_usd_per_day?: number | null;

  @IsPace()
  pace?: Pace | null;
}

export class ScoringRuleListQueryDto extends ChangingListQueryDto {}

export class WorkspaceRuleListQueryDto extends ChangingListQueryDto {
  /** Rules of this scorer. */
  @IsOptionalText()
  scorer_id?: string;

  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  enabled?: boolean;
}

/** A rule by which a scorer scores traces or sessions as they arrive. Its progress does not change the ETag. */
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
  /** Limit for the cost of the runs that the rule starts on one day (UTC), in US dollars; null for no limit. */
  max_cost_usd_per_day!: number | null;
  /** How the limit is spent over the day. */
  @ApiProperty({ enum: [...PACES] })
  pace!: Pace;
  /**
   * Cost of the runs that the rule started today (UTC) and that have ended, in US dollars. Divide by `scored_count`, which counts
   * the same runs, but not by `sent_count`.
   */
  @ApiProperty({ type: 'number', minimum: 0 })
  spent_today_usd!: number;
  /** Number of traces or sessions in the runs that the rule started today (UTC). */
  @ApiProperty({ type: 'integer', minimum: 0 })
  sent_count!: number;
  /**
   * Number of traces or sessions that matched the filters and were sampled today (UTC), but not sent: because of
   * `max_cost_usd_per_day`, or because they were already scored or in a run.
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  skipped_count!: number;
  /** Number of sent traces or sessions that were scored without an error, in runs that have ended. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  scored_count!: number;
  /** When the rule was created, or last enabled or restored. The rule ignores traces that arrived before. */
  enabled_at!: Date;
  /** Arrival time of the last trace that the rule processed; null before the first. */
  last_seen_at!: Date | null;
  /** Number of traces or sessions processed. Each counts again whenever it becomes quiet again. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  seen_count!: number;
  /** Number of processed traces or sessions that match the filters and are sampled. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  chosen_count!: number;
  /**
   * Number of chosen traces or sessions in the runs that the rule started. The others were skipped because of
   * `max_cost_usd_per_day`, already scored, or in a run.
   */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  ordered_count!: number;
  /** When the rule last started a run. */
  last_run_at!: Date | null;
  last_score_run_id!: string | null;
  /** Why the rule is blocked; null if it is not blocked. Arriving traces wait until it continues. */
  last_error!: string | null;
  /** End of the current pause, after the rule reached `max_cost_usd_per_day`; null if the rule is not paused. */
  paused_until!: Date | null;
  /**
   * When the rule was last paused; null before the first pause. The rule skips and counts traces that arrive between then and
   * the next midnight (UTC).
   */
  last_paused_at!: Date | null;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

export class ScoringRulePageDto extends PageOf(ScoringRuleDto) {}

/** Start of the current day (UTC), in ms since 1970. */
const today = (): number => new Date().setUTCHours(0, 0, 0, 0);

export const toScoringRuleDto = viewOf(ScoringRuleDto, (row: ScoringRuleEntity) => ({
  ...(row.counted_day?.getTime() === today()
    ? {
        spent_today_usd: row.spent_today_usd,
        sent_count: row.sent_today,
        skipped_count: row.skipped_today,
        scored_count: row.scored_today,
      }
    : { spent_today_usd: 0, sent_count: 0, skipped_count: 0, scored_count: 0 }),
  filters: row.filters as unknown as RuleFilterDto[],
  quiet_seconds: quietSecondsOf(row),
  paused_until: row.paused_until && row.paused_until > new Date() ? row.paused_until : null,
}));

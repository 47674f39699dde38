import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsArray, IsNumber, IsOptional } from 'class-validator';
import { instantOf, IsOneOf, NotBelow, IsOptionalText, IsOptionalTime } from '#platform/http';
import { ScoreFiltersDto } from './score.dto';

/** The properties that scores can be grouped by. */
export const SCORE_GROUPS = [
  'scorer',
  'version',
  'source',
  'label',
  'day',
  'tag',
  'model',
  'service',
  'agent_version',
  'user_id',
  'environment',
  'prompt_name',
  'prompt_version',
  'hour',
  'trace_day',
] as const;
export type ScoreGroup = (typeof SCORE_GROUPS)[number];

/** A query for statistics of the scores that are not superseded: the filters of the list, and groups. */
export class ScoreStatsQueryDto extends ScoreFiltersDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptionalText()
  workspace_id?: string;

  /**
   * `hour` and `day` (UTC) are those of recording, `tag` is a tag of the result, and the others belong to the trace. A score counts
   * in each of its tags, and in each model of its trace, because it is about the whole trace.
   */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(SCORE_GROUPS.length)
  @ArrayUnique({ message: 'must not repeat a group' })
  @IsOneOf(SCORE_GROUPS, {
    each: true,
    required: false,
    nullable: true,
    uniqueItems: true,
    maxItems: SCORE_GROUPS.length,
  })
  group_by?: ScoreGroup[] | null;

  /** Scores of traces that started at this time or later (RFC 3339). Sessions have no start time. */
  @IsOptionalTime()
  trace_since?: string;

  /** Scores of traces that started before this time (RFC 3339). */
  @IsOptionalTime()
  @NotBelow('trace_since', instantOf)
  trace_until?: string;

  /** The lowest score that counts as passed. Defaults to 0.5. */
  @ApiProperty({ type: 'number', default: 0.5, required: false, nullable: true })
  @IsOptional()
  @IsNumber()
  pass_score?: number | null;
}

export class ScoreStatsValuesDto {
  /** Number of scores that are not null. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  count!: number;
  /** Number of scores without a number: a deliberate null, or only a label or a comment. The other members ignore them. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  null_count!: number;
  /** Null, like the members below, without scores. */
  mean!: number | null;
  /** Share of the scores that are at least `pass_score`. */
  pass_rate!: number | null;
  min!: number | null;
  /** Percentiles are exact: over all scores, with linear interpolation (Hyndman & Fan, definition 7). */
  p10!: number | null;
  p25!: number | null;
  p50!: number | null;
  p75!: number | null;
  p90!: number | null;
  p95!: number | null;
  p99!: number | null;
  max!: number | null;
}

export class ScoreStatsRowDto {
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: ['string', 'integer', 'null'] },
    description: 'One member for each item of `group_by`. Null for scores without a value.',
  } as ApiPropertyOptions)
  group!: Record<string, string | number | null>;

  values!: ScoreStatsValuesDto;
}

export class ScoreStatsDto {
  /** One row for each group, in the order of the group's values, null last. */
  rows!: ScoreStatsRowDto[];
  /** Whether `rows` is truncated to the first 10,000 groups. */
  is_truncated!: boolean;
}

import { ApiProperty, OmitType } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import { NotNull } from '#platform/http';
import { PageMetaDto, PageQueryDto } from '#platform/paging';
import { IsFilter } from '../../resources';
import { UsdProperty } from '../budgets/is-budget';

/** What usage can be grouped by. */
export const USAGE_GROUPS = ['day', 'model', 'principal', 'provider', 'workspace'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

const TIME_MAX = 64;
const GROUPS_MAX = 100;

export class ModelUsageQueryDto extends OmitType(PageQueryDto, ['cursor']) {
  /** Only usage in this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Only usage of this model. */
  @IsFilter()
  model_id?: string;

  /** Only usage of this user or service account. */
  @IsFilter()
  principal_id?: string;

  /** From this day (UTC) on: a date or a time (RFC 3339). Defaults to the first day of the current month. */
  @NotNull()
  @IsString()
  @MaxLength(TIME_MAX)
  @ApiProperty({ required: false, maxLength: TIME_MAX, example: '2026-11-01' })
  since?: string;

  /**
   * Before this day (UTC): a date or a time (RFC 3339). A time within a day includes that day. Defaults to the first day of
   * the next month.
   */
  @NotNull()
  @IsString()
  @MaxLength(TIME_MAX)
  @ApiProperty({ required: false, maxLength: TIME_MAX, example: '2026-12-01' })
  until?: string;

  /** What to group by, separated by commas: `day`, `model`, `principal`, `provider` and `workspace`. */
  @IsOptional()
  @IsString()
  @MaxLength(GROUPS_MAX)
  @ApiProperty({ required: false, maxLength: GROUPS_MAX, default: 'model', example: 'day,model' })
  group_by?: string;
}

/** Declares a number of calls or tokens. */
const Count = () => ApiProperty({ type: 'integer', format: 'int64', minimum: 0 });

/** Sums of usage. */
export class ModelUsageTotalDto {
  @Count()
  call_count!: number;
  @Count()
  failed_count!: number;
  /** Calls that were answered from the cache. */
  @Count()
  cached_count!: number;
  /** Calls without a known price, which `cost_usd` does not contain. */
  @Count()
  unpriced_count!: number;
  @Count()
  input_tokens!: number;
  @Count()
  output_tokens!: number;
  @Count()
  cached_input_tokens!: number;
  @Count()
  cache_write_tokens!: number;
  @UsdProperty()
  cost_usd!: number;
}

/** Usage of one group. It has only the members that it is grouped by. */
export class ModelUsageDto extends ModelUsageTotalDto {
  /** In UTC. */
  @ApiProperty({ format: 'date', required: false })
  day?: string;
  workspace_id?: string;
  model_id?: string;
  /** The name of the model. */
  @ApiProperty({ type: String, nullable: true, required: false })
  model?: string | null;
  principal_id?: string;
  /** Null for answers from the cache. */
  @ApiProperty({ type: String, nullable: true, required: false })
  provider_id?: string | null;
  /** The name of the model at the provider. Null for answers from the cache. */
  @ApiProperty({ type: String, nullable: true, required: false })
  upstream_model?: string | null;
}

export class ModelUsagePageDto {
  items!: ModelUsageDto[];
  /** The sums of all groups, on all pages. */
  total!: ModelUsageTotalDto;
  page!: PageMetaDto;
}

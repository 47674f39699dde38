import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import { NotNull } from '#platform/http';
import { PageMetaDto, PageQueryDto } from '#platform/paging';
import { IsFilter } from '../../resources';
import { UsdProperty } from '../budgets/budget.dto';

/** The groupings of usage. */
export const USAGE_GROUPS = ['day', 'model', 'principal', 'provider', 'workspace'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

const TIME_MAX = 64;
const GROUPS_MAX = 100;

export class ModelUsageQueryDto extends PageQueryDto {
  /** Only usage in this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Only usage of this model. */
  @IsFilter()
  model_id?: string;

  /** Only usage of this user or service account. */
  @IsFilter()
  principal_id?: string;

  /** Only usage on this day (UTC) or later: a date or a time (RFC 3339). Default: the first day of the current month. */
  @NotNull()
  @IsString()
  @MaxLength(TIME_MAX)
  @ApiProperty({ required: false, maxLength: TIME_MAX, example: '2026-11-01' })
  since?: string;

  /**
   * Only usage before this day (UTC): a date, or a time (RFC 3339). A time after midnight includes the whole day. Default: the
   * first day of the next month.
   */
  @NotNull()
  @IsString()
  @MaxLength(TIME_MAX)
  @ApiProperty({ required: false, maxLength: TIME_MAX, example: '2026-12-01' })
  until?: string;

  /** The groupings, separated by commas: `day`, `model`, `principal`, `provider` and `workspace`. */
  @IsOptional()
  @IsString()
  @MaxLength(GROUPS_MAX)
  @ApiProperty({ required: false, maxLength: GROUPS_MAX, default: 'model', example: 'day,model' })
  group_by?: string;
}

/** Declares a number of calls or tokens. */
const Count = () => ApiProperty({ type: 'integer', format: 'int64', minimum: 0 });

/** Totals of usage. */
export class ModelUsageTotalDto {
  @Count()
  call_count!: number;
  @Count()
  failed_count!: number;
  /** Calls with a cached response. */
  @Count()
  cached_count!: number;
  /** Requests to providers, including those of calls that another provider answered. */
  @Count()
  attempts!: number;
  /** Attempts that failed because of the provider. */
  @Count()
  failed_attempts!: number;
  /** Calls without a known price, which `cost_usd` does not include. */
  @Count()
  unpriced_count!: number;
  /** Calls whose tokens are estimated, at least in part, because the provider did not report them. */
  @Count()
  estimated_count!: number;
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
  /** The part of `cost_usd` that is estimated. A call without a response counts the most that it can cost. */
  @UsdProperty()
  estimated_usd!: number;
}

/** Usage of one group. It contains only the members for the requested groupings. */
export class ModelUsageDto extends ModelUsageTotalDto {
  /** The day in UTC. */
  @ApiProperty({ format: 'date', required: false })
  day?: string;
  workspace_id?: string;
  model_id?: string;
  /** The name of the model. */
  @ApiProperty({ type: String, nullable: true, required: false })
  model?: string | null;
  principal_id?: string;
  /** The name of the service account, or the display name of the user. Null if unknown. */
  @ApiProperty({ type: String, nullable: true, required: false })
  principal?: string | null;
  /** Null for cached responses. */
  @ApiProperty({ type: String, nullable: true, required: false })
  provider_id?: string | null;
  /** The name of the model at the provider. Null for cached responses. */
  @ApiProperty({ type: String, nullable: true, required: false })
  upstream_model?: string | null;
}

export class ModelUsagePageDto {
  items!: ModelUsageDto[];
  /** The totals of all groups, on all pages. */
  total!: ModelUsageTotalDto;
  page!: PageMetaDto;
}

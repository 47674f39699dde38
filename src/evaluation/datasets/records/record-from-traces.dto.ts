import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Min } from 'class-validator';
import { IsOneOf, IsTags, ValuesCheckedLater, IsNullableTime } from '#platform/http';
import { IsRuleFilters, IsTraceIds, type RuleFilterDto } from '../../../telemetry';
import { BULK_MAX } from '../../../resources';
import { BulkRecordItemDto } from './record.dto';

const EXPECTED = ['output'] as const;
const ON_CONFLICT = ['error', 'skip'] as const;

/** Traces to make records from: either `trace_ids`, or a selection by `filters`, `since` and `until`. */
@ValuesCheckedLater()
export class RecordsFromTracesDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** 1 to 100 stored traces. Each becomes one record, in this order. */
  @IsTraceIds({ minItems: 1, maxItems: BULK_MAX })
  trace_ids?: string[] | null;

  /** Selects the traces that meet all of these conditions, newest first. */
  @IsRuleFilters()
  filters?: RuleFilterDto[] | null;

  /** Selects traces that started at this time or later (RFC 3339). */
  @IsNullableTime()
  since?: string | null;

  /** Selects traces that started before this time (RFC 3339). */
  @IsNullableTime()
  until?: string | null;

  /** Takes only the newest traces of the selection, at most 100. Without it, a selection of more than 100 traces returns 422. */
  @ApiProperty({ type: 'integer', minimum: 1, maximum: BULK_MAX, required: false, nullable: true })
  @IsOptional()
  @IsInt()
  @Min(1)
  limit?: number | null;

  /** `output` takes the output of the trace as the expected answer. If null or absent, the record has no expected answer. */
  @IsOptional()
  @IsOneOf(EXPECTED, { required: false })
  expected?: (typeof EXPECTED)[number] | null;

  /** Tags of every record. */
  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  /**
   * How to handle a trace whose id is the `external_id` of a record that is not archived, such as one from an earlier
   * request: `error` returns 409, and `skip` leaves the existing record unchanged.
   */
  @IsOptional()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error' })
  on_conflict?: (typeof ON_CONFLICT)[number] | null;
}

/** The outcome of one trace. */
export class RecordFromTraceDto extends BulkRecordItemDto {
  trace_id!: string;
}

export class RecordsFromTracesResponseDto {
  items!: RecordFromTraceDto[];
}

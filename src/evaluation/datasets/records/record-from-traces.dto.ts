import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsOptional, IsString, Matches } from 'class-validator';
import { IsOneOf, IsTags, ValuesCheckedLater } from '#platform/http';
import { TRACE_ID } from '../../../telemetry';
import { BULK_MAX } from '../../../resources';
import { BulkRecordItemDto } from './record.dto';

const EXPECTED = ['output'] as const;
const ON_CONFLICT = ['error', 'skip'] as const;

/** Traces to make records from. */
@ValuesCheckedLater()
export class RecordsFromTracesDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** 1 to 100 traces. Each becomes one record, in this order. */
  @ApiProperty({
    type: 'array',
    items: { type: 'string', pattern: TRACE_ID.source },
    minItems: 1,
    maxItems: BULK_MAX,
    nullable: true,
    required: false,
  })
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(BULK_MAX)
  @IsString({ each: true })
  @Matches(TRACE_ID, { each: true, message: 'must be 32 lower-case hexadecimal digits, not all zeros' })
  trace_ids?: string[] | null;

  /** `output`: the output of the trace is the expected answer. Null or absent: somebody writes the expected answer later. */
  @IsOptional()
  @IsOneOf(EXPECTED, { required: false })
  expected?: (typeof EXPECTED)[number] | null;

  /** Tags of every record. */
  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  /**
   * How to handle a trace whose id is the `external_id` of a live record, such as one from an earlier request. `error`: 409.
   * `skip`: the record does not change.
   */
  @IsOptional()
  @IsOneOf(ON_CONFLICT, { required: false, default: 'error' })
  on_conflict?: (typeof ON_CONFLICT)[number] | null;
}

/** The outcome of one trace. */
export class RecordFromTraceDto extends BulkRecordItemDto {
  trace_id!: string;
}

export class RecordsFromTracesAnswerDto {
  items!: RecordFromTraceDto[];
}

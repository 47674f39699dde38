import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsNumber, IsString, Length, Min } from 'class-validator';
import { IsOneOf, NotBelow, NotNull } from '#platform/http';
import { SortedBy } from '#platform/paging';
import { AttributePairs, TimedListQueryDto } from '../list-query.dto';
import { NAME_MAX } from '../span-mapping/field.parser';
import { TRACE_STATUSES } from './trace-stats.types';

const TEXT_MAX = 200;

/** Converts a query parameter into a number. Leaves anything else unchanged, so that validation rejects it. */
const ToNumber = () =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,15}(\.\d{1,6})?$/.test(value) ? Number(value) : value,
  );

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Query of a list that is sorted by start. */
@SortedBy('started_at')
export class StartedListQueryDto extends TimedListQueryDto {}

/** Query of a list of traces. Traces must meet all filters. Names are compared exactly. */
export class TraceListQueryDto extends StartedListQueryDto {
  @NotNull()
  @IsString()
  @Length(1, NAME_MAX)
  session_id?: string;

  @NotNull()
  @IsString()
  @Length(1, NAME_MAX)
  service_name?: string;

  @NotNull()
  @IsString()
  @Length(1, NAME_MAX)
  root_name?: string;

  /** Model of at least one span. */
  @NotNull()
  @IsString()
  @Length(1, NAME_MAX)
  model?: string;

  @NotNull()
  @IsOneOf(TRACE_STATUSES, { required: false, description: '`error`: at least one span has an error.' })
  status?: (typeof TRACE_STATUSES)[number];

  /** Minimum duration in milliseconds. */
  @ApiProperty({ type: 'number', minimum: 0, required: false })
  @NotNull()
  @IsNumber()
  @Min(0)
  @ToNumber()
  min_duration_ms?: number;

  /** Maximum duration in milliseconds. */
  @ApiProperty({ type: 'number', minimum: 0, required: false })
  @NotNull()
  @IsNumber()
  @Min(0)
  @NotBelow('min_duration_ms', numberOf)
  @ToNumber()
  max_duration_ms?: number;

  /**
   * `key:value` of an attribute of a span or of its resource. The key ends at the first colon. Strings are compared as they
   * are, anything else as JSON (`llm.is_streaming:true`). Repeatable: for each pair, at least one span must match.
   */
  @AttributePairs()
  attribute?: string[];

  /** Text that a span's name, or the input or output of the root span, contains. Case-insensitive. */
  @NotNull()
  @IsString()
  @Length(1, TEXT_MAX)
  q?: string;
}

import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsNumber, IsString, Length, Min } from 'class-validator';
import { IsOneOf, NotBelow, NotNull } from '#platform/http';
import { SortedBy } from '#platform/paging';
import { AttributePairs, TimedListQueryDto } from '../list-query.dto';
import { NAME_MAX } from '../span-mapping/field.parser';
import { TRACE_STATUSES } from './trace-stats.types';

const TEXT_MAX = 200;

/** Reads a number from a query. Anything else stays as it is, and fails validation. */
const ToNumber = () =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,15}(\.\d{1,6})?$/.test(value) ? Number(value) : value,
  );

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Query parameters of a list by start. */
@SortedBy('started_at')
export class StartedListQueryDto extends TimedListQueryDto {}

/** The traces to list. All filters must hold; names are compared exactly. */
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

  /** A model that one of the trace's spans names. */
  @NotNull()
  @IsString()
  @Length(1, NAME_MAX)
  model?: string;

  @NotNull()
  @IsOneOf(TRACE_STATUSES, { required: false, description: '`error`: at least one span has an error.' })
  status?: (typeof TRACE_STATUSES)[number];

  /** At least this duration, in milliseconds. */
  @ApiProperty({ type: 'number', minimum: 0, required: false })
  @NotNull()
  @IsNumber()
  @Min(0)
  @ToNumber()
  min_duration_ms?: number;

  /** At most this duration, in milliseconds. */
  @ApiProperty({ type: 'number', minimum: 0, required: false })
  @NotNull()
  @IsNumber()
  @Min(0)
  @NotBelow('min_duration_ms', numberOf)
  @ToNumber()
  max_duration_ms?: number;

  /**
   * `key:value` of an attribute of one of the trace's spans or their resources. The key ends at the first colon. Texts are
   * compared as they are, anything else as JSON (`llm.is_streaming:true`). Repeatable; all must hold, each for any span.
   */
  @AttributePairs()
  attribute?: string[];

  /**
   * A text in the name of a span, or in the input or output of the root. Upper and lower case are the same.
   */
  @NotNull()
  @IsString()
  @Length(1, TEXT_MAX)
  q?: string;
}

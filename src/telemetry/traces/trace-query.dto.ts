import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsNumber, IsString, Length, Min } from 'class-validator';
import { IsOneOf, NotBelow, NotNull } from '#platform/http';
import { SortedBy } from '#platform/paging';
import { AttributePairs, toAttributeFilters } from '../lists/attribute-query';
import { TimedListQueryDto, toTimes } from '../lists/timed-query.dto';
import type { TraceListFilters } from '../trace-list';
import { TRACE_STATUSES } from '../trace-stats';
import { NAME_MAX } from '../semantics/figure.parser';

const TEXT_MAX = 200;

/** Reads a number from a query; what is none stays as it is, for the validation to name. */
const ToNumber = () =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,15}(\.\d{1,6})?$/.test(value) ? Number(value) : value,
  );

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Query parameters of a list by the start of what it has. */
@SortedBy('started_at')
export class StartedListQueryDto extends TimedListQueryDto {}

/** Which traces to list. All that are given must hold; names are compared exactly. */
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
  @IsOneOf(TRACE_STATUSES, { required: false, description: '`error`: with at least one span in error.' })
  status?: TraceListFilters['status'];

  /** Those that took so many milliseconds or more. */
  @ApiProperty({ type: 'number', minimum: 0, required: false })
  @NotNull()
  @IsNumber()
  @Min(0)
  @ToNumber()
  min_duration_ms?: number;

  /** Those that took so many milliseconds or less. */
  @ApiProperty({ type: 'number', minimum: 0, required: false })
  @NotNull()
  @IsNumber()
  @Min(0)
  @NotBelow('min_duration_ms', numberOf)
  @ToNumber()
  max_duration_ms?: number;

  /**
   * `key:value` of an attribute that one of the trace's spans has, or the resource of one. The key ends at the first colon.
   * A text is compared as it is, anything else as JSON writes it (`llm.is_streaming:true`). Repeatable; all must hold,
   * each of any span.
   */
  @AttributePairs()
  attribute?: string[];

  /**
   * Occurs in the name of a span, or in what the root was given or answered, in one piece. Upper and lower case are the
   * same.
   */
  @NotNull()
  @IsString()
  @Length(1, TEXT_MAX)
  q?: string;
}

export function toTraceFilters(query: TraceListQueryDto): TraceListFilters {
  const { session_id, service_name, root_name, model, status, min_duration_ms, max_duration_ms, q } = query;
  const attributes = toAttributeFilters(query.attribute);
  return {
    session_id,
    service_name,
    root_name,
    model,
    status,
    min_duration_ms,
    max_duration_ms,
    attributes,
    q,
    ...toTimes(query),
  };
}

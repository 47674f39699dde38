import { ApiProperty, IntersectionType, OmitType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { AnyJsonObject, IsOneOf, viewOf } from '#platform/http';
import { ListQueryDto, PageOf, SortedBy } from '#platform/paging';

export class SpanStatusDto {
  @ApiProperty({ enum: ['unset', 'ok', 'error'] })
  code!: string;
  message!: string | null;
}

class WithAttributesDto {
  @AnyJsonObject({ description: 'Attributes as sent.' })
  attributes!: unknown;
  /** Number of attributes that were dropped by the sender, or by the service beyond its limit. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  dropped_attributes_count!: number;
}

export class SpanEventDto extends WithAttributesDto {
  name!: string;
  /** Time with nanoseconds. */
  @ApiProperty({ format: 'date-time' })
  timestamp!: string;
}

/** A link to another span. */
export class SpanLinkDto extends WithAttributesDto {
  trace_id!: string | null;
  span_id!: string | null;
  /** W3C tracestate. */
  trace_state!: string;
}

/** The entity that produced a span. */
export class SpanResourceDto extends WithAttributesDto {
  schema_url!: string;
}

/** The instrumentation library of a span. */
export class SpanScopeDto extends WithAttributesDto {
  name!: string;
  version!: string;
  schema_url!: string;
}

@SortedBy('started_at')
export class SpanListQueryDto extends OmitType(ListQueryDto, ['since', 'until']) {}

/** A span without its attributes, events and links. */
export class SpanHeadDto {
  /** 16 lower-case hexadecimal digits. */
  span_id!: string;
  /** Null for a root. */
  parent_span_id!: string | null;
  name!: string;
  @ApiProperty({ enum: ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] })
  kind!: string;
  status!: SpanStatusDto;
  started_at!: Date;
  ended_at!: Date;
  /** Whether the sender sent no start. `started_at` is then the end, else the time of arrival. */
  start_unknown!: boolean;
  @ApiProperty({ type: 'number', minimum: 0 })
  duration_ms!: number;
  /** Number of attributes that were dropped by the sender, or by the service beyond its limit. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  dropped_attributes_count!: number;
  /** Number of dropped events. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  dropped_events_count!: number;
  /** Number of dropped links. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  dropped_links_count!: number;
}

/** A span as sent. */
export class SpanDto extends SpanHeadDto {
  @AnyJsonObject({ description: 'Attributes as sent.' })
  attributes!: unknown;
  @ApiProperty({ type: [SpanEventDto] })
  events!: unknown;
  @ApiProperty({ type: [SpanLinkDto] })
  links!: unknown;
  @ApiProperty({ type: SpanResourceDto })
  resource!: unknown;
  @ApiProperty({ type: SpanScopeDto })
  scope!: unknown;
}

export class SpanPageDto extends PageOf(SpanDto) {}

/** Fields that the service reads from a span's attributes. Null if the attributes have no such field. */
export class SpanMeaningDto {
  /** Kind of step, as the instrumentation names it: `chat`, `execute_tool`, `LLM`. */
  operation!: string | null;
  provider!: string | null;
  /** The model that responded, else the requested one. */
  model!: string | null;
  agent_name!: string | null;
  tool_name!: string | null;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  input_tokens!: number | null;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  output_tokens!: number | null;
  /** Input tokens read from a cache. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  cached_input_tokens!: number | null;
  /** Input tokens written to a cache. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  cache_write_tokens!: number | null;
  /** Output tokens used for reasoning. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  reasoning_tokens!: number | null;
  /** Time until the first part of a streamed answer. */
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  time_to_first_token_ms!: number | null;
  /** Cost in US dollars: as reported by the span, else computed from its tokens and the price of the model. */
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  cost_usd!: number | null;
}

/** A span as sent, with the fields that the service reads from its attributes. */
export class TelemetrySpanDto extends IntersectionType(SpanDto, SpanMeaningDto) {}

export class TelemetrySpanPageDto extends PageOf(TelemetrySpanDto) {}

export const SPAN_FORMATS = ['jsonl'] as const;

export class SpanExportQueryDto {
  /** JSON Lines: one span per line. */
  @IsOptional()
  @IsOneOf(SPAN_FORMATS, { required: false, default: 'jsonl' })
  format?: (typeof SPAN_FORMATS)[number];
}

/** A span as the repository reads it, without attributes, events and links. */
export type SpanHead = SpanHeadDto & SpanMeaningDto;

/** A span as the repository reads it. */
export type SpanRow = TelemetrySpanDto & { trace_id: string };

export const toTelemetrySpanDto = viewOf(TelemetrySpanDto);

export const toSpanDto = viewOf(SpanDto);

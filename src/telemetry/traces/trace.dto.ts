import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { AnyJson } from '#platform/http';
import { PageMetaDto } from '#platform/paging';
import type { RawJson } from '#platform/json';
import { type SpanHead, SpanHeadDto, SpanMeaningDto } from './span.dto';
import { inTreeOrder } from './span-tree';
import { TRACE_STATUSES } from './trace-stats.types';

/** The members of a trace in every list. */
export class TraceFiguresDto {
  /** 32 lower-case hexadecimal digits. */
  trace_id!: string;
  /** Name of the root span; null until that arrives. */
  root_name!: string | null;
  started_at!: Date;
  /** From the first start to the last end. */
  @ApiProperty({ type: 'number', minimum: 0 })
  duration_ms!: number;
  @ApiProperty({ type: 'integer', minimum: 1 })
  span_count!: number;
  /** Spans whose status is an error. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  error_count!: number;
  /** Of all model calls together; null where no span reports them. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  input_tokens!: number | null;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  output_tokens!: number | null;
  /**
   * US dollars: the cost that model calls report, else their tokens by the price table; null where the cost of a call is
   * unknown and the root does not report the cost of all.
   */
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  cost_usd!: number | null;
  models!: string[];
  session_id!: string | null;
  service_name!: string | null;
}

export class TraceDto extends TraceFiguresDto {
  /** The last end. */
  ended_at!: Date;
  /** `error` where at least one span is an error. */
  @ApiProperty({ enum: TRACE_STATUSES })
  status!: string;
}

/** A span in the tree of its trace. */
export class TreeSpanDto extends IntersectionType(SpanHeadDto, SpanMeaningDto) {
  /** Depth in the tree: 0 at the top, and for a span whose parent is missing. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  depth!: number;
}

/** A whole trace. */
export class TraceTreeDto extends TraceDto {
  @AnyJson({ description: 'Input of the root span; null where it has none.' })
  input!: unknown;
  @AnyJson({ description: 'Output of the root span; null where it has none.' })
  output!: unknown;
  /** Bytes of input and output as JSON. Both are null where that is more than 8 MiB. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  content_size!: number;
  /** In the order of the tree: each span before its children, and children by start. */
  spans!: TreeSpanDto[];
  /** The trace has more spans than these first ones by start; `span_count` is their number. */
  is_truncated!: boolean;
}

export class TracePageDto {
  items!: TraceDto[];
  page!: PageMetaDto;
}

/** A trace as it is read, without input and output. */
export type TraceSummary = Omit<TraceDto, 'status'>;

/** A trace as it is read. */
export interface TraceRow extends TraceSummary {
  /** Both are null where the root has none, or where they are more than the reader's limit. */
  input: RawJson | null;
  output: RawJson | null;
  /** Bytes of both as JSON. */
  content_size: number;
}

/** A trace and its first spans, by start, from one snapshot. */
export interface TraceTree {
  trace: TraceRow;
  spans: SpanHead[];
}

export const toTraceFigures = (trace: TraceSummary): TraceFiguresDto => ({
  trace_id: trace.trace_id,
  root_name: trace.root_name,
  started_at: trace.started_at,
  duration_ms: trace.duration_ms,
  span_count: trace.span_count,
  error_count: trace.error_count,
  input_tokens: trace.input_tokens,
  output_tokens: trace.output_tokens,
  cost_usd: trace.cost_usd,
  models: trace.models,
  session_id: trace.session_id,
  service_name: trace.service_name,
});

export const toTraceDto = (trace: TraceSummary): TraceDto => ({
  ...toTraceFigures(trace),
  ended_at: trace.ended_at,
  status: trace.error_count > 0 ? 'error' : 'ok',
});

export const toTraceTreeDto = ({ trace, spans }: TraceTree): TraceTreeDto => ({
  ...toTraceDto(trace),
  input: trace.input,
  output: trace.output,
  content_size: trace.content_size,
  spans: inTreeOrder(spans),
  is_truncated: spans.length < trace.span_count,
});

/** The invalid items of an export, which were not stored. */
export class ExportTracePartialSuccessDto {
  /** Spans that were not stored because they are invalid. A 64-bit integer, as text. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedSpans!: string;

  /** The reasons. */
  errorMessage!: string;
}

/** The response to an export: ExportTraceServiceResponse of OTLP, in the encoding of the request. */
export class ExportTraceResponseDto {
  /** Only present where items were invalid. */
  partialSuccess?: ExportTracePartialSuccessDto;
}

import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { AnyJson, viewOf } from '#platform/http';
import { PageOf } from '#platform/paging';
import type { RawJson } from '#platform/json';
import { type SpanHead, SpanHeadDto, SpanMeaningDto } from './span.dto';
import { sortInTreeOrder } from './span-tree';
import type { TraceScore } from './trace-scores';
import { TRACE_STATUSES } from './trace-stats.types';

/** The members of a trace in every list. */
export class BaseTraceDto {
  /** 32 lower-case hexadecimal digits. */
  trace_id!: string;
  /** Name of the root span; null until it arrives. */
  root_name!: string | null;
  started_at!: Date;
  /** Time from the first start to the last end of its spans. */
  @ApiProperty({ type: 'number', minimum: 0 })
  duration_ms!: number;
  @ApiProperty({ type: 'integer', minimum: 1 })
  span_count!: number;
  /** Number of spans with an error. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  error_count!: number;
  /** Sum over the innermost spans that report input tokens; null if none does. Includes tokens of the provider's cache. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  input_tokens!: number | null;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  output_tokens!: number | null;
  /**
   * Cost in US dollars: sum over the innermost spans that report a cost, or whose model has a price. Null if the cost of a call
   * is unknown and the root span does not report the total.
   */
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  cost_usd!: number | null;
  models!: string[];
  session_id!: string | null;
  service_name!: string | null;
  user_id!: string | null;
  /** Deployment environment, such as `production`. */
  environment!: string | null;
  /** Tags of all spans, the first 100 by name. */
  tags!: string[];
  prompt_name!: string | null;
  prompt_version!: string | null;
  /** The first 200 characters of the input: of its first user message if it has messages. */
  input_preview!: string | null;
  /** The first 200 characters of the output. */
  output_preview!: string | null;
}

export class TraceDto extends BaseTraceDto {
  /** `gen_ai.agent.version` of an agent's span, else `service.version`. */
  agent_version!: string | null;
  /** When the last of its spans ended. */
  ended_at!: Date;
  /** Number of values in its spans that were masked, by the rules of the workspace. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  masked_count!: number;
  /** `error` if at least one span has an error. */
  @ApiProperty({ enum: TRACE_STATUSES })
  status!: string;
}

/** A current score of a trace, or of a result that references it. */
export class TraceScoreDto {
  scorer_name!: string;
  /** Null if no scorer has the name. */
  scorer_id!: string | null;
  /** Null if the version is unknown. */
  @ApiProperty({ type: 'integer', nullable: true })
  scorer_version!: number | null;
  /** `client`, `hosted`, `human` or `end_user`. */
  source!: string;
  /** Null if the scorer deliberately gave no score. */
  score!: number | null;
  label!: string | null;
  author!: string | null;
  /** `trace`, or `result` for a result that references the trace. */
  target_kind!: string;
  /** The experiment of the scored result. */
  experiment_id!: string | null;
  /** The scored result. */
  result_id!: string | null;
  score_id!: string;
  created_at!: Date;
}

/** A trace with its scores. */
export class ScoredTraceDto extends TraceDto {
  /**
   * The newest 100 current scores of the trace, newest first. Includes scores of results that reference the trace, under scorer
   * names that no score of the trace itself has.
   */
  scores!: TraceScoreDto[];
}

/** A span in the tree of its trace. */
export class TreeSpanDto extends IntersectionType(SpanHeadDto, SpanMeaningDto) {
  /** Depth in the tree: 0 at the top, and for a span whose parent is missing. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  depth!: number;
}

/** A trace with its input, output and span tree. */
export class TraceTreeDto extends ScoredTraceDto {
  @AnyJson({ description: 'Input of the root span; null if it has none.' })
  input!: unknown;
  @AnyJson({ description: 'Output of the root span; null if it has none.' })
  output!: unknown;
  /** Size of input and output as JSON, in bytes. If it exceeds 8 MiB, both are null. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  content_size!: number;
  /** Spans in tree order: each before its children, and children by start. */
  spans!: TreeSpanDto[];
  /** Whether the trace has more spans. `spans` contains the first by start; `span_count` is the total. */
  is_truncated!: boolean;
}

export class ScoredTracePageDto extends PageOf(ScoredTraceDto) {}

/** A trace as the repository reads it, without input and output. */
export type TraceSummary = Omit<TraceDto, 'status'>;

/** The tokens and the cost of a trace. */
export type TraceUsage = Pick<TraceSummary, 'trace_id' | 'input_tokens' | 'output_tokens' | 'cost_usd'>;

/** A trace as the repository reads it. */
export interface TraceRow extends TraceSummary {
  /** Input and output are null if the root span has none, or if they exceed the reader's limit. */
  input: RawJson | null;
  output: RawJson | null;
  /** Size of both as JSON, in bytes. */
  content_size: number;
}

/** A trace and its first spans by start, read from one snapshot. */
export interface TraceTree {
  trace: TraceRow;
  scores: TraceScore[];
  spans: SpanHead[];
}

export const toBaseTraceDto = viewOf(BaseTraceDto);

export const toTraceDto = viewOf(TraceDto, (trace: TraceSummary) => ({
  status: trace.error_count > 0 ? 'error' : 'ok',
}));

export const toScoredTraceDto = (
  trace: TraceSummary,
  scores: readonly TraceScore[] = [],
): ScoredTraceDto => ({ ...toTraceDto(trace), scores: scores.map((score) => ({ ...score })) });

export const toTraceTreeDto = ({ trace, scores, spans }: TraceTree): TraceTreeDto => ({
  ...toScoredTraceDto(trace, scores),
  input: trace.input,
  output: trace.output,
  content_size: trace.content_size,
  spans: sortInTreeOrder(spans),
  is_truncated: spans.length < trace.span_count,
});

/** The invalid records of an export, which are not stored. */
export class ExportTracePartialSuccessDto {
  /** Number of invalid spans: a 64-bit integer as a string. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedSpans!: string;

  /** Why records are invalid, and warnings about records that are stored. */
  errorMessage!: string;
}

/** The response to an export: ExportTraceServiceResponse of OTLP, in the encoding of the request. */
export class ExportTraceResponseDto {
  /** Present only if records are invalid or there are warnings. */
  partialSuccess?: ExportTracePartialSuccessDto;
}

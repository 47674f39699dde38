import type { SpanRow, TraceSummary } from '../../telemetry';
import type { ExperimentTraceDto, SpanDto } from './experiment-trace.dto';
import type { TraceNaming } from './experiment-trace.repository';

/** @param naming the result that carries the trace's id; null where none does. */
export const toExperimentTraceDto = (
  trace: TraceSummary,
  naming: TraceNaming | null,
): ExperimentTraceDto => ({
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
  result_id: naming?.result_id ?? null,
  case_id: naming?.case_id ?? null,
  service_name: trace.service_name,
});

export const toSpanDto = (span: SpanRow): SpanDto => ({
  span_id: span.span_id,
  parent_span_id: span.parent_span_id,
  name: span.name,
  kind: span.kind,
  status: span.status,
  started_at: span.started_at,
  ended_at: span.ended_at,
  duration_ms: span.duration_ms,
  attributes: span.attributes,
  events: span.events,
  links: span.links,
  resource: span.resource,
  scope: span.scope,
});

import { type SpanRow, toTraceFigures, type TraceSummary } from '../../telemetry';
import type { ExperimentTraceDto, SpanDto } from './experiment-trace.dto';
import type { TraceNaming } from './experiment-trace.repository';

/** @param naming the result that carries the trace's id; null where none does. */
export const toExperimentTraceDto = (
  trace: TraceSummary,
  naming: TraceNaming | null,
): ExperimentTraceDto => ({
  ...toTraceFigures(trace),
  result_id: naming?.result_id ?? null,
  case_id: naming?.case_id ?? null,
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

import type { TraceSummary } from '../trace-store';
import type { TraceTree } from '../trace-tree';
import { toTreeSpanDto } from './span.mapper';
import { inTreeOrder } from './span-tree';
import type { TraceDto, TraceFiguresDto, TraceTreeDto } from './trace.dto';

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
  spans: inTreeOrder(spans).map(toTreeSpanDto),
  is_truncated: spans.length < trace.span_count,
});

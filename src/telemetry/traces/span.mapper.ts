import type { SpanRow } from '../trace-store';
import type { SpanHead, SpanMeaningRow } from '../trace-tree';
import type { SpanDto, SpanHeadDto, SpanMeaningDto, TelemetrySpanDto } from './span.dto';
import type { TreeSpanDto } from './trace.dto';

const toSpanHead = (span: Omit<SpanHead, keyof SpanMeaningRow>): SpanHeadDto => ({
  span_id: span.span_id,
  parent_span_id: span.parent_span_id,
  name: span.name,
  kind: span.kind,
  status: span.status,
  started_at: span.started_at,
  ended_at: span.ended_at,
  duration_ms: span.duration_ms,
});

const toSpanMeaning = (span: SpanMeaningRow): SpanMeaningDto => ({
  operation: span.operation,
  provider: span.provider,
  model: span.model,
  agent_name: span.agent_name,
  tool_name: span.tool_name,
  input_tokens: span.input_tokens,
  output_tokens: span.output_tokens,
  cached_input_tokens: span.cached_input_tokens,
  reasoning_tokens: span.reasoning_tokens,
  cost_usd: span.cost_usd,
});

export const toSpanDto = (span: SpanRow): SpanDto => ({
  ...toSpanHead(span),
  attributes: span.attributes,
  events: span.events,
  links: span.links,
  resource: span.resource,
  scope: span.scope,
});

export const toTelemetrySpanDto = (span: SpanRow): TelemetrySpanDto => ({
  ...toSpanDto(span),
  ...toSpanMeaning(span),
});

export const toTreeSpanDto = (span: SpanHead & { depth: number }): TreeSpanDto => ({
  depth: span.depth,
  ...toSpanHead(span),
  ...toSpanMeaning(span),
});

import type { TraceRow, TraceSpan } from '../../telemetry';
import { jsonSize, type Room } from './subject-room';

/** What a scorer always sees of a trace. */
export const totalsOf = (trace: TraceRow) => ({
  trace_id: trace.trace_id,
  root_name: trace.root_name,
  started_at: trace.started_at,
  ended_at: trace.ended_at,
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

/** A trace's content has not been read, because it was known to be too large. */
export const isUnread = ({ input, output, content_size }: TraceRow): boolean =>
  content_size > 0 && input === null && output === null;

/** A span without what clients wrote into it. */
const bareSpan = (span: TraceSpan) => ({
  span_id: span.span_id,
  parent_span_id: span.parent_span_id,
  name: span.name,
  kind: span.kind,
  status: span.status,
  started_at: span.started_at,
  ended_at: span.ended_at,
  duration_ms: span.duration_ms,
  attributes: {} as unknown,
  events: [] as unknown,
  links: [] as unknown,
  is_truncated: true,
});

/**
 * Spans as a scorer sees them: as many as there is room for, and as many of those as there is room for with their
 * content. The others say of themselves that they are cut, and stand in their places.
 */
export function spanViews(spans: readonly TraceSpan[], room: Room): SpanView[] {
  const shown = room.first(spans.map(bareSpan), jsonSize);
  return shown.map((view, index) => {
    const { attributes, events, links, content_size } = spans[index]!;
    const isShown = attributes !== null && room.take(content_size);
    return isShown ? { ...view, attributes, events, links, is_truncated: false } : view;
  });
}

type SpanView = ReturnType<typeof bareSpan>;

export interface ShownSpans {
  views: SpanView[];
  /** Some are left out, or without their content. */
  isCut: boolean;
}

/** A trace as a scorer sees it: its totals, its spans where they are shown, and its content where there is room. */
export function traceView(trace: TraceRow, spans: ShownSpans | undefined, room: Room): object {
  const isShown = !isUnread(trace) && room.take(trace.content_size);
  return {
    ...totalsOf(trace),
    input: isShown ? trace.input : null,
    output: isShown ? trace.output : null,
    ...(spans && { spans: spans.views }),
    is_truncated: !isShown || spans?.isCut === true,
  };
}

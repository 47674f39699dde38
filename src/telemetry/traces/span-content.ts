import type { OtlpAttributes } from '#otlp';
import { TimeSlice } from '#platform/concurrency';
import { RawJson } from '#platform/json';
import { readSpanContent, type SpanContent } from '../span-mapping/span-meaning.reader';
import type { MeaningfulEvent } from '../span-mapping/span-meaning.types';
import type { LoggedEvent } from './message-log.repository';
import type { LocatedTrace, StoredSpan, TraceSpan } from './trace.types';

const NO_RESOURCE = { attributes: {} };

/** Adds input and output to spans, read from their attributes and events. */
export async function withContent(spans: readonly StoredSpan[]): Promise<TraceSpan[]> {
  const slice = new TimeSlice();
  const result: TraceSpan[] = [];
  for (const span of spans) {
    if (slice.isOver()) await slice.yield();
    result.push({ ...span, ...textsOf(contentOf(span)) });
  }
  return result;
}

function contentOf({ attributes, events }: StoredSpan): SpanContent {
  if (attributes === null) return { input: null, output: null };
  return readSpanContent({
    attributes: attributes.parse() as OtlpAttributes,
    events: (events?.parse() ?? []) as MeaningfulEvent[],
    resource: NO_RESOURCE,
  });
}

const textsOf = ({ input, output }: SpanContent): Pick<TraceSpan, 'input' | 'output'> => ({
  input: input === null ? null : new RawJson(JSON.stringify(input)),
  output: output === null ? null : new RawJson(JSON.stringify(output)),
});

/** Returns the traces with a model call without messages, or without any model call: their messages may be in log records. */
export function tracesWithoutMessages(
  spans: readonly TraceSpan[],
  traces: readonly LocatedTrace[],
): LocatedTrace[] {
  return traces.filter(({ trace_id }) => {
    const calls = spans.filter((span) => span.trace_id === trace_id && mayBeCall(span));
    return calls.length === 0 || calls.some(({ input, output }) => input === null || output === null);
  });
}

/** Returns whether a span may be a model call. Instrumentations send an operation, provider or model for every call. */
export const mayBeCall = ({ operation, provider, model, tool_name }: TraceSpan): boolean =>
  tool_name === null && (operation ?? provider ?? model) !== null;

/**
 * Adds the input and output from log records to the spans that have none. A record that names none of a trace's calls belongs
 * to its first call, so that reading only the calls finds the same messages. Without calls, it belongs to the first span.
 */
export function withLoggedContent(spans: readonly TraceSpan[], events: readonly LoggedEvent[]): TraceSpan[] {
  if (events.length === 0) return [...spans];
  const keyOf = (traceId: string, spanId: string): string => `${traceId} ${spanId}`;
  const withCalls = new Set(spans.filter(mayBeCall).map(({ trace_id }) => trace_id));
  const firstOf = new Map<string, string>();
  const eventsOf = new Map<string, LoggedEvent[]>();
  for (const span of spans) {
    const { trace_id, span_id } = span;
    if (withCalls.has(trace_id) && !mayBeCall(span)) continue;
    eventsOf.set(keyOf(trace_id, span_id), []);
    if (!firstOf.has(trace_id)) firstOf.set(trace_id, span_id);
  }
  for (const event of events) {
    const own = eventsOf.get(keyOf(event.trace_id, event.span_id ?? ''));
    (own ?? eventsOf.get(keyOf(event.trace_id, firstOf.get(event.trace_id) ?? '')))?.push(event);
  }
  return spans.map((span) => {
    const ofSpan = eventsOf.get(keyOf(span.trace_id, span.span_id)) ?? [];
    if (ofSpan.length === 0) return span;
    const logged = textsOf(readSpanContent({ attributes: {}, events: ofSpan, resource: NO_RESOURCE }));
    return { ...span, input: span.input ?? logged.input, output: span.output ?? logged.output };
  });
}

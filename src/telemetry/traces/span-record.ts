import type { OtlpEvent, OtlpLink, OtlpSpan } from '#otlp';
import type { Pace } from '#platform/turns';
import { costOfSpan, type PriceTable } from '../semantics/model-price';
import { readSpanFigures } from '../semantics/span-meaning.reader';
import { type Source, SourceReader } from '../sources/source-record';
import type { SpanBatch } from '../trace-store';
import { repeatsUsage } from './usage-level';

/** A span as it is stored, with what its trace needs to know of it. */
export interface SpanRecord {
  workspaceId: string;
  span: OtlpSpan;
  source: Source;
  /** Microseconds since 1970; what OTLP has beyond them is cut off. */
  startedAt: bigint;
  endedAt: bigint;
  operation: string | null;
  provider: string | null;
  model: string | null;
  agentName: string | null;
  toolName: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  cachedInputTokens: number | null;
  reasoningTokens: number | null;
  costUsd: number | null;
  /** The cost that the span tells itself, rather than one that is reckoned from its tokens. */
  toldCostUsd: number | null;
  /** Its tokens and cost are the sum of those of the spans below it. */
  repeatsUsage: boolean;
  sessionId: string | null;
  serviceName: string | null;
}

/**
 * Spans as they are to be stored together: trace by trace in the order of the traces' keys, in which all writers take
 * their locks, and of a span that was sent twice the first.
 */
export async function toSpanRecords(
  batches: readonly SpanBatch[],
  prices: PriceTable,
  pace: Pace,
): Promise<SpanRecord[]> {
  const traces = new Map<string, Map<string, SpanRecord>>();
  const sources = new SourceReader();
  for (const { scope, spans } of batches) {
    const { workspaceId } = scope;
    let traceId: string | undefined;
    let ofTrace = new Map<string, SpanRecord>();
    for (const span of spans) {
      if (pace.isDue()) await pace.rest();
      if (span.traceId !== traceId) {
        traceId = span.traceId;
        const key = traceKey(workspaceId, traceId);
        ofTrace = traces.get(key) ?? new Map<string, SpanRecord>();
        traces.set(key, ofTrace);
      }
      if (!ofTrace.has(span.spanId)) {
        ofTrace.set(span.spanId, toSpanRecord(workspaceId, span, prices, sources.sourceOf(span)));
      }
    }
  }
  return [...traces]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, spans]) => [...spans.values()]);
}

/** Both, as one text that sorts like the pair. */
export const traceKey = (workspaceId: string, traceId: string): string => `${workspaceId} ${traceId}`;

/** The 64 bits of a span's id, as PostgreSQL keeps them. */
export const bitsOf = (spanId: string): bigint => BigInt.asIntN(64, BigInt(`0x${spanId}`));

function toSpanRecord(workspaceId: string, span: OtlpSpan, prices: PriceTable, source: Source): SpanRecord {
  const figures = readSpanFigures(span);
  const startedAt = microseconds(span.startTimeUnixNano);
  return {
    workspaceId,
    span,
    source,
    startedAt,
    // 0 is an end that was not sent
    endedAt: span.endTimeUnixNano === 0n ? startedAt : microseconds(span.endTimeUnixNano),
    operation: figures.operation,
    provider: figures.provider,
    model: figures.model,
    agentName: figures.agentName,
    toolName: figures.toolName,
    inputTokens: figures.inputTokens,
    outputTokens: figures.outputTokens,
    cachedInputTokens: figures.cachedInputTokens,
    reasoningTokens: figures.reasoningTokens,
    costUsd: costOfSpan(figures, prices),
    toldCostUsd: figures.costUsd,
    repeatsUsage: repeatsUsage(figures.operation),
    sessionId: figures.sessionId,
    serviceName: figures.serviceName,
  };
}

/** What OTLP has beyond them is cut off. */
export const microseconds = (nanoseconds: bigint): bigint => nanoseconds / 1000n;

/** JSON text of a span's events; null for none. */
export const eventsJson = (events: readonly OtlpEvent[]): string | null =>
  events.length === 0
    ? null
    : JSON.stringify(
        events.map((event) => ({
          name: event.name,
          timestamp: nanosecondTime(event.timeUnixNano),
          attributes: event.attributes,
          dropped_attributes_count: event.droppedAttributesCount,
        })),
      );

/** JSON text of a span's links; null for none. */
export const linksJson = (links: readonly OtlpLink[]): string | null =>
  links.length === 0
    ? null
    : JSON.stringify(
        links.map((link) => ({
          trace_id: link.traceId,
          span_id: link.spanId,
          trace_state: link.traceState,
          attributes: link.attributes,
          dropped_attributes_count: link.droppedAttributesCount,
        })),
      );

/** RFC 3339 with all of OTLP's nine decimals. */
export function nanosecondTime(nanoseconds: bigint): string {
  const seconds = new Date(Number(nanoseconds / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(nanoseconds % 1_000_000_000n).padStart(9, '0')}Z`;
}

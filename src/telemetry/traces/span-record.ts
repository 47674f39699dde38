import type { OtlpEvent, OtlpLink, OtlpSpan } from '#otlp';
import type { Scope } from '#platform/auth';
import { Pace } from '#platform/concurrency';
import type { ModelPrices } from '../span-mapping/model-prices';
import { readSpanFigures, type SpanFigures } from '../span-mapping/span-meaning.reader';
import { type Source, SourceCache } from '../sources/source-record';
import type { SpanBatch } from './trace.types';

/** A span to store, with the fields that its trace aggregates. */
export interface SpanRecord {
  /** Who sent it. */
  scope: Scope;
  workspaceId: string;
  span: OtlpSpan;
  source: Source;
  /** Microseconds since 1970, rounded down. */
  startedAt: bigint;
  endedAt: bigint;
  figures: SpanFigures;
  /** The cost that the span reports, else the price of its tokens. */
  costUsd: number | null;
  /** Its tokens and cost are the sum over the spans below it. */
  repeatsUsage: boolean;
  /** Its content as JSON texts; null for none. Prepared beforehand because building a statement cannot pause. */
  content: { attributes: string; events: string | null; links: string | null };
}

/**
 * Prepares spans to be stored together: sorted by the key of their trace, which is the order in which all writers lock
 * traces. If a span was sent twice, the first one is kept.
 */
export async function toSpanRecords(
  batches: readonly SpanBatch[],
  prices: ModelPrices,
): Promise<SpanRecord[]> {
  const pace = new Pace();
  const traces = new Map<string, Map<string, SpanRecord>>();
  const sources = new SourceCache();
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
        ofTrace.set(span.spanId, toSpanRecord(scope, span, prices, sources.sourceOf(span)));
      }
    }
  }
  return [...traces]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, spans]) => [...spans.values()]);
}

/** Returns a text that sorts like the pair of ids. */
export const traceKey = (workspaceId: string, traceId: string): string => `${workspaceId} ${traceId}`;

/** Converts a span's id into the 64-bit integer that PostgreSQL stores. */
export const bitsOf = (spanId: string): bigint => BigInt.asIntN(64, BigInt(`0x${spanId}`));

function toSpanRecord(scope: Scope, span: OtlpSpan, prices: ModelPrices, source: Source): SpanRecord {
  const figures = readSpanFigures(span);
  const startedAt = microseconds(span.startTimeUnixNano);
  return {
    scope,
    workspaceId: scope.workspaceId,
    span,
    source,
    startedAt,
    // 0 if no end was sent
    endedAt: span.endTimeUnixNano === 0n ? startedAt : microseconds(span.endTimeUnixNano),
    figures,
    costUsd: figures.costUsd ?? prices.costOf(figures, timeOf(startedAt)),
    repeatsUsage: repeatsUsage(figures.operation),
    content: {
      attributes: JSON.stringify(span.attributes),
      events: eventsJson(span.events),
      links: linksJson(span.links),
    },
  };
}

const timeOf = (us: bigint): Date => new Date(Number(us / 1000n));

const microseconds = (nanoseconds: bigint): bigint => nanoseconds / 1000n;

/** Converts a time to microseconds, rounded down; null for 0, which is an unknown time in OTLP. */
export const sentTime = (nanoseconds: bigint): bigint | null =>
  nanoseconds === 0n ? null : microseconds(nanoseconds);

/** Returns a span's events as JSON; null for none. */
const eventsJson = (events: readonly OtlpEvent[]): string | null =>
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

/** Returns a span's links as JSON; null for none. */
const linksJson = (links: readonly OtlpLink[]): string | null =>
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

/** Formats a time as RFC 3339 with nine decimals. */
export function nanosecondTime(nanoseconds: bigint): string {
  const seconds = new Date(Number(nanoseconds / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(nanoseconds % 1_000_000_000n).padStart(9, '0')}Z`;
}

/**
 * Operations that consist of model calls rather than being one, as the conventions name them, in lower case.
 * Instrumentations report the summed usage of the calls below on such a span, so adding both would count it twice.
 */
const STEPS_OF_CALLS = new Set([
  // gen_ai.operation.name
  'invoke_agent',
  'create_agent',
  'invoke_workflow',
  'handle_conversation_turn',
  // openinference.span.kind
  'agent',
  'chain',
  // traceloop.span.kind, besides agent
  'workflow',
  'task',
  // ai.operationId; the calls are ai.generateText.doGenerate and the like
  'ai.generatetext',
  'ai.streamtext',
  'ai.generateobject',
  'ai.streamobject',
  'ai.embed',
  'ai.embedmany',
]);

/** Whether a span of this operation repeats the tokens and cost of the model calls below it. */
export const repeatsUsage = (operation: string | null): boolean =>
  operation !== null && STEPS_OF_CALLS.has(operation.toLowerCase());

import type { OtlpEvent, OtlpLink, OtlpSpan } from '#otlp';
import type { Scope } from '#platform/auth';
import { TimeSlice } from '#platform/concurrency';
import { type EvaluationEvent, scoresInSpan } from '../evaluation-events/evaluation-event';
import type { RecordMasker } from '../masking/record-masker';
import { NAME_MAX } from '../span-mapping/field.parser';
import { previewOf } from '../span-mapping/content-preview';
import { AGENT_VERSION } from '../span-mapping/meaning.table';
import type { ModelPrices } from '../span-mapping/model-prices';
import { readSpanContent, readSpanFields, type SpanFields } from '../span-mapping/span-meaning.reader';
import { type Source, SourceCache } from '../sources/source-record';

/** A span without its content. */
export type SpanHeader = Omit<
  OtlpSpan,
  'attributes' | 'events' | 'links' | 'resource' | 'scope' | 'traceState' | 'flags' | 'endTimeUnixNano'
>;

/** The parts of a root span that its trace returns. */
export interface RootView {
  name: string;
  /** JSON texts; null if the span has none. */
  input: string | null;
  output: string | null;
  /** Their first characters as readable text; null if the span has none. */
  inputPreview: string | null;
  outputPreview: string | null;
  /** The cost that the span reports for the calls below it; null if it reports none or is itself a call. */
  costUsd: number | null;
}

/**
 * A span to store, with the fields that its trace aggregates. It does not hold the decoded attributes, which take several times
 * as much memory as all the rest.
 */
export interface SpanRecord {
  workspaceId: string;
  span: SpanHeader;
  source: Source;
  /** Microseconds since 1970, rounded down. */
  startedAt: bigint;
  endedAt: bigint;
  /** Whether the sender sent no start. */
  startUnknown: boolean;
  fields: SpanFields;
  /** The cost that the span reports, else the price of its tokens. */
  costUsd: number | null;
  /** The requested model of a call that failed; null if a model answered. */
  requestedModel: string | null;
  /** Whether the span is a step of the work (an agent, a tool, a search) rather than a model call. */
  isStep: boolean;
  /** Whether the span itself names the version in `fields`, rather than its service. */
  namesVersion: boolean;
  /** Number of values that were masked. */
  maskedCount: number;
  /** Null unless the span is a root. */
  root: RootView | null;
  /** The scores that the span reports. */
  scores: readonly EvaluationEvent[];
  /** The content as JSON texts; null if empty. Prepared in advance because building a statement cannot pause. */
  content: { attributes: Buffer; events: Buffer | null; links: Buffer | null };
}

/** Size of the buffers that hold the content of an export, in bytes. Smaller exports use smaller buffers. */
const SLAB_BYTES = 64 * 1024;

/**
 * Prepares the spans of one export, with pauses.
 *
 * @param bytes size of the export
 * @param masker has masked the spans; null if nothing was masked
 */
export function* toSpanRecords(
  scope: Scope,
  spans: readonly OtlpSpan[],
  bytes: number,
  prices: ModelPrices,
  masker: RecordMasker | null = null,
): Generator<void, SpanRecord[]> {
  const sources = new SourceCache();
  const texts = new TextSlab(Math.min(bytes, SLAB_BYTES));
  const records: SpanRecord[] = [];
  for (const span of spans) {
    records.push(
      toSpanRecord(scope, span, prices, sources.sourceOf(span), texts, masker?.countOf(span) ?? 0),
    );
    yield;
  }
  nameAsAnswered(records, prices);
  return records;
}

/** Names the models of calls that failed as they answer in the same trace, for example when a call was retried. */
function nameAsAnswered(records: readonly SpanRecord[], prices: ModelPrices): void {
  const failed = records.filter(({ requestedModel }) => requestedModel !== null);
  if (failed.length === 0) return;
  const answering = new Map<string, Set<string>>();
  for (const { span, fields, requestedModel } of records) {
    if (fields.model === null || requestedModel !== null) continue;
    const models = answering.get(span.traceId) ?? new Set<string>();
    answering.set(span.traceId, models);
    if (models.size < ANSWERS_MAX) models.add(fields.model);
  }
  for (const record of failed) {
    const { fields, span } = record;
    const models = [...(answering.get(span.traceId) ?? [])];
    if (models.includes(fields.model!)) continue;
    const answers = models.filter((model) => prices.mayAnswerAs(fields.model!, model));
    if (answers.length === 1) record.fields = { ...fields, model: answers[0]! };
  }
}

/** Maximum number of models of a trace that are compared. */
const ANSWERS_MAX = 100;

/**
 * Returns the spans of several exports in the order of their traces' keys, in which all writers lock traces. Of a span that was
 * sent twice, keeps the first.
 */
export async function mergeRecords(lists: readonly (readonly SpanRecord[])[]): Promise<SpanRecord[]> {
  const slice = new TimeSlice();
  const traces = new Map<string, Map<string, SpanRecord>>();
  for (const records of lists) {
    let traceId: string | undefined;
    let traceSpans = new Map<string, SpanRecord>();
    for (const record of records) {
      if (slice.isOver()) await slice.yield();
      const { span, workspaceId } = record;
      if (span.traceId !== traceId) {
        traceId = span.traceId;
        const key = traceKey(workspaceId, traceId);
        traceSpans = traces.get(key) ?? new Map<string, SpanRecord>();
        traces.set(key, traceSpans);
      }
      if (!traceSpans.has(span.spanId)) traceSpans.set(span.spanId, record);
    }
  }
  return [...traces]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, spans]) => [...spans.values()]);
}

/** Returns a key that sorts like the pair of ids. */
export const traceKey = (workspaceId: string, traceId: string): string => `${workspaceId} ${traceId}`;

/** Returns the key of a span in all workspaces. */
export const spanKey = ({ workspaceId, span }: SpanRecord): string =>
  `${traceKey(workspaceId, span.traceId)} ${span.spanId}`;

/** Converts a span id to the 64-bit integer that PostgreSQL stores. */
export const bitsOf = (spanId: string): bigint => BigInt.asIntN(64, BigInt(`0x${spanId}`));

function toSpanRecord(
  scope: Scope,
  span: OtlpSpan,
  prices: ModelPrices,
  source: Source,
  texts: TextSlab,
  maskedCount: number,
): SpanRecord {
  const read = readSpanFields(span);
  const fields = namedAsRequested(span, read, prices);
  const startTimeUnixNano = span.startTimeUnixNano || span.endTimeUnixNano || BigInt(Date.now()) * 1_000_000n;
  const startedAt = microseconds(startTimeUnixNano);
  const costUsd = fields.costUsd ?? prices.costOf(fields, timeOf(startedAt));
  const isStep = !isModelCall(fields);
  const { traceId, spanId, parentSpanId, name, kind, status } = span;
  const { droppedAttributesCount, droppedEventsCount, droppedLinksCount } = span;
  return {
    workspaceId: scope.workspaceId,
    span: {
      traceId,
      spanId,
      parentSpanId,
      name,
      kind,
      status,
      startTimeUnixNano,
      droppedAttributesCount,
      droppedEventsCount,
      droppedLinksCount,
    },
    source,
    startedAt,
    // 0, which is 1970, if the sender sent none
    startUnknown: span.startTimeUnixNano === 0n,
    endedAt: span.endTimeUnixNano === 0n ? startedAt : microseconds(span.endTimeUnixNano),
    fields,
    requestedModel: isUnanswered(span) ? read.model : null,
    costUsd,
    isStep,
    namesVersion: span.attributes[AGENT_VERSION] !== undefined,
    maskedCount,
    root: parentSpanId === null ? rootView(span, isStep ? fields.costUsd : null) : null,
    scores: scoresInSpan(scope, span),
    content: {
      attributes: texts.add(JSON.stringify(span.attributes)),
      events: span.events.length === 0 ? null : texts.add(eventsJson(span.events)),
      links: span.links.length === 0 ? null : texts.add(linksJson(span.links)),
    },
  };
}

/** Attributes with the model that answered. */
const ANSWERED_MODELS = [
  'gen_ai.response.model',
  'llm.response.model_name',
  'llm.response.model',
  'ai.response.model',
];

/** Whether the model of a span is only the requested one, because the call failed. */
const isUnanswered = ({ status, attributes }: OtlpSpan): boolean =>
  status.code === 'error' && ANSWERED_MODELS.every((name) => attributes[name] === undefined);

/** Names the model of a call that failed as the price table does, because gateways and clients name one model differently. */
function namedAsRequested(span: OtlpSpan, fields: SpanFields, prices: ModelPrices): SpanFields {
  if (fields.model === null || !isUnanswered(span)) return fields;
  return { ...fields, model: prices.requestedName(fields.model) };
}

/** Reads the parts of a root span that its trace returns. Not used for other spans, because it may parse messages. */
function rootView(span: OtlpSpan, costUsd: number | null): RootView {
  const content = readSpanContent(span);
  const input = content.input === null ? null : JSON.stringify(content.input);
  const output = content.output === null ? null : JSON.stringify(content.output);
  return {
    name: shortName(span.name),
    input,
    output,
    inputPreview: input === null ? null : previewOf(content.input, input, 'input'),
    outputPreview: output === null ? null : previewOf(content.output, output, 'output'),
    costUsd,
  };
}

/** Shortens a name, because a list shows hundreds of them. The span keeps its full name. */
const shortName = (name: string): string =>
  name.length <= NAME_MAX ? name : `${name.slice(0, NAME_MAX - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;

const timeOf = (us: bigint): Date => new Date(Number(us / 1000n));

const microseconds = (nanoseconds: bigint): bigint => nanoseconds / 1000n;

/** Converts nanoseconds to microseconds, rounded down; null for 0, which is an unknown time in OTLP. */
export const microsecondsOrNull = (nanoseconds: bigint): bigint | null =>
  nanoseconds === 0n ? null : microseconds(nanoseconds);

const eventsJson = (events: readonly OtlpEvent[]): string =>
  JSON.stringify(
    events.map((event) => ({
      name: event.name,
      timestamp: nanosecondTime(event.timeUnixNano),
      attributes: event.attributes,
      dropped_attributes_count: event.droppedAttributesCount,
    })),
  );

const linksJson = (links: readonly OtlpLink[]): string =>
  JSON.stringify(
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
 * Operations that consist of model calls instead of being one, as the conventions name them, in lower case. On such a span,
 * instrumentations report the summed usage of the calls below it, so adding both would count the usage twice.
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

/** Further operations that are not model calls, in lower case. They may consist of some. */
const OTHER_STEPS = new Set([
  // gen_ai.operation.name
  'execute_tool',
  'plan',
  'retrieval',
  'guardrail',
  // openinference.span.kind and traceloop.span.kind
  'tool',
  'retriever',
  'evaluator',
  'prompt',
  'unknown',
  'ai.toolcall',
]);

/** Operations of model calls that need not name a model, in lower case. */
export const CALL_OPERATIONS: ReadonlySet<string> = new Set([
  'chat',
  'text_completion',
  'generate_content',
  'embeddings',
  'completion',
  'embedding',
  'rerank',
  'reranker',
  'llm',
]);

/** All operations that are not model calls, in lower case. */
export const STEP_OPERATIONS: ReadonlySet<string> = new Set([...STEPS_OF_CALLS, ...OTHER_STEPS]);

/** Returns whether a span is a model call, by its operation, else because it names a model. */
export function isModelCall({ operation, model }: Pick<SpanFields, 'operation' | 'model'>): boolean {
  const name = operation?.toLowerCase() ?? '';
  if (STEP_OPERATIONS.has(name)) return false;
  return model !== null || CALL_OPERATIONS.has(name);
}

/** Returns whether a span of this operation repeats the tokens and cost of the model calls below it. */
export const repeatsUsage = (operation: string | null): boolean =>
  operation !== null && STEPS_OF_CALLS.has(operation.toLowerCase());

/** Stores texts in UTF-8 outside of the JavaScript heap, where texts that wait for a statement cost no garbage collection. */
class TextSlab {
  private buffer = Buffer.alloc(0);
  private length = 0;

  /** @param chunkBytes size of a buffer, unless a text needs more */
  constructor(private readonly chunkBytes: number) {}

  add(text: string): Buffer {
    const size = Buffer.byteLength(text);
    if (this.length + size > this.buffer.length) {
      this.buffer = Buffer.allocUnsafeSlow(Math.max(size, this.chunkBytes));
      this.length = 0;
    }
    const start = this.length;
    this.length += this.buffer.write(text, start);
    return this.buffer.subarray(start, this.length);
  }
}

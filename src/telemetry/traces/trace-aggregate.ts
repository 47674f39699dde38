import type { Pace } from '#platform/turns';
import { readSpanContent } from '../semantics/span-meaning.reader';
import { NAME_MAX } from '../semantics/figure.parser';
import type { SpanRecord } from './span-record';

/** Different models kept of a trace: the first by name. More are no trace of an agent but somebody's mistake. */
export const MODELS_MAX = 100;

/** Tokens and cost; null where no span tells them. */
export interface Usage {
  inputTokens: number | null;
  outputTokens: number | null;
  costUsd: number | null;
}

/** A value of a trace together with the key of the span it comes from: of two, the one with the lesser key holds. */
export interface FirstOf<Value> {
  key: string;
  value: Value;
}

/** What spans used, told by calls of models and, for the same calls once more, by the steps that consist of them. */
export interface UsageLevels {
  /** Added up over calls of models. */
  calls: Usage;
  /** Calls that tell tokens and have no cost: the sum over the others is not what all of them cost. */
  unpricedCount: number;
  /** The largest of those steps that repeat what calls below them used. */
  steps: Usage;
}

/** What one model used in a trace: the trace's own usage, by the model that its spans tell. */
export interface ModelUsage extends UsageLevels {
  /** Empty for spans that tell what was used, but not by which model. */
  model: string;
}

/** What is shown of a trace's root. */
export interface RootView {
  name: string;
  /** JSON texts; null where the span does not say it. */
  input: string | null;
  output: string | null;
  /** What it tells itself that the calls below it cost; null where it does not, or is no step that repeats them. */
  costUsd: number | null;
}

/**
 * What some spans add to their trace. Adding is commutative and associative, so a trace comes out the same however
 * its spans are spread over requests and in whatever order they come.
 */
export interface TraceAggregate extends UsageLevels {
  /** Steps that tell tokens and have no cost. */
  unpricedStepCount: number;
  workspaceId: string;
  traceId: string;
  /** Microseconds since 1970. */
  startedAt: bigint;
  endedAt: bigint;
  spanCount: number;
  errorCount: number;
  /** Sorted. */
  models: string[];
  /** By model, all of them. */
  usage: Map<string, ModelUsage>;
  root: FirstOf<RootView> | null;
  session: FirstOf<string> | null;
  service: FirstOf<string> | null;
}

/** Adds up spans, each given once and sorted by trace; the traces come in the same order. */
export async function aggregateTraces(records: readonly SpanRecord[], pace: Pace): Promise<TraceAggregate[]> {
  const traces: TraceAggregate[] = [];
  for (let start = 0; start < records.length;) {
    let end = start + 1;
    while (end < records.length && isOfSame(records[start]!, records[end]!)) end++;
    traces.push(await aggregateTrace(records.slice(start, end), pace));
    start = end;
  }
  return traces;
}

const isOfSame = (one: SpanRecord, other: SpanRecord): boolean =>
  one.span.traceId === other.span.traceId && one.workspaceId === other.workspaceId;

async function aggregateTrace(records: readonly SpanRecord[], pace: Pace): Promise<TraceAggregate> {
  const trace = emptyTrace(records[0]!);
  let root: SpanRecord | null = null;
  let session: SpanRecord | null = null;
  let service: SpanRecord | null = null;
  for (const record of records) {
    if (pace.isDue()) await pace.rest();
    addSpan(trace, record);
    if (isRoot(record)) root = firstOf(root, record);
    if (record.sessionId !== null) session = firstOf(session, record);
    if (record.serviceName !== null) service = firstOf(service, record);
  }
  trace.models = namedModels(trace);
  trace.root = root && { key: orderKey(root), value: rootView(root) };
  trace.session = session && { key: orderKey(session), value: session.sessionId! };
  trace.service = service && { key: orderKey(service), value: service.serviceName! };
  return trace;
}

const emptyTrace = ({ workspaceId, span, startedAt, endedAt }: SpanRecord): TraceAggregate => ({
  workspaceId,
  traceId: span.traceId,
  startedAt,
  endedAt,
  spanCount: 0,
  errorCount: 0,
  ...noUsageLevels(),
  unpricedStepCount: 0,
  models: [],
  usage: new Map(),
  root: null,
  session: null,
  service: null,
});

function addSpan(trace: TraceAggregate, record: SpanRecord): void {
  if (record.startedAt < trace.startedAt) trace.startedAt = record.startedAt;
  if (record.endedAt > trace.endedAt) trace.endedAt = record.endedAt;
  trace.spanCount += 1;
  if (record.span.status.code === 'error') trace.errorCount += 1;
  addUsage(trace, record);
  if (record.repeatsUsage && isUnpriced(record)) trace.unpricedStepCount += 1;
  addUsage(usageOf(trace, record), record);
}

/** Of a span that tells neither a model nor what it used, nothing is kept. */
function usageOf({ usage }: TraceAggregate, record: SpanRecord): ModelUsage | null {
  const { model, inputTokens, outputTokens, costUsd } = record;
  if ((model ?? inputTokens ?? outputTokens ?? costUsd) === null) return null;
  const key = model ?? '';
  let ofModel = usage.get(key);
  if (!ofModel) usage.set(key, (ofModel = { model: key, ...noUsageLevels() }));
  return ofModel;
}

const noUsage = (): Usage => ({ inputTokens: null, outputTokens: null, costUsd: null });

const noUsageLevels = (): UsageLevels => ({ calls: noUsage(), unpricedCount: 0, steps: noUsage() });

function addUsage(to: UsageLevels | null, record: SpanRecord): void {
  if (!to) return;
  if (!record.repeatsUsage && isUnpriced(record)) to.unpricedCount += 1;
  const [usage, combine] = record.repeatsUsage ? [to.steps, Math.max] : [to.calls, sum];
  usage.inputTokens = combined(usage.inputTokens, record.inputTokens, combine);
  usage.outputTokens = combined(usage.outputTokens, record.outputTokens, combine);
  usage.costUsd = combined(usage.costUsd, record.costUsd, combine);
}

const isUnpriced = ({ inputTokens, outputTokens, costUsd }: SpanRecord): boolean =>
  costUsd === null && (inputTokens ?? 0) + (outputTokens ?? 0) > 0;

const sum = (one: number, other: number): number => one + other;

const combined = (
  one: number | null,
  other: number | null,
  combine: (one: number, other: number) => number,
): number | null => (one === null ? other : other === null ? one : combine(one, other));

/** The first by name. */
const namedModels = ({ usage }: TraceAggregate): string[] =>
  [...usage.keys()]
    .filter((model) => model !== '')
    .sort()
    .slice(0, MODELS_MAX);

const isRoot = ({ span }: SpanRecord): boolean => span.parentSpanId === null;

/** The root before all others, then by start: whose names stand for the trace. */
const orderKey = (record: SpanRecord): string =>
  `${isRoot(record) ? 0 : 1}${String(record.span.startTimeUnixNano).padStart(20, '0')}${record.span.spanId}`;

/** The one with the lesser key, which is told without making the keys. */
function firstOf(known: SpanRecord | null, record: SpanRecord): SpanRecord {
  if (known === null) return record;
  if (isRoot(known) !== isRoot(record)) return isRoot(known) ? known : record;
  const [one, other] = [known.span.startTimeUnixNano, record.span.startTimeUnixNano];
  if (one !== other) return one < other ? known : record;
  return known.span.spanId <= record.span.spanId ? known : record;
}

/** Read of the root alone, because its messages may have to be parsed. */
function rootView({ span, repeatsUsage, toldCostUsd }: SpanRecord): RootView {
  const { input, output } = readSpanContent(span);
  return {
    name: shortName(span.name),
    input: input === null ? null : JSON.stringify(input),
    output: output === null ? null : JSON.stringify(output),
    costUsd: repeatsUsage ? toldCostUsd : null,
  };
}

/** A list shows hundreds of names, so the beginning has to do; the span keeps all of it. */
const shortName = (name: string): string =>
  name.length <= NAME_MAX ? name : `${name.slice(0, NAME_MAX - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;

import { TimeSlice } from '#platform/concurrency';
import { TAGS_MAX } from '../span-mapping/field.parser';
import type { RootView, SpanRecord } from './span-record';
import {
  type UsageChange,
  type UsageEffect,
  usageEffect,
  type UsageGap,
  type UsageState,
} from './usage-tree';

/** Maximum number of models per trace, the first by name. A trace with more models is a mistake of the sender. */
export const MODELS_MAX = 100;

/** Tokens and cost; null if no span reports them. */
export interface Usage {
  inputTokens: number | null;
  outputTokens: number | null;
  costUsd: number | null;
}

/** A value of a trace, with the sort key of its span. The span with the smallest key determines the value. */
export interface FirstOf<Value> {
  key: string;
  value: Value;
}

/** The usage that counts, see `usageEffect`: of model calls, and of other steps. */
export interface UsageLevels {
  calls: Usage;
  /** Number of calls with tokens but without a cost. Unless it is 0, the sum of the known costs is not the total cost. */
  unpricedCount: number;
  steps: Usage;
}

/** The usage of one model in a trace. */
export interface ModelUsage extends UsageLevels {
  /** Empty for spans with usage but without a model. */
  model: string;
}

/**
 * The contribution of some spans to their trace. Merging is commutative and associative, so the result depends neither on the
 * order of spans nor on their distribution over requests. Usage depends on the spans that are stored already, see
 * `UsageWriter`.
 */
export interface TraceAggregate extends UsageLevels {
  /** Number of steps with tokens but without a cost. */
  unpricedStepCount: number;
  /** What spans know about the usage below them, by span id. */
  usageStates: Map<string, UsageState>;
  /** What is known below parents that are missing. */
  gaps: UsageGap[];
  /** Change of the number of gaps. */
  gapCount: number;
  workspaceId: string;
  traceId: string;
  /** Microseconds since 1970. */
  startedAt: bigint;
  endedAt: bigint;
  spanCount: number;
  errorCount: number;
  /** Number of values that were masked. */
  maskedCount: number;
  /** Sorted. */
  models: string[];
  /** By model. */
  usage: Map<string, ModelUsage>;
  root: FirstOf<RootView> | null;
  session: FirstOf<string> | null;
  service: FirstOf<string> | null;
  /** A version from an agent's span takes precedence over versions of services. */
  agentVersion: FirstOf<string> | null;
  user: FirstOf<string> | null;
  environment: FirstOf<string> | null;
  prompt: FirstOf<PromptRef> | null;
  /** The first tags of all spans. Sorted. */
  tags: string[];
}

/** The prompt of a span. */
interface PromptRef {
  name: string;
  version: string | null;
}

/** Aggregates distinct spans that are sorted by trace. Returns the traces in the same order. */
export async function aggregateTraces(records: readonly SpanRecord[]): Promise<TraceAggregate[]> {
  const slice = new TimeSlice();
  const traces: TraceAggregate[] = [];
  for (let start = 0; start < records.length;) {
    let end = start + 1;
    while (end < records.length && isSameTrace(records[start]!, records[end]!)) end++;
    traces.push(await aggregateTrace(records, start, end, slice));
    start = end;
  }
  return traces;
}

const isSameTrace = (one: SpanRecord, other: SpanRecord): boolean =>
  one.span.traceId === other.span.traceId && one.workspaceId === other.workspaceId;

async function aggregateTrace(
  records: readonly SpanRecord[],
  start: number,
  end: number,
  slice: TimeSlice,
): Promise<TraceAggregate> {
  const trace = emptyTrace(records[start]!);
  let root: SpanRecord | null = null;
  let session: SpanRecord | null = null;
  let service: SpanRecord | null = null;
  let version: SpanRecord | null = null;
  let ownVersion: SpanRecord | null = null;
  let user: SpanRecord | null = null;
  let environment: SpanRecord | null = null;
  let prompt: SpanRecord | null = null;
  let tags: Set<string> | null = null;
  for (let index = start; index < end; index++) {
    if (slice.isOver()) await slice.yield();
    const record = records[index]!;
    addSpan(trace, record);
    if (isRoot(record)) root = firstOf(root, record);
    if (record.fields.sessionId !== null) session = firstOf(session, record);
    if (record.fields.serviceName !== null) service = firstOf(service, record);
    if (record.fields.userId !== null) user = firstOf(user, record);
    if (record.fields.environment !== null) environment = firstOf(environment, record);
    if (record.fields.promptName !== null) prompt = firstOf(prompt, record);
    for (const tag of record.fields.tags ?? []) (tags ??= new Set()).add(tag);
    if (record.fields.agentVersion === null) continue;
    if (record.namesVersion) ownVersion = firstOf(ownVersion, record);
    else version = firstOf(version, record);
  }
  const own = records.slice(start, end);
  setUsage(trace, own, usageEffect(own));
  trace.models = namedModels(trace);
  trace.root = root && { key: orderKey(root), value: root.root! };
  trace.session = session && { key: orderKey(session), value: session.fields.sessionId! };
  trace.service = service && { key: orderKey(service), value: service.fields.serviceName! };
  const versioned = ownVersion ?? version;
  trace.agentVersion = versioned && {
    key: `${ownVersion ? 'agent' : 'service'} ${orderKey(versioned)}`,
    value: versioned.fields.agentVersion!,
  };
  trace.user = user && { key: orderKey(user), value: user.fields.userId! };
  trace.environment = environment && { key: orderKey(environment), value: environment.fields.environment! };
  trace.prompt = prompt && {
    key: orderKey(prompt),
    value: { name: prompt.fields.promptName!, version: prompt.fields.promptVersion },
  };
  if (tags) trace.tags = [...tags].sort().slice(0, TAGS_MAX);
  return trace;
}

const emptyTrace = ({ workspaceId, span, startedAt, endedAt }: SpanRecord): TraceAggregate => ({
  workspaceId,
  traceId: span.traceId,
  startedAt,
  endedAt,
  spanCount: 0,
  errorCount: 0,
  maskedCount: 0,
  ...noUsageLevels(),
  unpricedStepCount: 0,
  usageStates: new Map(),
  gaps: [],
  gapCount: 0,
  models: [],
  usage: new Map(),
  root: null,
  session: null,
  service: null,
  agentVersion: null,
  user: null,
  environment: null,
  prompt: null,
  tags: [],
});

function addSpan(trace: TraceAggregate, record: SpanRecord): void {
  if (record.startedAt < trace.startedAt) trace.startedAt = record.startedAt;
  if (record.endedAt > trace.endedAt) trace.endedAt = record.endedAt;
  trace.spanCount += 1;
  trace.maskedCount += record.maskedCount;
  if (record.span.status.code === 'error') trace.errorCount += 1;
}

/** Sets the usage of new spans of a trace. */
export function setUsage(trace: TraceAggregate, records: readonly SpanRecord[], effect: UsageEffect): void {
  Object.assign(trace, noUsageLevels(), { unpricedStepCount: 0, usage: new Map() });
  for (const { fields } of records) if (fields.model !== null) usageOf(trace, fields.model);
  for (const change of effect.changes) {
    addUsage(trace, change);
    addUsage(usageOf(trace, change.model), change);
    if (change.isStep) trace.unpricedStepCount += change.unpriced;
  }
  trace.unpricedCount -= effect.covered.calls;
  trace.unpricedStepCount -= effect.covered.steps;
  trace.usageStates = effect.states;
  trace.gaps = effect.gaps;
  trace.gapCount = effect.gaps.length;
}

/** Returns the usage of a model, or of spans without a model. */
function usageOf({ usage }: TraceAggregate, model: string | null): ModelUsage {
  const key = model ?? '';
  let modelUsage = usage.get(key);
  if (!modelUsage) usage.set(key, (modelUsage = { model: key, ...noUsageLevels() }));
  return modelUsage;
}

const noUsage = (): Usage => ({ inputTokens: null, outputTokens: null, costUsd: null });

const noUsageLevels = (): UsageLevels => ({ calls: noUsage(), unpricedCount: 0, steps: noUsage() });

function addUsage(to: UsageLevels, change: UsageChange): void {
  if (!change.isStep) to.unpricedCount += change.unpriced;
  const usage = change.isStep ? to.steps : to.calls;
  usage.inputTokens = sumOfKnown(usage.inputTokens, change.inputTokens);
  usage.outputTokens = sumOfKnown(usage.outputTokens, change.outputTokens);
  usage.costUsd = sumOfKnown(usage.costUsd, change.costUsd);
}

/** Adds two values. If one of them is null, returns the other. */
const sumOfKnown = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : one + other;

/** Returns the first models by name. */
const namedModels = ({ usage }: TraceAggregate): string[] =>
  [...usage.keys()]
    .filter((model) => model !== '')
    .sort()
    .slice(0, MODELS_MAX);

const isRoot = ({ span }: SpanRecord): boolean => span.parentSpanId === null;

/** Returns a key that sorts the root first, then by start. */
const orderKey = (record: SpanRecord): string =>
  `${isRoot(record) ? 0 : 1}${String(record.span.startTimeUnixNano).padStart(20, '0')}${record.span.spanId}`;

/** Returns the span with the smaller `orderKey`, without building the keys. */
function firstOf(first: SpanRecord | null, record: SpanRecord): SpanRecord {
  if (first === null) return record;
  if (isRoot(first) !== isRoot(record)) return isRoot(first) ? first : record;
  const [one, other] = [first.span.startTimeUnixNano, record.span.startTimeUnixNano];
  if (one !== other) return one < other ? first : record;
  return first.span.spanId <= record.span.spanId ? first : record;
}

import { isJsonObject } from '#platform/json';
import type { ScoringSubject } from '../subject';
import type { JsonObject } from './json.value';
import { attributesOf, type ToolCall, toolCallOf } from './tool-call.reader';
import { CannotCheck, hasAllTraces, isCompleteTrace, UNDECIDED } from './verdict';

/** A number measured in a trace. */
export interface Measurement {
  value: number;
  /** False for a truncated trace, whose real value is the same or higher. */
  isExact: boolean;
}

interface Trace {
  spans: JsonObject[];
  isComplete: boolean;
  durationMs: number | undefined;
  /** Null if the cost is known to be incomplete. */
  costUsd: number | null | undefined;
}

const MAX_TRACES = 10_000;
const MAX_SPANS = 100_000;
const MODEL_OPERATIONS = new Set(['chat', 'text_completion', 'generate_content']);
const COSTS = ['gen_ai.usage.cost', 'llm.cost.total', 'operation.cost'];

/**
 * Reads a trace for checks: a list of spans `{name, attributes, started_at, ended_at, duration_ms, …}`, or an object
 * `{spans, duration_ms, cost_usd, …}`. For a session, reads all of its traces.
 *
 * Reads spans by the conventions of OpenTelemetry for generative AI (`gen_ai.operation.name`,
 * `gen_ai.tool.name`), OpenInference (`openinference.span.kind`), OpenLLMetry (`traceloop.span.kind`) and the AI SDK.
 */
export class TraceReader {
  private readonly traces: Trace[];
  private readonly hasAllTraces: boolean;

  /** @throws CannotCheck when the subject has no trace */
  constructor(subject: ScoringSubject) {
    const session =
      isJsonObject(subject.session) && Array.isArray(subject.session.traces) ? subject.session.traces : [];
    // A trace without spans is not replaced by other traces of its session.
    const traces: unknown[] = subject.trace === undefined ? session : [subject.trace];
    if (traces.length > MAX_TRACES) throw new CannotCheck(`the session has more than ${MAX_TRACES} traces`);
    const isOfSession = traces === session && isJsonObject(subject.session);
    this.hasAllTraces = !isOfSession || hasAllTraces(subject.session as JsonObject);
    this.traces = traces.flatMap((trace) => toTrace(trace) ?? []);
    if (this.traces.length === 0) throw new CannotCheck('there is no trace');
  }

  /** Whether all traces are complete. If not, tools may have been called before, between and after the ones seen. */
  get isComplete(): boolean {
    return this.hasAllTraces && this.traces.every((trace) => trace.isComplete);
  }

  /** Returns the tool calls in the order of their start. */
  toolCalls(): ToolCall[] {
    return this.spans().flatMap((span) => toolCallOf(span) ?? []);
  }

  /** Counts the steps: calls of models and tools, or all spans if there is no such call. */
  stepCount(kind: 'model' | 'tool' | undefined): Measurement {
    const spans = this.spans();
    const tools = spans.filter((span) => toolCallOf(span)).length;
    const models = spans.filter(isModelCall).length;
    const isExact = this.isComplete;
    if (kind) return { value: kind === 'tool' ? tools : models, isExact };
    // A missing span may be such a call, and then the other spans are not steps.
    return { value: tools + models || (isExact ? spans.length : 0), isExact };
  }

  /** @throws CannotCheck when the duration of a trace is unknown */
  durationMs(): Measurement {
    return this.total(
      this.traces.map(({ durationMs, spans, isComplete }) =>
        durationMs === undefined ? { value: durationOf(spans), isExact: isComplete } : exact(durationMs),
      ),
      'the duration of the trace is unknown',
    );
  }

  /** @throws CannotCheck when the cost of a trace is unknown */
  costUsd(): Measurement {
    return this.total(
      this.traces.map(({ costUsd, spans, isComplete }) =>
        costUsd === undefined
          ? { value: costOf(spans), isExact: isComplete }
          : { value: costUsd ?? undefined, isExact: true },
      ),
      'the cost of the trace is unknown',
    );
  }

  private total(parts: { value: number | undefined; isExact: boolean }[], otherwise: string): Measurement {
    let sum = 0;
    for (const { value, isExact } of parts) {
      if (value === undefined) throw new CannotCheck(isExact ? otherwise : UNDECIDED);
      sum += value;
    }
    return { value: sum, isExact: this.hasAllTraces && parts.every(({ isExact }) => isExact) };
  }

  private spans(): JsonObject[] {
    const count = this.traces.reduce((sum, trace) => sum + trace.spans.length, 0);
    if (count > MAX_SPANS) throw new CannotCheck(`the trace has more than ${MAX_SPANS} spans`);
    const spans = this.traces.flatMap((trace) => trace.spans);
    if (spans.length === 0 && this.isComplete) throw new CannotCheck('the trace has no spans');
    return spans
      .map((span) => ({ span, at: timeOf(span.started_at), text: String(span.started_at) }))
      .sort((a, b) => (a.at ?? 0) - (b.at ?? 0) || (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
      .map(({ span }) => span);
  }
}

function toTrace(value: unknown): Trace | undefined {
  if (Array.isArray(value)) {
    const spans = value.filter(isJsonObject);
    return { spans, isComplete: isCompleteTrace({ spans }), durationMs: undefined, costUsd: undefined };
  }
  if (!isJsonObject(value)) return undefined;
  const spans = Array.isArray(value.spans) ? value.spans.filter(isJsonObject) : [];
  return {
    spans,
    isComplete: isCompleteTrace(value),
    durationMs: numberOf(value.duration_ms),
    costUsd: value.cost_usd === null ? null : numberOf(value.cost_usd),
  };
}

const exact = (value: number): Measurement => ({ value, isExact: true });

function isModelCall(span: JsonObject): boolean {
  const attributes = attributesOf(span);
  const operation = attributes['gen_ai.operation.name'];
  if (operation !== undefined) return typeof operation === 'string' && MODEL_OPERATIONS.has(operation);
  if (toolCallOf(span)) return false;
  return attributes['openinference.span.kind'] === 'LLM' || attributes['gen_ai.request.model'] !== undefined;
}

function durationOf(spans: JsonObject[]): number | undefined {
  if (spans.length > MAX_SPANS) return undefined;
  const starts = spans.flatMap((span) => timeOf(span.started_at) ?? []);
  const ends = spans.flatMap((span) => {
    const start = timeOf(span.started_at);
    const duration = numberOf(span.duration_ms);
    return timeOf(span.ended_at) ?? (start !== undefined && duration !== undefined ? start + duration : []);
  });
  if (starts.length === 0 || ends.length === 0) return undefined;
  const first = starts.reduce((a, b) => Math.min(a, b));
  return Math.max(0, ends.reduce((a, b) => Math.max(a, b)) - first);
}

function costOf(spans: JsonObject[]): number | undefined {
  const costs = spans.flatMap((span) => {
    const attributes = attributesOf(span);
    return (
      numberOf(span.cost_usd) ??
      COSTS.map((key) => numberOf(attributes[key])).find((cost) => cost !== undefined) ??
      []
    );
  });
  return costs.length > 0 ? costs.reduce((a, b) => a + b) : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : value;
  return numberOf(time);
}

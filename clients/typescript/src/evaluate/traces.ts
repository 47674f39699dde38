import type { Client } from '../client.js';
import { ServiceError } from '../core/errors.js';
import { sleep, withRetries } from '../core/retry.js';
import type { CallOutcome } from './call.js';
import type { RunRequests } from './options.js';
import { messageOf, randomHex, toJson } from './json.js';

/** One call of the task, as a tracer sees it. */
export interface TracedCall {
  /** Name of the eval. */
  readonly name: string;
  readonly experimentId: string;
  /** Case id of the result, with the trial if cases have several. */
  readonly id: string;
  readonly input: unknown;
}

/**
 * Runs each call of the task in a trace of its own. `agent-registry/otel` puts one on
 * `globalThis[Symbol.for('agent-registry.tracer')]`; without it, a trace is one span that is made from the result.
 */
export interface CaseTracer {
  /**
   * Runs one call in a trace. `call` resolves with the output or the error of the task, and rejects only if the run is
   * aborted.
   */
  run<T extends CallOutcome>(
    one: TracedCall,
    call: () => Promise<T>,
  ): Promise<{ value: T; traceId: string | null }>;
  /** Resolves when the service has answered for the spans that have ended. Rejects if it is away; then it is called again. */
  flush(): Promise<void>;
  /** Whether spans go through a provider that `flush` does not cover. Then the run waits for them to arrive. */
  readonly isForeign?: boolean;
  /** Whether spans were lost, so that traces may be missing. */
  readonly hasLost?: boolean;
}

/** A finished call, as far as its trace needs it. */
export interface Traceable {
  id: string;
  traceId: string | null;
  /** Whether the trace is made from the result. */
  isTraceDerived: boolean;
  /** Whether an earlier process made the call. */
  isRecovered: boolean;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  input: unknown;
  output?: unknown;
  error?: string;
}

const WAIT_MS = 30_000;
const POLL_MS = 500;

/** Longest input or output in a derived span, in characters. */
const TEXT_MAX = 64 * 1024;

/** The traces of a run: runs calls in them, and sends them before the results that name them. */
export class Traces {
  sent = 0;
  /** Traces that results name, but that the service does not have. */
  missing = 0;
  /** Why traces are missing. */
  problem: string | null = null;
  private readonly tracer = registeredTracer();
  private isRefused = false;

  constructor(
    private readonly client: Client,
    private readonly run: { name: string; experimentId: string },
  ) {}

  /** Runs a call of the task in a trace. */
  async call<T extends CallOutcome>(
    id: string,
    input: unknown,
    call: () => Promise<T>,
  ): Promise<{ value: T; traceId: string | null; isDerived: boolean }> {
    if (!this.tracer) {
      const value = await call();
      return { value, traceId: randomHex(16), isDerived: true };
    }
    return { ...(await this.tracer.run({ ...this.run, id, input }, call)), isDerived: false };
  }

  /** Makes sure that the service has the traces of these calls, or counts those that are missing. Rejects if it is away. */
  async ship(calls: readonly Traceable[], requests: RunRequests): Promise<void> {
    const derived = calls.filter((one) => one.isTraceDerived && one.traceId !== null);
    if (derived.length > 0) await this.send(derived, requests);
    const others = calls.filter((one) => !one.isTraceDerived && one.traceId !== null);
    if (others.length === 0) return;
    const { tracer } = this;
    if (tracer) await withRetries(() => tracer.flush(), { ...requests, isRetryable: () => true });
    const waitMs = tracer?.isForeign ? WAIT_MS : 0;
    const isFlushed = (one: Traceable): boolean => waitMs === 0 && !one.isRecovered && !tracer?.hasLost;
    this.sent += others.filter(isFlushed).length;
    const unsure = others.flatMap((one) => (isFlushed(one) ? [] : one.traceId!));
    if (unsure.length > 0) await this.check(unsure, waitMs, requests);
  }

  /** Sends traces that are made from results. */
  private async send(calls: readonly Traceable[], requests: RunRequests): Promise<void> {
    if (this.isRefused) {
      this.missing += calls.length;
      for (const call of calls) call.traceId = null;
      return;
    }
    try {
      const body = { resourceSpans: [resourceSpans(this.run, calls)] };
      const { partialSuccess } = await this.client.api.ingestTraces({ body }, requests);
      const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
      this.sent += calls.length - rejected;
      this.miss(rejected, partialSuccess?.errorMessage ?? '');
    } catch (error) {
      if (!(error instanceof ServiceError) || isFatal(error)) throw error;
      if (error.status === 413 && calls.length > 1) {
        const half = Math.ceil(calls.length / 2);
        await this.send(calls.slice(0, half), requests);
        return this.send(calls.slice(half), requests);
      }
      this.isRefused = error.status === 403;
      for (const call of calls) call.traceId = null;
      this.miss(calls.length, error.detail);
    }
  }

  /** Waits until traces can be read, for some time. */
  private async check(ids: readonly string[], waitMs: number, requests: RunRequests): Promise<void> {
    let missing = [...ids];
    for (const until = Date.now() + waitMs; ; await sleep(POLL_MS, requests.signal)) {
      ({ missing } = await this.client.api.checkTraces({ body: { trace_ids: missing } }, requests));
      if (missing.length === 0 || Date.now() >= until) break;
    }
    this.sent += ids.length - missing.length;
    this.miss(missing.length, 'they have not arrived');
  }

  private miss(count: number, reason: string): void {
    if (count === 0) return;
    this.missing += count;
    this.problem ??= reason;
  }
}

/** Whether an error is not about the traces, so that it ends the uploads: the key is invalid, or the service is away. */
const isFatal = ({ status }: ServiceError): boolean => status === 401 || status === 429 || status >= 500;

const registeredTracer = (): CaseTracer | undefined =>
  (globalThis as { [key: symbol]: CaseTracer | undefined })[Symbol.for('agent-registry.tracer')];

/** Returns one span for each call, as OTLP JSON. The same calls give the same spans, which the service stores once. */
function resourceSpans(
  { name, experimentId }: { name: string; experimentId: string },
  calls: readonly Traceable[],
) {
  return {
    resource: { attributes: [text('service.name', name)] },
    scopeSpans: [
      {
        scope: { name: 'agent-registry.evaluate' },
        spans: calls.map((call) => ({
          traceId: call.traceId,
          spanId: call.traceId!.slice(0, 16),
          name,
          kind: 1,
          startTimeUnixNano: nanoseconds(call.startedAt),
          endTimeUnixNano: nanoseconds(call.startedAt + call.durationMs),
          attributes: [
            text('eval.experiment_id', experimentId),
            text('eval.case_id', call.id),
            ...content('input', call.input),
            ...(call.output === undefined ? [] : content('output', call.output)),
          ],
          status: call.error === undefined ? { code: 1 } : { code: 2, message: call.error },
        })),
      },
    ],
  };
}

const nanoseconds = (ms: number): string => String(BigInt(Math.round(ms * 1000)) * 1000n);

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

function content(member: 'input' | 'output', value: unknown) {
  const isText = typeof value === 'string';
  const whole = isText ? value : safeJson(value);
  return [
    text(`${member}.value`, whole.slice(0, TEXT_MAX)),
    text(`${member}.mime_type`, isText || whole.length > TEXT_MAX ? 'text/plain' : 'application/json'),
  ];
}

function safeJson(value: unknown): string {
  try {
    return toJson(value);
  } catch (error) {
    return messageOf(error);
  }
}

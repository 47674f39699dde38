import type { Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { Client } from '../client.js';
import { traceAttributes } from './context.js';
import { flushAtExit } from './exit.js';
import { type PartialSuccess, SpanQueue, type SpanQueueOptions, type TracingStats } from './span-queue.js';

export interface ExportOptions extends Omit<SpanQueueOptions, 'post'> {
  /** Default: a client that is configured by `url` and `apiKey`, or by the environment. */
  client?: Client;
  url?: string;
  apiKey?: string | (() => string | Promise<string>);
  workspaceId?: string;
}

/** Longest time that a flush may take, in milliseconds, where the caller does not say. */
export const FLUSH_MS = 30_000;

/** A shorter body is sent as it is. */
const GZIP_FROM = 1_024;

export function newQueue({ client, url, apiKey, workspaceId, ...options }: ExportOptions): SpanQueue {
  const target = client ?? new Client({ url, apiKey, workspaceId });
  return new SpanQueue({ ...options, post: (body, limits) => post(target, body, limits) });
}

/** Sends a body once. The queue decides whether to send it again, because its waiting must not keep the process alive. */
async function post(
  client: Client,
  json: string,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<PartialSuccess> {
  const zipped = json.length < GZIP_FROM ? undefined : await gzip(json);
  const answer = await client.api.ingestTraces(
    { body: zipped ?? json },
    {
      ...limits,
      maxRetries: 0,
      contentType: 'application/json',
      ...(zipped && { headers: { 'content-encoding': 'gzip' } }),
    },
  );
  const { rejectedSpans = 0, errorMessage } = answer.partialSuccess ?? {};
  return { rejected: Number(rejectedSpans), ...(errorMessage && { message: errorMessage }) };
}

/** Compresses a text, where the platform can. */
async function gzip(text: string): Promise<Uint8Array | undefined> {
  if (typeof CompressionStream === 'undefined') return undefined;
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Gives each span the members of `withTrace`, and sends it to the service when it has ended. */
export class ServiceSpanProcessor implements SpanProcessor {
  private readonly stopFlushing: () => void;

  constructor(private readonly queue: SpanQueue) {
    this.stopFlushing = flushAtExit(queue);
  }

  get stats(): TracingStats {
    return this.queue.stats;
  }

  onStart(span: Span, parent: Context): void {
    for (const [name, value] of Object.entries(traceAttributes(parent))) {
      if (value !== undefined && !(name in span.attributes)) span.setAttribute(name, value);
    }
  }

  onEnd(span: ReadableSpan): void {
    // as exporters of OpenTelemetry do: 1 is the flag of a sampled trace
    if ((span.spanContext().traceFlags & 1) === 1) this.queue.add(span);
  }

  /** Resolves when the service has stored all spans that have ended. @throws if it has not */
  forceFlush(): Promise<void> {
    return this.queue.flush(FLUSH_MS);
  }

  shutdown(): Promise<void> {
    this.stopFlushing();
    return this.queue.close(FLUSH_MS);
  }
}

/**
 * Sends spans to the service, for a processor of OpenTelemetry such as `BatchSpanProcessor`. Prefer
 * {@link agentRegistrySpanProcessor}, which also knows the members of `withTrace`.
 */
export class AgentRegistrySpanExporter implements SpanExporter {
  private readonly queue: SpanQueue;

  constructor(options: ExportOptions = {}) {
    this.queue = newQueue(options);
  }

  get stats(): TracingStats {
    return this.queue.stats;
  }

  export(spans: ReadableSpan[], done: (result: { code: number; error?: Error }) => void): void {
    for (const span of spans) this.queue.add(span);
    this.queue.flush(FLUSH_MS).then(
      () => done({ code: 0 }),
      (error: unknown) => done({ code: 1, error: error as Error }),
    );
  }

  forceFlush(): Promise<void> {
    return this.queue.flush(FLUSH_MS);
  }

  shutdown(): Promise<void> {
    return this.queue.close(FLUSH_MS);
  }
}

/**
 * Returns a processor that sends every span to the service, for an application that has a tracer provider already (`NodeSDK`,
 * Sentry, Datadog). `observe` and `withTrace` then use the application's provider. What waits is sent before the process ends,
 * as `startTracing` does.
 */
export const agentRegistrySpanProcessor = (options: ExportOptions = {}): ServiceSpanProcessor =>
  new ServiceSpanProcessor(newQueue(options));

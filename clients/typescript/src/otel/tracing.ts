import { context, trace, type Tracer } from '@opentelemetry/api';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { registerCaseTracer } from './case-tracer.js';
import { ContextManager, OwnTracer, shared } from './context.js';
import { environmentAttributes } from './environment.js';
import { type ExportOptions, FLUSH_MS, newQueue, ServiceSpanProcessor } from './service-exporter.js';
import type { TracingStats } from './span-queue.js';

export interface TracingOptions extends Omit<ExportOptions, 'resourceAttributes'> {
  /** Name of the agent, as traces show it. Default: `OTEL_SERVICE_NAME`, else the name of the package or script. */
  serviceName?: string;
  /** Version of the agent. */
  serviceVersion?: string;
  /** Where the agent runs, for example `production`. */
  environment?: string;
  /**
   * Whether to become OpenTelemetry's global provider, so that all instrumentations of the process send to the service.
   * `when free` (default): unless another one is registered, which is then left alone. `false`: never.
   */
  global?: 'when free' | false;
  /**
   * Uses the provider that the application has registered, and sends nothing itself. For applications whose spans reach the
   * service through a collector.
   */
  join?: boolean;
}

/** Tracing that was started. */
export interface Tracing {
  /** For frameworks that take a tracer. With a global provider of our own, they need none. */
  readonly tracer: Tracer;
  /** Whether all instrumentations of the process send to the service. */
  readonly isGlobal: boolean;
  /** Numbers of spans since the start. */
  stats(): TracingStats;
  /** Resolves when the service has stored all spans that have ended. Rejects if it has not within 30 seconds. */
  forceFlush(): Promise<void>;
  /** Sends what is possible within 30 seconds, and ends tracing. */
  shutdown(): Promise<void>;
}

/** Instrumentations that flatten messages into attributes exceed OpenTelemetry's limit of 128. */
const SPAN_LIMITS = { attributeCountLimit: 4_096, eventCountLimit: 1_024, linkCountLimit: 1_024 };

/**
 * Starts to send the spans of this process to the service, and returns a handle. A second call returns the same one.
 *
 * Spans are sent in the background, in batches, and before the process ends: when nothing is left to do, and on SIGTERM and
 * SIGINT. Before `process.exit()`, await `shutdown()`. While the service is away, up to 32 Mi characters of spans wait, further
 * ones are dropped and counted in `stats()`, and a warning is printed once a minute at most.
 *
 * @throws {ConfigurationError} without an address and a key
 */
export function startTracing(options: TracingOptions = {}): Tracing {
  return (shared.tracing ??= options.join ? joinTracing() : startOwnTracing(options));
}

function startOwnTracing({ global = 'when free', join: _, ...options }: TracingOptions): Tracing {
  const { serviceName, serviceVersion, environment, ...exporting } = options;
  const queue = newQueue({
    ...exporting,
    resourceAttributes: {
      ...environmentAttributes(),
      ...(serviceName !== undefined && { 'service.name': serviceName }),
      ...(serviceVersion !== undefined && { 'service.version': serviceVersion }),
      ...(environment !== undefined && { 'deployment.environment.name': environment }),
    },
  });
  const processor = new ServiceSpanProcessor(queue);
  const provider = new BasicTracerProvider({
    spanProcessors: [processor],
    spanLimits: SPAN_LIMITS,
  });
  const isGlobal = global === 'when free' && isFree('trace') && trace.setGlobalTracerProvider(provider);
  const ownsContext = isFree('context') && context.setGlobalContextManager(new ContextManager());
  const ownTracer = new OwnTracer(provider.getTracer('agent-registry'));
  shared.state = { tracer: provider.getTracer('agent-registry'), isIsolated: !isGlobal };
  const stopCases = registerCaseTracer(queue);
  return {
    tracer: ownTracer,
    isGlobal,
    stats: () => queue.stats,
    forceFlush: () => queue.flush(FLUSH_MS),
    shutdown: async () => {
      shared.tracing = undefined;
      shared.state = undefined;
      stopCases();
      if (isGlobal) trace.disable();
      if (ownsContext) context.disable();
      await processor.shutdown();
    },
  };
}

/** Uses the application's own provider. */
function joinTracing(): Tracing {
  const tracer = trace.getTracer('agent-registry');
  shared.state = { tracer, isIsolated: false };
  const stopCases = registerCaseTracer(undefined);
  const flush = async (): Promise<void> => {
    const provider = trace.getTracerProvider() as {
      forceFlush?: () => Promise<void>;
      getDelegate?: () => object;
    };
    const delegate = (provider.getDelegate?.() ?? provider) as typeof provider;
    await delegate.forceFlush?.();
  };
  return {
    tracer,
    isGlobal: true,
    stats: () => ({ sent: 0, dropped: 0, queued: 0 }),
    forceFlush: flush,
    shutdown: async () => {
      shared.tracing = undefined;
      shared.state = undefined;
      stopCases();
      await flush();
    },
  };
}

/** Tells whether nobody has registered an implementation of a part of OpenTelemetry's API. */
const isFree = (part: 'trace' | 'context'): boolean =>
  !(globalThis as Record<symbol, Record<string, unknown> | undefined>)[
    Symbol.for('opentelemetry.js.api.1')
  ]?.[part];

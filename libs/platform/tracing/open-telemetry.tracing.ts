import { randomUUID } from 'node:crypto';
import {
  type Context,
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { isTracingSuppressed, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { RELEASE } from '#platform/release';
import { RedactingExporter } from './redacting.exporter';
import { tracedModules } from './traced-modules';
import type { TracedJob, TracedRole, Tracing } from './tracing';

const SERVICE = 'agent-registry-service';

/**
 * Traces with OpenTelemetry, exported as OTLP/HTTP. The SDK itself reads the variables of the exporter, the sampler,
 * batches and limits.
 */
export class OpenTelemetryTracing implements Tracing {
  private readonly tracer: Tracer;

  private constructor(private readonly provider: NodeTracerProvider) {
    this.tracer = provider.getTracer(SERVICE);
  }

  static start(role: TracedRole, env: NodeJS.ProcessEnv): OpenTelemetryTracing {
    // an empty variable counts as absent
    const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
    const exporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
    const provider = new NodeTracerProvider({
      resource: resourceOf(role),
      // queues up to OTEL_BSP_MAX_QUEUE_SIZE spans and drops further ones
      spanProcessors: [new BatchSpanProcessor(new RedactingExporter(exporter))],
    });
    // the default would also pass the `baggage` of callers on to the judges
    provider.register({ propagator: new W3CTraceContextPropagator() });
    registerInstrumentations({ tracerProvider: provider, instrumentations: tracedModules() });
    return new OpenTelemetryTracing(provider);
  }

  traceId(): string | undefined {
    return activeSpan()?.spanContext().traceId;
  }

  traceparent(): string | undefined {
    if (!activeSpan()) return undefined;
    const carrier: { traceparent?: string } = {};
    propagation.inject(context.active(), carrier);
    return carrier.traceparent;
  }

  async job<Result>({ kind, id, traceparent }: TracedJob, work: () => Promise<Result>): Promise<Result> {
    if (traceparent === undefined) return work();
    const parent = propagation.extract(ROOT_CONTEXT, { traceparent });
    const attributes = {
      'messaging.system': 'bullmq',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': kind,
      'messaging.message.id': id,
    };
    const span = this.tracer.startSpan(`process ${kind}`, { kind: SpanKind.CONSUMER, attributes }, parent);
    return runInSpan(trace.setSpan(parent, span), span, work);
  }

  untraced<Result>(work: () => Promise<Result>): Promise<Result> {
    return context.with(ROOT_CONTEXT, work);
  }

  async stop(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
    // the exporter logs its failures
    await Promise.race([this.provider.shutdown().catch(() => undefined), late]);
    clearTimeout(timer);
  }
}

function activeSpan(): Span | undefined {
  const active = context.active();
  const span = isTracingSuppressed(active) ? undefined : trace.getSpan(active);
  return span && isSpanContextValid(span.spanContext()) ? span : undefined;
}

async function runInSpan<Result>(scope: Context, span: Span, work: () => Promise<Result>): Promise<Result> {
  try {
    return await context.with(scope, work);
  } catch (error) {
    span.setAttribute('error.type', error instanceof Error ? error.name : 'Error');
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

/** Describes the process. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override it and add to it. */
function resourceOf(role: TracedRole): Resource {
  const own = resourceFromAttributes({
    'service.name': SERVICE,
    'service.version': RELEASE,
    'service.instance.id': randomUUID(),
    'registry.role': role,
  });
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
}

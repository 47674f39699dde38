import { ROOT_CONTEXT, SpanKind, trace, type Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { Service } from './service';

const SPANS_QUEUED_MAX = 4_096;
const SPANS_PER_EXPORT = 512;

/** Returns a message in the form of the GenAI semantic conventions. */
const message = (role: string, content: string): string =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);

/** The official OpenTelemetry SDK, which exports to the service over OTLP/HTTP. */
export class Tracing {
  private readonly provider: NodeTracerProvider;
  private readonly tracer: Tracer;

  constructor(service: Service) {
    const exporter = new OTLPTraceExporter({
      url: `${service.connection.base_url}/telemetry/v1/traces`,
      headers: service.headers,
    });
    this.provider = new NodeTracerProvider({
      resource: resourceFromAttributes({ 'service.name': 'compare-models' }),
      spanProcessors: [
        new BatchSpanProcessor(exporter, {
          maxQueueSize: SPANS_QUEUED_MAX,
          maxExportBatchSize: SPANS_PER_EXPORT,
        }),
      ],
    });
    this.tracer = this.provider.getTracer('compare-models');
  }

  /** Records one answer of a model as a trace of two spans. Returns its trace id. */
  record(model: string, question: string, solution: string): string {
    const root = this.tracer.startSpan('answer question', {
      root: true,
      kind: SpanKind.INTERNAL,
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'solver' },
    });
    const call = this.tracer.startSpan(
      `chat ${model}`,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': model,
          'gen_ai.input.messages': message('user', question),
          'gen_ai.output.messages': message('assistant', solution),
        },
      },
      trace.setSpan(ROOT_CONTEXT, root),
    );
    call.end();
    root.end();
    return root.spanContext().traceId;
  }

  /** Sends everything recorded so far. Resolves once the service has stored it. */
  flush(): Promise<void> {
    return this.provider.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.provider.shutdown();
  }
}

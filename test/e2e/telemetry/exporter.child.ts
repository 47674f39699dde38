/**
 * A program that is instrumented with OpenTelemetry, like a user's. It records an agent run of three spans, exports it and
 * prints the trace id. It runs in a separate process, because the exporters load their transport with a dynamic import, which
 * Jest does not support.
 *
 * Arguments: `proto` or `http` (JSON), and the exporter's configuration as JSON. If it is empty, the environment applies.
 */
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

async function main([kind, config]: string[]): Promise<void> {
  const Exporter = kind === 'proto' ? ProtobufExporter : JsonExporter;
  const exporter = config ? new Exporter(JSON.parse(config) as object) : new Exporter();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'shop', 'deployment.environment': 'test' }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer('agent', '1.2.3');
  const start = Date.UTC(2026, 10, 20);
  const root = tracer.startSpan('invoke_agent helper', {
    startTime: start,
    attributes: { 'session.id': 'ses_1', 'input.value': 'How are you?', 'output.value': 'Fine.' },
  });
  const context = trace.setSpan(ROOT_CONTEXT, root);
  const call = tracer.startSpan(
    'chat gpt-4o',
    {
      kind: SpanKind.CLIENT,
      startTime: start + 10,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.response.model': 'gpt-4o',
        'gen_ai.usage.input_tokens': 120,
        'gen_ai.usage.output_tokens': 30,
        'gen_ai.usage.cost': 0.0012,
        'gen_ai.request.stop_sequences': ['END', 'STOP'],
      },
    },
    context,
  );
  call.addEvent('gen_ai.choice', { index: 0 }, start + 11);
  call.end(start + 60);
  const tool = tracer.startSpan('execute_tool', { startTime: start + 70 }, context);
  tool.setStatus({ code: SpanStatusCode.ERROR, message: 'no such city' });
  tool.end(start + 80);
  root.end(start + 100);
  await provider.shutdown();
  process.stdout.write(root.spanContext().traceId);
}

void main(process.argv.slice(2));

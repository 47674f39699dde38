import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { decodeTraceRequest } from '#otlp';
import { readEnvironment } from '#platform/config';
import { ModelPrices } from '../../src/telemetry/model-prices';
import { PostgresTraceStore } from '../../src/telemetry/postgres-trace.store';
import { SpanRepository } from '../../src/telemetry/traces/span.repository';
import { TraceRepository } from '../../src/telemetry/traces/trace.repository';
import type { Bench } from '../bench';
import { compare, timeCalls } from '../measure';

const CLIENTS = 4;
const CALLS = 50;
const TRACES_PER_CALL = 20;
const SPANS_PER_TRACE = 5;
const SPANS_PER_CALL = TRACES_PER_CALL * SPANS_PER_TRACE;

/** A request of 100 spans of about 1 KB each, as the official serializer writes it. */
async function exportRequest(): Promise<Buffer> {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'bench' }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer('bench');
  for (let made = 0; made < TRACES_PER_CALL; made++) {
    const root = tracer.startSpan('agent', { root: true });
    const within = trace.setSpan(ROOT_CONTEXT, root);
    for (let step = 1; step < SPANS_PER_TRACE; step++) {
      const attributes = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.usage.input_tokens': 120,
        'gen_ai.usage.output_tokens': 40,
        'gen_ai.input.messages': JSON.stringify([{ role: 'user', content: 'what is it? '.repeat(30) }]),
        'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', content: 'it is this. '.repeat(30) }]),
      };
      tracer.startSpan('chat gpt-4o', { kind: SpanKind.CLIENT, attributes }, within).end();
    }
    root.end();
  }
  await provider.forceFlush();
  const spans: ReadableSpan[] = exporter.getFinishedSpans();
  await provider.shutdown();
  return Buffer.from(ProtobufTraceSerializer.serializeRequest(spans)!);
}

const exportRequests = (count: number): Promise<Buffer[]> =>
  Promise.all(Array.from({ length: count }, () => exportRequest()));

/** Spans made durable by OTLP/HTTP, against the store's own statements with spans that are decoded already. */
export async function telemetry(bench: Bench): Promise<void> {
  const environment = readEnvironment({});
  const { database } = bench.direct;
  const prices = new ModelPrices(environment);
  const store = new PostgresTraceStore(
    database,
    new SpanRepository(database),
    new TraceRepository(database),
    prices,
    environment,
  );
  const spansPerSecond = (ms: number): number => (CALLS * SPANS_PER_CALL * 1000) / ms;
  const result = await compare([
    {
      name: 'direct',
      measure: async () => {
        const requests = await exportRequests(CALLS);
        const decoded = requests.map((request) => decodeTraceRequest(request, 'protobuf').spans);
        return spansPerSecond(
          await timeCalls(CALLS, CLIENTS, (call) => store.append(bench.scope, decoded[call]!)),
        );
      },
    },
    {
      name: 'service',
      measure: async () => {
        const requests = await exportRequests(CALLS);
        const send = (call: number): Promise<unknown> =>
          bench.http.send('POST', '/telemetry/v1/traces', 200, requests[call], 'application/x-protobuf');
        return spansPerSecond(await timeCalls(CALLS, CLIENTS, send));
      },
    },
  ]);
  bench.report(
    `OTLP protobuf, ${SPANS_PER_CALL} spans of 1 KB a call, ${CLIENTS} clients`,
    'spans/s',
    result,
  );
}

import { SpanStatusCode } from '@opentelemetry/api';
import { ExportResultCode } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { rootLogger, setLogLevel } from '#platform/logging';
import { RedactingExporter } from './redacting.exporter';

const SECRET = 'secret-of-a-request';

/** Exports one span and returns it as exported. */
async function exported(record: (span: ReturnType<typeof newSpan>) => void): Promise<ReadableSpan> {
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(new RedactingExporter(memory))],
  });
  const span = newSpan(provider);
  record(span);
  span.end();
  await provider.forceFlush();
  return memory.getFinishedSpans()[0]!;
}

const newSpan = (provider: BasicTracerProvider) => provider.getTracer('test').startSpan('SELECT');

describe('RedactingExporter', () => {
  const { level } = rootLogger;
  beforeAll(() => setLogLevel('silent'));
  afterAll(() => setLogLevel(level));

  it('removes error texts, which may quote a request, and keeps error types', async () => {
    const span = await exported((one) => {
      const error = new TypeError(`invalid input syntax for type date: "${SECRET}"`);
      one.recordException(error);
      one.addEvent('retry', { because: error.message });
      one.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
      one.setAttribute('db.namespace', 'registry');
    });
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(span.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['exception', { 'exception.type': 'TypeError' }],
      ['retry', {}],
    ]);
    expect(span.attributes).toEqual({ 'db.namespace': 'registry' });
    expect([span.name, span.ended]).toEqual(['SELECT', true]);
  });

  it('reports success and failure to its caller', async () => {
    const failure = new Error('rejected');
    for (const result of [
      { code: ExportResultCode.SUCCESS },
      { code: ExportResultCode.FAILED, error: failure },
    ]) {
      const exporter = new RedactingExporter({
        export: (_spans, done) => done(result),
        shutdown: () => Promise.resolve(),
      });
      expect(await new Promise((resolve) => exporter.export([], resolve))).toEqual(result);
    }
  });
});

import { SpanStatusCode } from '@opentelemetry/api';
import { ExportResultCode } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { rootLogger, setLogLevel } from '#platform/logging';
import { DiscreetExporter } from './discreet.exporter';

const SECRET = 'what-nobody-else-may-read';

/** Has the exporter send one span. @returns it, as it was sent */
async function sent(record: (span: ReturnType<typeof newSpan>) => void): Promise<ReadableSpan> {
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(new DiscreetExporter(memory))],
  });
  const span = newSpan(provider);
  record(span);
  span.end();
  await provider.forceFlush();
  return memory.getFinishedSpans()[0]!;
}

const newSpan = (provider: BasicTracerProvider) => provider.getTracer('test').startSpan('SELECT');

describe('what is sent of a span', () => {
  const { level } = rootLogger;
  beforeAll(() => setLogLevel('silent'));
  afterAll(() => setLogLevel(level));

  it('has no text of an error, which may quote what a request said, but its type', async () => {
    const span = await sent((one) => {
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

  it('is told to whoever waits for it, sent or not', async () => {
    const refused = new Error('refused');
    for (const result of [
      { code: ExportResultCode.SUCCESS },
      { code: ExportResultCode.FAILED, error: refused },
    ]) {
      const exporter = new DiscreetExporter({
        export: (_spans, done) => done(result),
        shutdown: () => Promise.resolve(),
      });
      expect(await new Promise((resolve) => exporter.export([], resolve))).toEqual(result);
    }
  });
});

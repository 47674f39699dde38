import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { decodeTraceRequest } from './decode.fixture';
import { encodeExportResponse, type OtlpEncoding } from './index';

const ENCODINGS: OtlpEncoding[] = ['protobuf', 'json'];

/** Requests of the official exporters, and how they read responses. */
const SERIALIZERS = { protobuf: ProtobufTraceSerializer, json: JsonTraceSerializer };

function request(encoding: OtlpEncoding, spans: ReadableSpan[]): Buffer {
  return Buffer.from(SERIALIZERS[encoding].serializeRequest(spans) ?? []);
}

function recordedSpans(): ReadableSpan[] {
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'shop', 'process.pid': 4711 }),
    spanProcessors: [new SimpleSpanProcessor(memory)],
  });
  const tracer = provider.getTracer('agent', '1.2.3', {
    schemaUrl: 'https://opentelemetry.io/schemas/1.37.0',
  });
  const root = tracer.startSpan('invoke_agent', { startTime: [1_700_000_000, 1] });
  const child = tracer.startSpan(
    'chat gpt-4o',
    {
      kind: SpanKind.CLIENT,
      startTime: [1_700_000_000, 123_456_789],
      links: [
        {
          context: {
            traceId: '0af7651916cd43dd8448eb211c80319c',
            spanId: 'b7ad6b7169203331',
            traceFlags: TraceFlags.SAMPLED,
          },
          attributes: { why: 'retry' },
        },
      ],
      attributes: {
        text: 'Grüße, 世界 🌍',
        integer: 42,
        negative: -7,
        large: Number.MAX_SAFE_INTEGER,
        double: 0.25,
        yes: true,
        no: false,
        texts: ['stop', 'length'],
        numbers: [1, 2.5],
      },
    },
    trace.setSpan(ROOT_CONTEXT, root),
  );
  child.addEvent('gen_ai.choice', { index: 0 }, [1_700_000_001, 5]);
  child.setStatus({ code: SpanStatusCode.ERROR, message: 'rate limited' });
  child.end([1_700_000_002, 0]);
  root.end([1_700_000_003, 0]);
  return memory.getFinishedSpans();
}

describe('a trace request of the official exporters', () => {
  const spans = recordedSpans();

  it.each(ENCODINGS)('keeps everything the SDK recorded (%s)', (encoding) => {
    const decoded = decodeTraceRequest(request(encoding, spans), encoding);

    expect(decoded.rejected).toEqual({ count: 0, reasons: [] });
    const [child, root] = decoded.spans;
    const [sentChild, sentRoot] = spans;
    expect(child).toMatchObject({
      traceId: sentRoot?.spanContext().traceId,
      spanId: sentChild?.spanContext().spanId,
      parentSpanId: sentRoot?.spanContext().spanId,
      name: 'chat gpt-4o',
      kind: 'client',
      startTimeUnixNano: 1_700_000_000_123_456_789n,
      endTimeUnixNano: 1_700_000_002_000_000_000n,
      status: { code: 'error', message: 'rate limited' },
      attributes: {
        text: 'Grüße, 世界 🌍',
        integer: 42,
        negative: -7,
        large: Number.MAX_SAFE_INTEGER,
        double: 0.25,
        yes: true,
        no: false,
        texts: ['stop', 'length'],
        numbers: [1, 2.5],
      },
      events: [
        {
          name: 'gen_ai.choice',
          timeUnixNano: 1_700_000_001_000_000_005n,
          attributes: { index: 0 },
          droppedAttributesCount: 0,
        },
      ],
      links: [
        {
          traceId: '0af7651916cd43dd8448eb211c80319c',
          spanId: 'b7ad6b7169203331',
          traceState: '',
          attributes: { why: 'retry' },
        },
      ],
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
      resource: { attributes: { 'service.name': 'shop', 'process.pid': 4711 }, schemaUrl: '' },
      scope: { name: 'agent', version: '1.2.3', schemaUrl: 'https://opentelemetry.io/schemas/1.37.0' },
    });
    expect(root).toMatchObject({
      parentSpanId: null,
      kind: 'internal',
      status: { code: 'unset', message: '' },
    });
    expect((child?.flags ?? 0) & 1).toBe(TraceFlags.SAMPLED);
    expect(root?.resource).toBe(child?.resource);
    expect(root?.scope).toBe(child?.scope);
  });

  it('is the same in both encodings', () => {
    expect(decodeTraceRequest(request('json', spans), 'json')).toEqual(
      decodeTraceRequest(request('protobuf', spans), 'protobuf'),
    );
  });

  it.each(ENCODINGS)('reports the number of rejected records and the reasons (%s)', (encoding) => {
    const { deserializeResponse } = SERIALIZERS[encoding];
    const rejection = { count: 3, reasons: ['no trace id'] };
    const rejectedSpans = encoding === 'json' ? '3' : 3;
    expect(deserializeResponse(encodeExportResponse(encoding, 'traces', rejection))).toEqual({
      partialSuccess: { rejectedSpans, errorMessage: 'no trace id' },
    });
    expect(deserializeResponse(encodeExportResponse(encoding, 'traces', { count: 0, reasons: [] }))).toEqual(
      {},
    );
  });
});

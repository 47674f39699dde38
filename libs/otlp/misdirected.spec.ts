import { SeverityNumber } from '@opentelemetry/api-logs';
import * as otlp from '@opentelemetry/otlp-transformer';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { bytes, double, fixed64, IDS, keyValue, message, request, varint } from '../testing/otlp-bytes';
import { decodeLogsRequest, decodeMetricsRequest, decodeTraceRequest } from './decode.fixture';
import type { OtlpEncoding, OtlpSignal } from './index';
import { decodeErrorOf } from './request.fixture';
import { SIGNALS } from './signal.names';

const DECODERS = { traces: decodeTraceRequest, logs: decodeLogsRequest, metrics: decodeMetricsRequest };
const REQUESTS = {
  traces: 'ExportTraceServiceRequest',
  logs: 'ExportLogsServiceRequest',
  metrics: 'ExportMetricsServiceRequest',
};

const errorOf = (path: OtlpSignal, body: Buffer, encoding: OtlpEncoding): string =>
  decodeErrorOf(() => DECODERS[path](body, encoding));

const adviceOf = (sent: OtlpSignal, path: OtlpSignal): string =>
  `The body is an ${REQUESTS[sent]}. Send it to /telemetry/v1/${sent}, not to /telemetry/v1/${path}.`;

function exportedSpans(): Uint8Array[] {
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
  const span = provider.getTracer('agent', '1').startSpan('chat', { attributes: { model: 'gpt-4o' } });
  span.addEvent('first token').setStatus({ code: 2, message: 'late' }).end();
  const spans = memory.getFinishedSpans();
  return [
    otlp.ProtobufTraceSerializer.serializeRequest(spans)!,
    otlp.JsonTraceSerializer.serializeRequest(spans)!,
  ];
}

function exportedLogs(): Uint8Array[] {
  const memory = new InMemoryLogRecordExporter();
  const processors = [new SimpleLogRecordProcessor({ exporter: memory })];
  const logger = new LoggerProvider({ processors }).getLogger('agent', '1');
  const severity = { severityNumber: SeverityNumber.WARN, severityText: 'WARN' };
  logger.emit({ ...severity, body: { text: 'late' }, attributes: { tool: 'weather' } });
  const records = memory.getFinishedLogRecords();
  return [
    otlp.ProtobufLogsSerializer.serializeRequest(records)!,
    otlp.JsonLogsSerializer.serializeRequest(records)!,
  ];
}

async function exportedMetrics(): Promise<Uint8Array[]> {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
  provider.getMeter('agent', '1').createHistogram('duration', { unit: 's' }).record(2);
  await provider.forceFlush();
  const [metrics] = exporter.getMetrics();
  await provider.shutdown();
  return [
    otlp.ProtobufMetricsSerializer.serializeRequest(metrics!)!,
    otlp.JsonMetricsSerializer.serializeRequest(metrics!)!,
  ];
}

const PAIRS = SIGNALS.flatMap((sent) =>
  SIGNALS.filter((path) => path !== sent).map((path) => [sent, path] as const),
);

describe('a request that was sent to the path of another signal', () => {
  let exported: Record<OtlpSignal, Uint8Array[]>;
  beforeAll(async () => {
    exported = { traces: exportedSpans(), logs: exportedLogs(), metrics: await exportedMetrics() };
  });

  it.each(PAIRS)(
    'is rejected with the right path: %s, sent to %s by the official exporters',
    (sent, path) => {
      const [protobuf, json] = exported[sent].map((body) => Buffer.from(body)) as [Buffer, Buffer];
      expect(errorOf(path, protobuf, 'protobuf')).toBe(adviceOf(sent, path));
      expect(errorOf(path, json, 'json')).toBe(adviceOf(sent, path));
      expect(errorOf(sent, protobuf, 'protobuf')).toBe('not rejected');
      expect(errorOf(sent, json, 'json')).toBe('not rejected');
    },
  );

  const time = fixed64(1, 5n);
  const point = message(1, fixed64(3, 5n), double(4, 1));
  const RECORDS: [string, OtlpSignal, Buffer[]][] = [
    ['a span of only ids', 'traces', IDS],
    ['a span without attributes', 'traces', [...IDS, bytes(5, 'chat'), fixed64(7, 5n), fixed64(8, 9n)]],
    ['a log record of only a time', 'logs', [time]],
    ['a log record with ids', 'logs', [time, varint(2, 9), bytes(3, 'INFO'), bytes(9, IDS[0]!.subarray(2))]],
    ['a metric of only a name', 'metrics', [bytes(1, 'calls')]],
    ['a gauge', 'metrics', [bytes(1, 'calls'), message(5, point)]],
    ['a sum', 'metrics', [bytes(1, 'calls'), bytes(2, 'all'), message(7, point, varint(2, 2), varint(3, 1))]],
    ['a histogram', 'metrics', [bytes(1, 'calls'), message(9, message(1, fixed64(3, 5n)), varint(2, 2))]],
    ['a summary', 'metrics', [bytes(1, 'calls'), message(11, message(1, fixed64(3, 5n)))]],
    [
      'a gauge whose texts are as long as ids',
      'metrics',
      [bytes(1, 'sixteen.bytes.xx'), bytes(2, 'eight by'), bytes(3, 's'), message(5, point)],
    ],
    [
      'a histogram whose texts are as long as ids',
      'metrics',
      [bytes(1, 'sixteen.bytes.xx'), bytes(2, 'eight by'), message(9, message(1), varint(2, 2))],
    ],
  ];

  it.each(RECORDS)('is rejected with the right path: %s', (_, sent, fields) => {
    const body = request(message(2, ...fields));
    for (const path of SIGNALS.filter((one) => one !== sent)) {
      expect(errorOf(path, body, 'protobuf')).toBe(adviceOf(sent, path));
    }
  });

  it('is rejected even if its first resources and scopes have no records', () => {
    const resource = message(1, message(1, message(1, ...keyValue('service.name', bytes(1, 'shop')))));
    const scope = message(1, message(2, message(1, bytes(1, 'agent'))));
    const body = Buffer.concat([resource, message(1), scope, request(message(2, ...IDS, fixed64(7, 5n)))]);
    expect(errorOf('logs', body, 'protobuf')).toBe(adviceOf('traces', 'logs'));
    expect(errorOf('traces', body, 'protobuf')).toBe('not rejected');
  });

  it('is rejected in JSON on every level, with the original names of protobuf too', () => {
    const bodies: [object, OtlpSignal][] = [
      [{ resource_logs: [] }, 'logs'],
      [{ resourceSpans: [{ scopeLogs: [] }] }, 'logs'],
      [{ resourceSpans: [{ scopeSpans: [{ metrics: [] }] }] }, 'metrics'],
      [{ resourceSpans: null, resourceMetrics: [] }, 'metrics'],
    ];
    for (const [body, sent] of bodies) {
      expect(errorOf('traces', Buffer.from(JSON.stringify(body)), 'json')).toBe(adviceOf(sent, 'traces'));
    }
  });
});

describe('a request for the path that it was sent to', () => {
  it('may have unusual records and fields of later versions', () => {
    const later = Buffer.concat([bytes(100, 'new'), varint(101, 1), bytes(17, 'new')]);
    const bodies: [OtlpSignal, Buffer[]][] = [
      ['traces', [later, bytes(5, 'without ids')]],
      ['traces', [...IDS, later]],
      ['traces', [bytes(1, 'sixteen.bytes.xx'), bytes(2, 'eight by'), fixed64(7, 5n)]],
      ['traces', [...IDS, message(15, varint(1, 1), varint(3, 2))]],
      ['logs', [later]],
      ['logs', [bytes(4, 'the name of earlier versions'), message(5, bytes(1, 'hello'))]],
      ['logs', [bytes(9, 'short'), bytes(10, 'short'), message(6, ...keyValue('a', bytes(1, 'b')))]],
      ['metrics', [bytes(1, 'calls'), later, message(6, bytes(1, 'of earlier versions'))]],
      ['metrics', [bytes(1, 'a\nb'), message(5)]],
      ['metrics', [bytes(2, 'without a name')]],
      ['metrics', []],
    ];
    for (const [path, fields] of bodies) {
      expect([path, errorOf(path, request(message(2, ...fields)), 'protobuf')]).toEqual([
        path,
        'not rejected',
      ]);
    }
  });

  it('gets a warning if it has only unknown members', () => {
    const { spans, rejected } = decodeTraceRequest(Buffer.from('{"spans": [{}]}'), 'json');
    expect([spans, rejected]).toEqual([
      [],
      { count: 0, reasons: ['The request has no resourceSpans, so nothing was stored.'] },
    ]);
  });
});

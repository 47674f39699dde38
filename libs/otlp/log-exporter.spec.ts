import { SeverityNumber } from '@opentelemetry/api-logs';
import { ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api';
import { JsonLogsSerializer, ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  InMemoryLogRecordExporter,
  LoggerProvider,
  type ReadableLogRecord,
  SimpleLogRecordProcessor,
} from '@opentelemetry/sdk-logs';
import { decodeLogsRequest } from './decode.fixture';
import { encodeExportResponse, type OtlpEncoding } from './index';

const ENCODINGS: OtlpEncoding[] = ['protobuf', 'json'];

/** Requests of the official exporters, and how they read responses. */
const SERIALIZERS = { protobuf: ProtobufLogsSerializer, json: JsonLogsSerializer };

const IDS = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

const request = (encoding: OtlpEncoding, records: ReadableLogRecord[]): Buffer =>
  Buffer.from(SERIALIZERS[encoding].serializeRequest(records) ?? []);

function recorded(): ReadableLogRecord[] {
  const memory = new InMemoryLogRecordExporter();
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ 'service.name': 'shop' }),
    processors: [new SimpleLogRecordProcessor({ exporter: memory })],
  });
  const logger = provider.getLogger('agent', '1.2.3', {
    schemaUrl: 'https://opentelemetry.io/schemas/1.37.0',
  });
  logger.emit({
    timestamp: [1_700_000_000, 123_456_789],
    observedTimestamp: [1_700_000_001, 5],
    severityNumber: SeverityNumber.WARN2,
    severityText: 'WARNING',
    eventName: 'tool.retried',
    body: { text: 'Grüße 🌍', tries: [1, 2.5], nothing: null },
    attributes: { 'tool.name': 'weather', retry: true },
    context: trace.setSpanContext(ROOT_CONTEXT, { ...IDS, traceFlags: TraceFlags.SAMPLED }),
  });
  logger.emit({ body: 'plain' });
  return memory.getFinishedLogRecords();
}

describe('a logs request of the official exporters', () => {
  const records = recorded();

  it.each(ENCODINGS)('keeps everything the SDK recorded (%s)', (encoding) => {
    const decoded = decodeLogsRequest(request(encoding, records), encoding);
    expect(decoded.rejected).toEqual({ count: 0, reasons: [] });
    const [whole, plain] = decoded.logRecords;
    expect(whole).toEqual({
      ...IDS,
      timeUnixNano: 1_700_000_000_123_456_789n,
      observedTimeUnixNano: 1_700_000_001_000_000_005n,
      severityNumber: 14,
      severityText: 'WARNING',
      eventName: 'tool.retried',
      body: { text: 'Grüße 🌍', tries: [1, 2.5], nothing: null },
      attributes: { 'tool.name': 'weather', retry: true },
      droppedAttributesCount: 0,
      flags: TraceFlags.SAMPLED,
      resource: { attributes: { 'service.name': 'shop' }, droppedAttributesCount: 0, schemaUrl: '' },
      scope: {
        name: 'agent',
        version: '1.2.3',
        attributes: {},
        droppedAttributesCount: 0,
        schemaUrl: 'https://opentelemetry.io/schemas/1.37.0',
      },
    });
    expect(plain).toMatchObject({ body: 'plain', traceId: null, spanId: null, severityNumber: 0 });
    expect(plain?.scope).toBe(whole?.scope);
  });

  it.each(ENCODINGS)('reports the number of rejected records and the reasons (%s)', (encoding) => {
    const { deserializeResponse } = SERIALIZERS[encoding];
    const rejection = { count: 3, reasons: ['no body'] };
    const rejectedLogRecords = encoding === 'json' ? '3' : 3;
    expect(deserializeResponse(encodeExportResponse(encoding, 'logs', rejection))).toEqual({
      partialSuccess: { rejectedLogRecords, errorMessage: 'no body' },
    });
    expect(deserializeResponse(encodeExportResponse(encoding, 'logs', { count: 0, reasons: [] }))).toEqual(
      {},
    );
  });
});

import { ValueType } from '@opentelemetry/api';
import { JsonMetricsSerializer, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  AggregationType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { decodeMetricsRequest } from './decode.fixture';
import { encodeExportResponse, type OtlpEncoding } from './index';

const ENCODINGS: OtlpEncoding[] = ['protobuf', 'json'];

/** Requests of the official exporters, and how they read responses. */
const SERIALIZERS = { protobuf: ProtobufMetricsSerializer, json: JsonMetricsSerializer };

const request = (encoding: OtlpEncoding, metrics: ResourceMetrics): Buffer =>
  Buffer.from(SERIALIZERS[encoding].serializeRequest(metrics) ?? []);

async function recorded(): Promise<ResourceMetrics> {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({
    resource: resourceFromAttributes({ 'service.name': 'shop' }),
    readers: [new PeriodicExportingMetricReader({ exporter })],
    views: [
      { instrumentName: 'size', aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM } },
      {
        instrumentName: 'duration',
        aggregation: { type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM, options: { boundaries: [1, 5] } },
      },
    ],
  });
  const meter = provider.getMeter('agent', '1.2.3');
  meter.createCounter('calls', { unit: '{call}', valueType: ValueType.INT }).add(3, { model: 'gpt-4o' });
  meter.createUpDownCounter('open').add(-2.5);
  meter.createGauge('temperature', { description: 'of the room' }).record(21.5);
  meter.createHistogram('duration', { unit: 's' }).record(2);
  meter.createHistogram('size').record(1024);
  await provider.forceFlush();
  const [metrics] = exporter.getMetrics();
  await provider.shutdown();
  return metrics as ResourceMetrics;
}

describe('a metrics request of the official exporters', () => {
  let metrics: ResourceMetrics;
  beforeAll(async () => (metrics = await recorded()));

  it.each(ENCODINGS)('keeps everything the SDK recorded (%s)', (encoding) => {
    const { dataPoints, rejected } = decodeMetricsRequest(request(encoding, metrics), encoding);
    expect(rejected).toEqual({ count: 0, reasons: [] });
    const resource = { attributes: { 'service.name': 'shop' } };
    const scope = { name: 'agent', version: '1.2.3' };
    const sum = { type: 'sum', temporality: 'cumulative', resource, scope };
    const byName = new Map(dataPoints.map((point) => [point.metric.name, point]));
    expect(
      ['calls', 'open', 'temperature', 'duration', 'size'].map((name) => byName.get(name)),
    ).toMatchObject([
      {
        metric: { ...sum, name: 'calls', unit: '{call}', isMonotonic: true },
        value: 3,
        attributes: { model: 'gpt-4o' },
      },
      { metric: { ...sum, name: 'open', isMonotonic: false }, value: -2.5, attributes: {} },
      {
        metric: { name: 'temperature', description: 'of the room', type: 'gauge', temporality: null },
        value: 21.5,
      },
      {
        metric: { name: 'duration', unit: 's', type: 'histogram', temporality: 'cumulative' },
        value: { count: 1, sum: 2, min: 2, max: 2, bucketCounts: [0, 1, 0], explicitBounds: [1, 5] },
      },
      {
        metric: { name: 'size', type: 'exponential_histogram', temporality: 'cumulative' },
        value: { count: 1, sum: 1024, zeroCount: 0, positive: { bucketCounts: [1] } },
      },
    ]);
    const [first] = metrics.scopeMetrics[0]!.metrics;
    const [seconds, nanoseconds] = first!.dataPoints[0]!.endTime;
    expect(dataPoints[0]?.timeUnixNano).toBe(BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds));
  });

  it('is the same in both encodings', () => {
    expect(decodeMetricsRequest(request('json', metrics), 'json')).toEqual(
      decodeMetricsRequest(request('protobuf', metrics), 'protobuf'),
    );
  });

  it.each(ENCODINGS)('reports the number of rejected records and the reasons (%s)', (encoding) => {
    const { deserializeResponse } = SERIALIZERS[encoding];
    const rejection = { count: 3, reasons: ['no value'] };
    const rejectedDataPoints = encoding === 'json' ? '3' : 3;
    expect(deserializeResponse(encodeExportResponse(encoding, 'metrics', rejection))).toEqual({
      partialSuccess: { rejectedDataPoints, errorMessage: 'no value' },
    });
    expect(deserializeResponse(encodeExportResponse(encoding, 'metrics', { count: 0, reasons: [] }))).toEqual(
      {},
    );
  });
});

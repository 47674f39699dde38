import fc from 'fast-check';
import { decodeMetricsRequest } from './decode.fixture';
import {
  attributes,
  count,
  describeSignal,
  double,
  encodersOf,
  hex,
  int64,
  optional,
  text,
  uint64,
} from './request.fixture';

const encoders = encodersOf(`
  message ExportMetricsServiceRequest { repeated ResourceMetrics resource_metrics = 1; }
  message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; string schema_url = 3; }
  message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; string schema_url = 3; }
  message Metric {
    string name = 1; string description = 2; string unit = 3; repeated KeyValue metadata = 12;
    oneof data {
      Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; ExponentialHistogram exponential_histogram = 10;
      Summary summary = 11;
    }
  }
  message Gauge { repeated NumberDataPoint data_points = 1; }
  message Sum {
    repeated NumberDataPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3;
  }
  message Histogram { repeated HistogramDataPoint data_points = 1; int32 aggregation_temporality = 2; }
  message ExponentialHistogram {
    repeated ExponentialHistogramDataPoint data_points = 1; int32 aggregation_temporality = 2;
  }
  message Summary { repeated SummaryDataPoint data_points = 1; }
  message NumberDataPoint {
    repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3;
    oneof value { double as_double = 4; sfixed64 as_int = 6; }
    repeated Exemplar exemplars = 5; uint32 flags = 8;
  }
  message HistogramDataPoint {
    repeated KeyValue attributes = 9; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3;
    fixed64 count = 4; optional double sum = 5; repeated fixed64 bucket_counts = 6;
    repeated double explicit_bounds = 7; repeated Exemplar exemplars = 8; uint32 flags = 10;
    optional double min = 11; optional double max = 12;
  }
  message ExponentialHistogramDataPoint {
    repeated KeyValue attributes = 1; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3;
    fixed64 count = 4; optional double sum = 5; sint32 scale = 6; fixed64 zero_count = 7; Buckets positive = 8;
    Buckets negative = 9; uint32 flags = 10; repeated Exemplar exemplars = 11; optional double min = 12;
    optional double max = 13; double zero_threshold = 14;
  }
  message Buckets { sint32 offset = 1; repeated uint64 bucket_counts = 2; }
  message SummaryDataPoint {
    repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3;
    fixed64 count = 4; double sum = 5; repeated ValueAtQuantile quantile_values = 6; uint32 flags = 8;
  }
  message ValueAtQuantile { double quantile = 1; double value = 2; }
  message Exemplar {
    repeated KeyValue filtered_attributes = 7; fixed64 time_unix_nano = 2;
    oneof value { double as_double = 3; sfixed64 as_int = 6; }
    bytes span_id = 4; bytes trace_id = 5;
  }`);

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const number = fc.oneof(fc.record({ asDouble: double }), fc.record({ asInt: int64 }), fc.constant({}));

const exemplar = fc
  .tuple(
    fc.record(
      { timeUnixNano: uint64, filteredAttributes: attributes, traceId: hex(16), spanId: hex(8) },
      optional,
    ),
    number,
  )
  .map(([fields, value]) => ({ ...fields, ...value }));

const times = { startTimeUnixNano: uint64, timeUnixNano: uint64, attributes, flags: count };
const sampled = { ...times, exemplars: fc.array(exemplar, { maxLength: 2 }) };
const distribution = { ...sampled, count: uint64, sum: double, min: double, max: double };

const numberPoint = fc
  .tuple(fc.record(sampled, optional), number)
  .map(([fields, value]) => ({ ...fields, ...value }));

/** Most of these points have the right number of counts. */
const histogramPoint = fc
  .tuple(
    fc.record(distribution, optional),
    fc.array(double, { maxLength: 4 }),
    fc.integer({ min: -1, max: 1 }),
  )
  .chain(([fields, explicitBounds, off]) => {
    const length = Math.max(0, explicitBounds.length + (off === -1 ? 0 : 1));
    const counts = fc.array(uint64, { minLength: length, maxLength: length });
    return counts.map((bucketCounts) => ({ ...fields, explicitBounds, bucketCounts }));
  });

const buckets = fc.record({ offset: int32, bucketCounts: fc.array(uint64, { maxLength: 4 }) }, optional);
const exponentialPoint = fc.record(
  {
    ...distribution,
    scale: int32,
    zeroCount: uint64,
    zeroThreshold: double,
    positive: buckets,
    negative: buckets,
  },
  optional,
);
const quantile = fc.record({ quantile: double, value: double }, optional);
const summaryPoint = fc.record(
  { ...times, count: uint64, sum: double, quantileValues: fc.array(quantile, { maxLength: 3 }) },
  optional,
);

const data = (point: fc.Arbitrary<unknown>, more: Record<string, fc.Arbitrary<unknown>> = {}) =>
  fc.record({ dataPoints: fc.array(point, { maxLength: 3 }), ...more }, optional);
const aggregationTemporality = fc.integer({ min: -1, max: 4 });
const anyData = fc.oneof(
  fc.record({ gauge: data(numberPoint) }),
  fc.record({ sum: data(numberPoint, { aggregationTemporality, isMonotonic: fc.boolean() }) }),
  fc.record({ histogram: data(histogramPoint, { aggregationTemporality }) }),
  fc.record({ exponentialHistogram: data(exponentialPoint, { aggregationTemporality }) }),
  fc.record({ summary: data(summaryPoint) }),
  fc.constant({}),
);
const metric = fc
  .tuple(fc.record({ name: text, description: text, unit: text, metadata: attributes }, optional), anyData)
  .map(([fields, content]) => ({ ...fields, ...content }));

describe('an export of metrics', () => {
  describeSignal({
    names: ['resourceMetrics', 'scopeMetrics', 'metrics'],
    item: metric,
    fields: ['name', 'unit', 'gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary', 'metadata'],
    encoders,
    decode: decodeMetricsRequest,
  });
});

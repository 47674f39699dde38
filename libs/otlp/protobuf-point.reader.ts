import {
  type MetricDraft,
  newDataPoint,
  newExemplar,
  newExponentialHistogram,
  newHistogram,
  newSummary,
} from './metric.draft';
import type {
  OtlpBuckets,
  OtlpDataPoint,
  OtlpExemplar,
  OtlpExponentialHistogram,
  OtlpHistogram,
  OtlpMetricType,
  OtlpNumber,
  OtlpSummary,
} from './metric.types';
import { normalizeIds, SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';
import { fieldsOf, type ProtobufValueReader } from './protobuf-value.reader';

/** Reads one data point of a metric of this type (metrics.proto). Repeated numbers may be packed or not. */
export function readPoint(
  values: ProtobufValueReader,
  metric: MetricDraft,
  type: OtlpMetricType,
): OtlpDataPoint {
  values.counter.countRecord();
  values.counter.startRecord();
  switch (type) {
    case 'histogram':
      return values.message(newDataPoint(metric, newHistogram()), HISTOGRAM);
    case 'exponential_histogram':
      return values.message(newDataPoint(metric, newExponentialHistogram()), EXPONENTIAL_HISTOGRAM);
    case 'summary':
      return values.message(newDataPoint(metric, newSummary()), SUMMARY);
    default:
      return values.message(newDataPoint<OtlpNumber | null>(metric, null), NUMBER);
  }
}

type Point<Value> = OtlpDataPoint & { value: Value };

const startTime = (point: OtlpDataPoint, values: ProtobufValueReader) =>
  (point.startTimeUnixNano = values.fixed64());
const time = (point: OtlpDataPoint, values: ProtobufValueReader) => (point.timeUnixNano = values.fixed64());
const flags = (point: OtlpDataPoint, values: ProtobufValueReader) => (point.flags = values.reader.uint32());

function exemplar(point: OtlpDataPoint, values: ProtobufValueReader): void {
  values.counter.countRecord();
  point.exemplars.push(normalizeIds(values.message(newExemplar(), EXEMPLAR)));
}

const NUMBER = fieldsOf<OtlpDataPoint>(
  {
    17: startTime,
    25: time,
    33: (point, values) => (point.value = values.double()),
    42: exemplar,
    49: (point, values) => (point.value = values.sfixed64Integer()),
    64: flags,
  },
  58,
);

function bucketCount({ value }: Point<OtlpHistogram>, values: ProtobufValueReader): void {
  values.counter.countBucket();
  value.bucketCounts.push(values.fixed64Integer());
}

const explicitBound = ({ value }: Point<OtlpHistogram>, values: ProtobufValueReader) =>
  value.explicitBounds.push(values.double());

const HISTOGRAM = fieldsOf<Point<OtlpHistogram>>(
  {
    17: startTime,
    25: time,
    33: ({ value }, values) => (value.count = values.fixed64Integer()),
    41: ({ value }, values) => (value.sum = values.double()),
    49: bucketCount,
    50: (point, values) => values.readPacked(point, bucketCount),
    57: explicitBound,
    58: (point, values) => values.readPacked(point, explicitBound),
    66: exemplar,
    80: flags,
    89: ({ value }, values) => (value.min = values.double()),
    97: ({ value }, values) => (value.max = values.double()),
  },
  74,
);

const EXPONENTIAL_HISTOGRAM = fieldsOf<Point<OtlpExponentialHistogram>>(
  {
    17: startTime,
    25: time,
    33: ({ value }, values) => (value.count = values.fixed64Integer()),
    41: ({ value }, values) => (value.sum = values.double()),
    48: ({ value }, values) => (value.scale = values.reader.sint32()),
    57: ({ value }, values) => (value.zeroCount = values.fixed64Integer()),
    66: ({ value }, values) => values.message(value.positive, BUCKETS),
    74: ({ value }, values) => values.message(value.negative, BUCKETS),
    80: flags,
    90: exemplar,
    97: ({ value }, values) => (value.min = values.double()),
    105: ({ value }, values) => (value.max = values.double()),
    113: ({ value }, values) => (value.zeroThreshold = values.double()),
  },
  10,
);

function exponentialCount({ bucketCounts }: OtlpBuckets, values: ProtobufValueReader): void {
  values.counter.countBucket();
  bucketCounts.push(values.uint64());
}

const BUCKETS = fieldsOf<OtlpBuckets>({
  8: (buckets, values) => (buckets.offset = values.reader.sint32()),
  16: exponentialCount,
  18: (buckets, values) => values.readPacked(buckets, exponentialCount),
});

const SUMMARY = fieldsOf<Point<OtlpSummary>>(
  {
    17: startTime,
    25: time,
    33: ({ value }, values) => (value.count = values.fixed64Integer()),
    41: ({ value }, values) => (value.sum = values.double()),
    50: ({ value }, values) => {
      values.counter.countRecord();
      value.quantiles.push(values.message({ quantile: 0, value: 0 }, QUANTILE));
    },
    64: flags,
  },
  58,
);

const QUANTILE = fieldsOf<OtlpSummary['quantiles'][number]>({
  9: (quantile, values) => (quantile.quantile = values.double()),
  17: (quantile, values) => (quantile.value = values.double()),
});

const EXEMPLAR = fieldsOf<OtlpExemplar>(
  {
    17: (exemplar, values) => (exemplar.timeUnixNano = values.fixed64()),
    25: (exemplar, values) => (exemplar.value = values.double()),
    34: (exemplar, values) => (exemplar.spanId = values.id(SPAN_ID_BYTES)),
    42: (exemplar, values) => (exemplar.traceId = values.id(TRACE_ID_BYTES)),
    49: (exemplar, values) => (exemplar.value = values.sfixed64Integer()),
  },
  58,
);

import type { ElementCounter } from './element.counter';
import {
  finishExemplar,
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
  OtlpMetricType,
  OtlpNumber,
  OtlpSummary,
} from './metric.types';
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';
import type { ProtobufValueReader } from './protobuf-value.reader';

/** Reads the data points of metrics.proto. The numbers of repeated fields may be packed or not. */
export class ProtobufPointReader {
  constructor(
    private readonly values: ProtobufValueReader,
    private readonly counter: ElementCounter,
  ) {}

  /** Reads one data point of a metric of this type. */
  point(metric: MetricDraft, type: OtlpMetricType): OtlpDataPoint {
    this.counter.countRecord();
    this.counter.startRecord();
    const outerEnd = this.values.enter();
    const point = this.pointOf(metric, type);
    this.values.leave(outerEnd);
    return point;
  }

  private pointOf(metric: MetricDraft, type: OtlpMetricType): OtlpDataPoint {
    switch (type) {
      case 'histogram':
        return this.histogramPoint(metric);
      case 'exponential_histogram':
        return this.exponentialPoint(metric);
      case 'summary':
        return this.summaryPoint(metric);
      default:
        return this.numberPoint(metric);
    }
  }

  private numberPoint(metric: MetricDraft): OtlpDataPoint {
    const { values } = this;
    const { reader } = values;
    const point = newDataPoint<OtlpNumber | null>(metric, null);
    let attributes = 0;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 17: // start_time_unix_nano = 2
          point.startTimeUnixNano = values.fixed64();
          break;
        case 25: // time_unix_nano = 3
          point.timeUnixNano = values.fixed64();
          break;
        case 33: // as_double = 4
          point.value = values.double();
          break;
        case 42: // exemplars = 5
          this.exemplar(point);
          break;
        case 49: // as_int = 6
          point.value = values.sfixed64Integer();
          break;
        case 58: // attributes = 7
          values.attribute(point, attributes++);
          break;
        case 64: // flags = 8
          point.flags = reader.uint32();
          break;
        default:
          values.skip(tag);
      }
    }
    return point;
  }

  private histogramPoint(metric: MetricDraft): OtlpDataPoint {
    const { values } = this;
    const { reader } = values;
    const histogram = newHistogram();
    const point = newDataPoint(metric, histogram);
    let attributes = 0;
    const bucketCount = () => {
      this.counter.countBucket();
      histogram.bucketCounts.push(values.fixed64Integer());
    };
    const explicitBound = () => void histogram.explicitBounds.push(values.double());
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 17: // start_time_unix_nano = 2
          point.startTimeUnixNano = values.fixed64();
          break;
        case 25: // time_unix_nano = 3
          point.timeUnixNano = values.fixed64();
          break;
        case 33: // count = 4
          histogram.count = values.fixed64Integer();
          break;
        case 41: // sum = 5
          histogram.sum = values.double();
          break;
        case 49: // bucket_counts = 6
          bucketCount();
          break;
        case 50:
          values.readPacked(bucketCount);
          break;
        case 57: // explicit_bounds = 7
          explicitBound();
          break;
        case 58:
          values.readPacked(explicitBound);
          break;
        case 66: // exemplars = 8
          this.exemplar(point);
          break;
        case 74: // attributes = 9
          values.attribute(point, attributes++);
          break;
        case 80: // flags = 10
          point.flags = reader.uint32();
          break;
        case 89: // min = 11
          histogram.min = values.double();
          break;
        case 97: // max = 12
          histogram.max = values.double();
          break;
        default:
          values.skip(tag);
      }
    }
    return point;
  }

  private exponentialPoint(metric: MetricDraft): OtlpDataPoint {
    const { values } = this;
    const { reader } = values;
    const histogram = newExponentialHistogram();
    const point = newDataPoint(metric, histogram);
    let attributes = 0;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 10: // attributes = 1
          values.attribute(point, attributes++);
          break;
        case 17: // start_time_unix_nano = 2
          point.startTimeUnixNano = values.fixed64();
          break;
        case 25: // time_unix_nano = 3
          point.timeUnixNano = values.fixed64();
          break;
        case 33: // count = 4
          histogram.count = values.fixed64Integer();
          break;
        case 41: // sum = 5
          histogram.sum = values.double();
          break;
        case 48: // scale = 6
          histogram.scale = reader.sint32();
          break;
        case 57: // zero_count = 7
          histogram.zeroCount = values.fixed64Integer();
          break;
        case 66: // positive = 8
          this.buckets(histogram.positive);
          break;
        case 74: // negative = 9
          this.buckets(histogram.negative);
          break;
        case 80: // flags = 10
          point.flags = reader.uint32();
          break;
        case 90: // exemplars = 11
          this.exemplar(point);
          break;
        case 97: // min = 12
          histogram.min = values.double();
          break;
        case 105: // max = 13
          histogram.max = values.double();
          break;
        case 113: // zero_threshold = 14
          histogram.zeroThreshold = values.double();
          break;
        default:
          values.skip(tag);
      }
    }
    return point;
  }

  private buckets(buckets: OtlpBuckets): void {
    const { values } = this;
    const { reader } = values;
    const outerEnd = values.enter();
    const bucketCount = () => {
      this.counter.countBucket();
      buckets.bucketCounts.push(values.uint64());
    };
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 8: // offset = 1
          buckets.offset = reader.sint32();
          break;
        case 16: // bucket_counts = 2
          bucketCount();
          break;
        case 18:
          values.readPacked(bucketCount);
          break;
        default:
          values.skip(tag);
      }
    }
    values.leave(outerEnd);
  }

  private summaryPoint(metric: MetricDraft): OtlpDataPoint {
    const { values } = this;
    const { reader } = values;
    const summary = newSummary();
    const point = newDataPoint(metric, summary);
    let attributes = 0;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 17: // start_time_unix_nano = 2
          point.startTimeUnixNano = values.fixed64();
          break;
        case 25: // time_unix_nano = 3
          point.timeUnixNano = values.fixed64();
          break;
        case 33: // count = 4
          summary.count = values.fixed64Integer();
          break;
        case 41: // sum = 5
          summary.sum = values.double();
          break;
        case 50: // quantile_values = 6
          summary.quantiles.push(this.quantile());
          break;
        case 58: // attributes = 7
          values.attribute(point, attributes++);
          break;
        case 64: // flags = 8
          point.flags = reader.uint32();
          break;
        default:
          values.skip(tag);
      }
    }
    return point;
  }

  private exemplar(point: OtlpDataPoint): void {
    this.counter.countRecord();
    point.exemplars.push(readExemplar(this.values));
  }

  private quantile(): OtlpSummary['quantiles'][number] {
    const { values } = this;
    const { reader } = values;
    this.counter.countRecord();
    const outerEnd = values.enter();
    const quantile: OtlpSummary['quantiles'][number] = { quantile: 0, value: 0 };
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      if (tag === 9 /* quantile = 1 */) {
        quantile.quantile = values.double();
      } else if (tag === 17 /* value = 2 */) {
        quantile.value = values.double();
      } else {
        values.skip(tag);
      }
    }
    values.leave(outerEnd);
    return quantile;
  }
}

/** Reads an Exemplar of metrics.proto. */
function readExemplar(values: ProtobufValueReader): OtlpExemplar {
  const { reader } = values;
  const outerEnd = values.enter();
  const exemplar = newExemplar();
  let attributes = 0;
  while (reader.pos < reader.len) {
    const tag = reader.tag();
    switch (tag) {
      case 17: // time_unix_nano = 2
        exemplar.timeUnixNano = values.fixed64();
        break;
      case 25: // as_double = 3
        exemplar.value = values.double();
        break;
      case 34: // span_id = 4
        exemplar.spanId = values.id(SPAN_ID_BYTES);
        break;
      case 42: // trace_id = 5
        exemplar.traceId = values.id(TRACE_ID_BYTES);
        break;
      case 49: // as_int = 6
        exemplar.value = values.sfixed64Integer();
        break;
      case 58: // filtered_attributes = 7
        values.attribute(exemplar, attributes++);
        break;
      default:
        values.skip(tag);
    }
  }
  values.leave(outerEnd);
  return finishExemplar(exemplar);
}

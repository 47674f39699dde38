import { INT64, type JsonObject, type JsonValueReader, UINT64 } from './json-value.reader';
import { type MetricDraft, newDataPoint } from './metric.draft';
import type {
  OtlpBuckets,
  OtlpDataPoint,
  OtlpExemplar,
  OtlpExponentialHistogram,
  OtlpHistogram,
  OtlpNumber,
  OtlpSummary,
} from './metric.types';
import { normalizeIds, SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';

/** Reads the data points of metrics.proto. */
export class JsonPointReader {
  constructor(private readonly values: JsonValueReader) {}

  /** Reads one data point of a metric, whose type is known. */
  point(item: unknown, metric: MetricDraft): OtlpDataPoint {
    const { values } = this;
    this.values.counter.countRecord();
    this.values.counter.startRecord();
    const source = values.element(item, 'a data point');
    const point = newDataPoint(metric, this.value(source, metric));
    const startTime = source.startTimeUnixNano ?? source.start_time_unix_nano;
    point.startTimeUnixNano = values.uint64(startTime, 'startTimeUnixNano');
    point.timeUnixNano = values.uint64(source.timeUnixNano ?? source.time_unix_nano, 'timeUnixNano');
    point.attributes = values.attributes(source.attributes);
    point.flags = values.uint32(source.flags, 'flags');
    // Points of a summary have no exemplars.
    const exemplars = metric.type === 'summary' ? undefined : source.exemplars;
    point.exemplars = values.list(exemplars, 'exemplars').map((exemplar) => this.exemplar(exemplar));
    return point;
  }

  private value(source: JsonObject, metric: MetricDraft): OtlpDataPoint['value'] {
    switch (metric.type) {
      case 'histogram':
        return this.histogram(source);
      case 'exponential_histogram':
        return this.exponentialHistogram(source);
      case 'summary':
        return this.summary(source);
      default:
        return this.number(source);
    }
  }

  /** Reads a number. Prefers `asDouble` if both exclusive members are present. */
  private number(source: JsonObject): OtlpNumber | null {
    const asDouble = this.optionalDouble(source.asDouble ?? source.as_double, 'asDouble');
    const asInt = source.asInt ?? source.as_int;
    if (asDouble !== null || asInt === undefined || asInt === null) return asDouble;
    return this.values.integer(asInt, INT64, 'asInt');
  }

  private histogram(source: JsonObject): OtlpHistogram {
    const { values } = this;
    const bounds = values.list(source.explicitBounds ?? source.explicit_bounds, 'explicitBounds');
    return {
      ...this.distribution(source),
      bucketCounts: this.bucketCounts(source),
      explicitBounds: bounds.map((bound) => values.double(this.requireNumber(bound), 'a bound')),
    };
  }

  private exponentialHistogram(source: JsonObject): OtlpExponentialHistogram {
    const { values } = this;
    return {
      ...this.distribution(source),
      scale: values.int32(source.scale, 'scale'),
      zeroCount: values.integer(source.zeroCount ?? source.zero_count, UINT64, 'zeroCount'),
      zeroThreshold: values.double(source.zeroThreshold ?? source.zero_threshold, 'zeroThreshold'),
      positive: this.buckets(source.positive, 'positive'),
      negative: this.buckets(source.negative, 'negative'),
    };
  }

  private distribution(source: JsonObject): Pick<OtlpHistogram, 'count' | 'sum' | 'min' | 'max'> {
    return {
      count: this.values.integer(source.count, UINT64, 'count'),
      sum: this.optionalDouble(source.sum, 'sum'),
      min: this.optionalDouble(source.min, 'min'),
      max: this.optionalDouble(source.max, 'max'),
    };
  }

  private buckets(item: unknown, field: string): OtlpBuckets {
    const source = this.values.object(item, field);
    return {
      offset: this.values.int32(source.offset, 'offset'),
      bucketCounts: this.bucketCounts(source),
    };
  }

  private bucketCounts(source: JsonObject): OtlpNumber[] {
    const { values } = this;
    const counts = values.list(source.bucketCounts ?? source.bucket_counts, 'bucketCounts');
    return counts.map((count) => {
      this.values.counter.countBucket();
      return values.integer(this.requireNumber(count), UINT64, 'a bucket count');
    });
  }

  private summary(source: JsonObject): OtlpSummary {
    const { values } = this;
    const quantiles = values.list(source.quantileValues ?? source.quantile_values, 'quantileValues');
    return {
      count: values.integer(source.count, UINT64, 'count'),
      sum: values.double(source.sum, 'sum'),
      quantiles: quantiles.map((item) => {
        this.values.counter.countRecord();
        const quantile = values.element(item, 'a quantile');
        return {
          quantile: values.double(quantile.quantile, 'quantile'),
          value: values.double(quantile.value, 'value'),
        };
      }),
    };
  }

  private exemplar(item: unknown): OtlpExemplar {
    const { values } = this;
    this.values.counter.countRecord();
    const exemplar = values.element(item, 'an exemplar');
    return normalizeIds({
      timeUnixNano: values.uint64(exemplar.timeUnixNano ?? exemplar.time_unix_nano, 'timeUnixNano'),
      value: this.number(exemplar),
      traceId: values.id(exemplar.traceId ?? exemplar.trace_id, TRACE_ID_BYTES, 'traceId'),
      spanId: values.id(exemplar.spanId ?? exemplar.span_id, SPAN_ID_BYTES, 'spanId'),
      attributes: values.attributes(exemplar.filteredAttributes ?? exemplar.filtered_attributes),
    });
  }

  private optionalDouble(value: unknown, field: string): OtlpNumber | null {
    return value === undefined || value === null ? null : this.values.double(value, field);
  }

  /** Replaces null with a value that is not a number, because null in a list does not mean the default. */
  private requireNumber(value: unknown): unknown {
    return value ?? '';
  }
}

import type { OtlpAttributes, OtlpRejection, OtlpResource, OtlpScope } from './otlp.types';

/** The kinds of data of a Metric of metrics.proto. */
export const METRIC_TYPES = ['gauge', 'sum', 'histogram', 'exponential_histogram', 'summary'] as const;
export type OtlpMetricType = (typeof METRIC_TYPES)[number];

/** Temporalities, in the order of the enumeration AggregationTemporality. Unknown values are 'unspecified'. */
export const TEMPORALITIES = ['unspecified', 'delta', 'cumulative'] as const;
export type OtlpTemporality = (typeof TEMPORALITIES)[number];

/**
 * A number as plain JSON. A 64-bit integer is a number if that is exact (up to ±(2^53 - 1)), else its decimal text. NaN and
 * the infinities are the texts "NaN", "Infinity" and "-Infinity".
 */
export type OtlpNumber = number | string;

/** The part that the data points of a metric share: one object for all of them. */
export interface OtlpMetric {
  /** Not empty. */
  name: string;
  description: string;
  /** In UCUM notation; empty if not sent. */
  unit: string;
  type: OtlpMetricType;
  /** Null for a gauge and a summary, which have no temporality. */
  temporality: OtlpTemporality | null;
  /** Null unless it is a sum. */
  isMonotonic: boolean | null;
  metadata: OtlpAttributes;
  resource: OtlpResource;
  scope: OtlpScope;
}

/** One of the measurements behind a data point. */
export interface OtlpExemplar {
  /** Nanoseconds since 1970, unsigned 64 bits; 0 if not sent. */
  timeUnixNano: bigint;
  /** Null if not sent. */
  value: OtlpNumber | null;
  /** 32 lower-case hexadecimal digits; null if empty, all zero or malformed. */
  traceId: string | null;
  /** 16 lower-case hexadecimal digits; null if empty, all zero or malformed. */
  spanId: string | null;
  /** Attributes of the measurement that are not attributes of the data point. */
  attributes: OtlpAttributes;
}

interface Distribution {
  count: OtlpNumber;
  /** Null if not sent, like the next two. */
  sum: OtlpNumber | null;
  min: OtlpNumber | null;
  max: OtlpNumber | null;
}

export interface OtlpHistogram extends Distribution {
  /** One more item than the bounds, or both are empty. */
  bucketCounts: OtlpNumber[];
  explicitBounds: OtlpNumber[];
}

/** Counts of consecutive buckets, starting at the index `offset`. */
export interface OtlpBuckets {
  /** 32 bits, signed. */
  offset: number;
  bucketCounts: OtlpNumber[];
}

export interface OtlpExponentialHistogram extends Distribution {
  /** 32 bits, signed. The bucket with an index ends at the power index + 1 of 2^(2^-scale). */
  scale: number;
  zeroCount: OtlpNumber;
  zeroThreshold: OtlpNumber;
  positive: OtlpBuckets;
  negative: OtlpBuckets;
}

export interface OtlpSummary {
  count: OtlpNumber;
  sum: OtlpNumber;
  quantiles: { quantile: OtlpNumber; value: OtlpNumber }[];
}

/** A number for a gauge or a sum; an object for the other types. */
export type OtlpPointValue = OtlpNumber | OtlpHistogram | OtlpExponentialHistogram | OtlpSummary;

/** A valid data point. Missing fields have the default of protobuf: empty string, 0, empty list. */
export interface OtlpDataPoint {
  metric: OtlpMetric;
  attributes: OtlpAttributes;
  /** Nanoseconds since 1970, unsigned 64 bits; 0 if unknown. */
  startTimeUnixNano: bigint;
  /** Nanoseconds since 1970, unsigned 64 bits; 0 if not sent. */
  timeUnixNano: bigint;
  /** Unsigned 32 bits; bit 0 means no recorded value. */
  flags: number;
  /** Null only for a number that was not recorded, according to its `flags`. */
  value: OtlpPointValue | null;
  exemplars: OtlpExemplar[];
}

export interface DecodedMetricsRequest {
  /** The valid data points, in the order of the request. */
  dataPoints: OtlpDataPoint[];
  rejected: OtlpRejection;
  /** Number of records and their parts, valid or not, see `MAX_RECORDS`. */
  recordCount: number;
}

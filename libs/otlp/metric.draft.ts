import { METRIC_TYPES, type OtlpDataPoint, type OtlpExemplar, type OtlpMetric } from './metric.types';
import type { OtlpExponentialHistogram, OtlpHistogram, OtlpMetricType, OtlpSummary } from './metric.types';
import type { OtlpResource, OtlpScope } from './otlp.types';
import type { RecordKind } from './record.collector';

/** DataPointFlags.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK */
const NO_RECORDED_VALUE = 1;

/** Texts of faults. The response to the sender contains them. */
const MetricFault = {
  name: 'a metric must have a name',
  data: `a metric must have data of a known kind: ${METRIC_TYPES.join(', ')}`,
  value: 'a data point must have a value (asDouble or asInt), or the flag for no recorded value',
  buckets: 'bucketCounts must have one more item than explicitBounds, or both must be empty',
} as const;

/** The records of a metrics request. */
export const DATA_POINTS: RecordKind<OtlpDataPoint> = {
  one: 'data point',
  many: 'data points',
  countedParts: 'resources, scopes, metrics, data points, exemplars and quantiles',
  finish: faultOfPoint,
};

/** A metric while it is read. Its type is known once its data is read. */
export type MetricDraft = Omit<OtlpMetric, 'type'> & { type: OtlpMetricType | undefined };

/** Creates a metric with the defaults of protobuf, for a reader to fill. */
export function newMetric(resource: OtlpResource, scope: OtlpScope): MetricDraft {
  return {
    name: '',
    description: '',
    unit: '',
    type: undefined,
    temporality: null,
    isMonotonic: null,
    metadata: {},
    resource,
    scope,
  };
}

/** Sets the type of a metric, with the defaults of that type. */
export function setType(metric: MetricDraft, type: OtlpMetricType): void {
  metric.type = type;
  metric.temporality = type === 'gauge' || type === 'summary' ? null : 'unspecified';
  metric.isMonotonic = type === 'sum' ? false : null;
}

/** Creates a data point with the defaults of protobuf, for a reader to fill. */
export function newDataPoint<Value extends OtlpDataPoint['value']>(
  metric: MetricDraft,
  value: Value,
): OtlpDataPoint & { value: Value } {
  return {
    // The type is known before the points are read, and its presence is checked before they are collected.
    metric: metric as OtlpMetric,
    attributes: {},
    startTimeUnixNano: 0n,
    timeUnixNano: 0n,
    flags: 0,
    value,
    exemplars: [],
  };
}

export const newHistogram = (): OtlpHistogram => ({
  count: 0,
  sum: null,
  min: null,
  max: null,
  bucketCounts: [],
  explicitBounds: [],
});

export const newExponentialHistogram = (): OtlpExponentialHistogram => ({
  count: 0,
  sum: null,
  min: null,
  max: null,
  scale: 0,
  zeroCount: 0,
  zeroThreshold: 0,
  positive: { offset: 0, bucketCounts: [] },
  negative: { offset: 0, bucketCounts: [] },
});

export const newSummary = (): OtlpSummary => ({ count: 0, sum: 0, quantiles: [] });

/** Creates an exemplar with the defaults of protobuf. A reader fills it and then normalizes its ids. */
export const newExemplar = (): OtlpExemplar => ({
  timeUnixNano: 0n,
  value: null,
  traceId: '',
  spanId: '',
  attributes: {},
});

/** Returns why all data points of a metric are invalid; undefined if they are not. */
export function faultOfMetric(metric: MetricDraft): string | undefined {
  if (metric.name === '') return MetricFault.name;
  return metric.type === undefined ? MetricFault.data : undefined;
}

function faultOfPoint({ metric, value, flags }: OtlpDataPoint): string | undefined {
  if (value === null) return flags & NO_RECORDED_VALUE ? undefined : MetricFault.value;
  if (metric.type !== 'histogram') return undefined;
  const { bucketCounts, explicitBounds } = value as OtlpHistogram;
  const isEmpty = bucketCounts.length === 0 && explicitBounds.length === 0;
  return isEmpty || bucketCounts.length === explicitBounds.length + 1 ? undefined : MetricFault.buckets;
}

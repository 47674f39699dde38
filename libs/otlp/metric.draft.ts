import { METRIC_TYPES, type OtlpDataPoint, type OtlpExemplar, type OtlpMetric } from './metric.types';
import type { OtlpExponentialHistogram, OtlpHistogram, OtlpMetricType, OtlpSummary } from './metric.types';
import { knownId } from './stored-value';
import type { OtlpResource, OtlpScope } from './otlp.types';
import type { RecordKind } from './record.collector';

/** DataPointFlags.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK */
const NO_RECORDED_VALUE = 1;

/** The texts are part of the answer to the sender. */
const MetricFault = {
  name: 'a metric must have a name',
  data: `a metric must have data of a kind that is known: ${METRIC_TYPES.join(', ')}`,
  value: 'a data point must have a value (asDouble or asInt), or the flag that none was recorded',
  buckets: 'bucketCounts must be one more than explicitBounds, or both must be empty',
} as const;

/** Data points, as a request holds them. */
export const DATA_POINTS: RecordKind<OtlpDataPoint> = {
  one: 'data point',
  many: 'data points',
  counted: 'resources, scopes, metrics, data points, exemplars and quantiles',
  finish: faultOfPoint,
};

/** A metric while it is read: which type it has is known by its data. */
export type MetricDraft = Omit<OtlpMetric, 'type'> & { type: OtlpMetricType | undefined };

/** A metric with the defaults of protobuf, to be filled by a reader. */
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

/** Makes it a metric of this type, with the defaults of it. */
export function becomeType(metric: MetricDraft, type: OtlpMetricType): void {
  metric.type = type;
  metric.temporality = type === 'gauge' || type === 'summary' ? null : 'unspecified';
  metric.isMonotonic = type === 'sum' ? false : null;
}

/** A data point with the defaults of protobuf, to be filled by a reader. */
export function newDataPoint<Value extends OtlpDataPoint['value']>(
  metric: MetricDraft,
  value: Value,
): OtlpDataPoint & { value: Value } {
  return {
    // Its type is known before any of its points is read, and that there is one before any is collected.
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

/** An exemplar with the defaults of protobuf, to be filled by a reader, which then calls {@link finishExemplar}. */
export const newExemplar = (): OtlpExemplar => ({
  timeUnixNano: 0n,
  value: null,
  traceId: '',
  spanId: '',
  attributes: {},
});

/** Brings the ids of a filled exemplar into their final form. It may belong to no span. */
export function finishExemplar(exemplar: OtlpExemplar): OtlpExemplar {
  exemplar.traceId = knownId(exemplar.traceId);
  exemplar.spanId = knownId(exemplar.spanId);
  return exemplar;
}

/** Why none of the data points of a metric can be kept, if so. */
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

import type { OtlpDataPoint, OtlpExemplar, OtlpPointValue } from '#otlp';
import { sentTime } from '../logs/log-record';
import { type Source, SourceReader } from '../sources/source-record';
import { serviceNameOf } from '../sources/service-name';
import { nanosecondTime } from '../traces/span-record';

/** A data point as it is stored. */
export interface PointRow {
  workspaceId: string;
  point: OtlpDataPoint;
  source: Source;
  serviceName: string | null;
  /** Microseconds since 1970; null where they were not sent. */
  measuredAt: bigint | null;
  startedAt: bigint | null;
}

/** The data points of one export as they are to be stored, in their order. */
export function toPointRows(workspaceId: string, points: readonly OtlpDataPoint[]): PointRow[] {
  const sources = new SourceReader();
  return points.map((point) => ({
    workspaceId,
    point,
    source: sources.sourceOf(point.metric),
    serviceName: serviceNameOf(point.metric.resource),
    measuredAt: sentTime(point.timeUnixNano),
    startedAt: sentTime(point.startTimeUnixNano),
  }));
}

/** JSON text of a point's value; null for none. */
export const valueJson = (value: OtlpPointValue | null): string | null =>
  value === null ? null : JSON.stringify(typeof value === 'object' ? distribution(value) : value);

/** The same in the words of the service's own JSON. */
function distribution(value: Exclude<OtlpPointValue, string | number>): object {
  const { count, sum } = value;
  if ('quantiles' in value) return { count, sum, quantiles: value.quantiles };
  const { min, max } = value;
  if ('explicitBounds' in value) {
    return { count, sum, min, max, bucket_counts: value.bucketCounts, explicit_bounds: value.explicitBounds };
  }
  return {
    count,
    sum,
    min,
    max,
    scale: value.scale,
    zero_count: value.zeroCount,
    zero_threshold: value.zeroThreshold,
    positive: { offset: value.positive.offset, bucket_counts: value.positive.bucketCounts },
    negative: { offset: value.negative.offset, bucket_counts: value.negative.bucketCounts },
  };
}

/** JSON text of a point's exemplars; null for none. */
export const exemplarsJson = (exemplars: readonly OtlpExemplar[]): string | null =>
  exemplars.length === 0
    ? null
    : JSON.stringify(
        exemplars.map((exemplar) => ({
          timestamp: nanosecondTime(exemplar.timeUnixNano),
          value: exemplar.value,
          trace_id: exemplar.traceId,
          span_id: exemplar.spanId,
          attributes: exemplar.attributes,
        })),
      );

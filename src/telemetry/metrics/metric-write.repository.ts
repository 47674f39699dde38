import { Injectable } from '@nestjs/common';
import type { OtlpAttributes, OtlpDataPoint, OtlpExemplar, OtlpPointValue } from '#otlp';
import { type BulkColumn, BulkColumns, inChunks, prepared, sql, type Tx } from '#platform/db';
import { TODAY } from '../partitions/day-partition.repository';
import { serviceNameOf, type Source, SourceCache } from '../sources/source-record';
import { microsecondsOrNull, nanosecondTime } from '../traces/span-record';

/** A data point to store. */
export interface PointRow {
  workspaceId: string;
  point: OtlpDataPoint;
  source: Source;
  serviceName: string | null;
  /** Microseconds since 1970; null if the sender sent none. */
  measuredAt: bigint | null;
  startedAt: bigint | null;
  /** JSON texts, prepared in advance because building a statement cannot pause. */
  value: string | null;
  attributes: string;
  exemplars: string | null;
  metadata: string | null;
}

/** Prepares the data points of one export to be stored, in their order. */
export function* toPointRows(
  workspaceId: string,
  points: readonly OtlpDataPoint[],
): Generator<void, PointRow[]> {
  const sources = new SourceCache();
  const rows: PointRow[] = [];
  for (const point of points) {
    rows.push({
      workspaceId,
      point,
      source: sources.sourceOf(point.metric),
      serviceName: serviceNameOf(point.metric.resource),
      measuredAt: microsecondsOrNull(point.timeUnixNano),
      startedAt: microsecondsOrNull(point.startTimeUnixNano),
      value: valueJson(point.value),
      attributes: JSON.stringify(point.attributes),
      exemplars: exemplarsJson(point.exemplars),
      metadata: metadataJson(point.metric.metadata),
    });
    yield;
  }
  return rows;
}

/** Returns a point's value as JSON; null without a value. */
const valueJson = (value: OtlpPointValue | null): string | null =>
  value === null ? null : JSON.stringify(typeof value === 'object' ? distribution(value) : value);

/** Converts the members of a distribution to the names of the service's API. */
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

/** Returns a point's exemplars as JSON; null without exemplars. */
const exemplarsJson = (exemplars: readonly OtlpExemplar[]): string | null =>
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

const metadataJson = (metadata: OtlpAttributes): string | null =>
  Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata);

/** Converts a boolean to an integer, which the statement converts back. */
const bit = (value: boolean | null): number | null => (value === null ? null : Number(value));

const COLUMNS: BulkColumn<PointRow>[] = [
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'started_at', type: 'timestamptz', value: ({ startedAt }) => startedAt },
  { name: 'flags', type: 'int8', value: ({ point }) => point.flags },
  { name: 'source_id', type: 'uuid', value: ({ source }) => source.id },
  { name: 'name', type: 'text', value: ({ point }) => point.metric.name },
  { name: 'type', type: 'text', value: ({ point }) => point.metric.type },
  { name: 'temporality', type: 'text', value: ({ point }) => point.metric.temporality },
  { name: 'unit', type: 'text', value: ({ point }) => point.metric.unit || null },
  { name: 'description', type: 'text', value: ({ point }) => point.metric.description || null },
  { name: 'service_name', type: 'text', value: ({ serviceName }) => serviceName },
  { name: 'value', type: 'json', value: ({ value }) => value },
  { name: 'attributes', type: 'json', value: ({ attributes }) => attributes },
  { name: 'exemplars', type: 'json', value: ({ exemplars }) => exemplars },
  { name: 'metadata', type: 'json', value: ({ metadata }) => metadata },
];

const STORED = new BulkColumns<PointRow>(COLUMNS);

const INPUT = new BulkColumns<PointRow>([
  ...COLUMNS,
  { name: 'sent_at', type: 'timestamptz', value: ({ measuredAt }) => measuredAt },
  { name: 'monotonic', type: 'int8', value: ({ point }) => bit(point.metric.isMonotonic) },
]);

@Injectable()
export class MetricWriteRepository {
  /** Inserts data points, numbered in this order. */
  async insertMany(tx: Tx, rows: readonly PointRow[]): Promise<void> {
    await inChunks(
      rows,
      (chunk) =>
        tx.query(
          prepared(
            'metric-point.insert-many',
            sql`INSERT INTO metric_points (day, measured_at, is_monotonic, ${STORED.columnList})
            SELECT ${TODAY}, coalesce(sent_at, now()), monotonic <> 0, ${STORED.columnList}
            FROM ${INPUT.table(chunk, 'input')}`,
          ),
        ),
      ({ value, attributes, exemplars, metadata }) =>
        attributes.length + (value?.length ?? 0) + (exemplars?.length ?? 0) + (metadata?.length ?? 0),
    );
  }
}

import { Injectable } from '@nestjs/common';
import type { OtlpAttributes } from '#otlp';
import { type BulkColumn, BulkColumns, type Tx } from '#platform/db';
import { inChunks } from '../exports/in-chunks';
import { TODAY } from '../partitions/today';
import { exemplarsJson, type PointRow, valueJson } from './metric-point';

const metadataJson = (metadata: OtlpAttributes): string | null =>
  Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata);

/** int8, of which PostgreSQL makes a boolean. */
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
  { name: 'value', type: 'json', value: ({ point }) => valueJson(point.value) },
  { name: 'attributes', type: 'json', value: ({ point }) => JSON.stringify(point.attributes) },
  { name: 'exemplars', type: 'json', value: ({ point }) => exemplarsJson(point.exemplars) },
  { name: 'metadata', type: 'json', value: ({ point }) => metadataJson(point.metric.metadata) },
];

const STORED = new BulkColumns<PointRow>(COLUMNS);

const GIVEN = new BulkColumns<PointRow>([
  ...COLUMNS,
  { name: 'sent_at', type: 'timestamptz', value: ({ measuredAt }) => measuredAt },
  { name: 'monotonic', type: 'int8', value: ({ point }) => bit(point.metric.isMonotonic) },
]);

const INSERT = {
  name: 'metric-point.insert-many',
  text: `INSERT INTO metric_points (day, measured_at, is_monotonic, ${STORED.names})
    SELECT ${TODAY}, coalesce(sent_at, now()), monotonic <> 0, ${STORED.names} FROM ${GIVEN.from(1, 'given')}`,
};

@Injectable()
export class MetricWriteRepository {
  /** Writes data points, which get their numbers in this order. */
  async insertMany(tx: Tx, rows: readonly PointRow[]): Promise<void> {
    await inChunks(rows, (chunk) => tx.query(INSERT, GIVEN.parameters(chunk)));
  }
}

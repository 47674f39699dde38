import { Injectable } from '@nestjs/common';
import { type BulkColumn, BulkColumns, type Tx } from '#platform/db';
import { inChunks } from '../exports/in-chunks';
import { TODAY } from '../partitions/today';
import { bitsOf } from '../traces/span-record';
import type { LogRow } from './log-record';

const bitsOrNull = (spanId: string | null): bigint | null => (spanId === null ? null : bitsOf(spanId));

const COLUMNS: BulkColumn<LogRow>[] = [
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'observed_at', type: 'timestamptz', value: ({ observedAt }) => observedAt },
  { name: 'trace_id', type: 'uuid', value: ({ record }) => record.traceId },
  { name: 'span_id', type: 'int8', value: ({ record }) => bitsOrNull(record.spanId) },
  { name: 'flags', type: 'int8', value: ({ record }) => record.flags },
  { name: 'source_id', type: 'uuid', value: ({ source }) => source.id },
  { name: 'severity_number', type: 'int8', value: ({ record }) => record.severityNumber },
  { name: 'severity_text', type: 'text', value: ({ record }) => record.severityText || null },
  { name: 'event_name', type: 'text', value: ({ record }) => record.eventName || null },
  { name: 'service_name', type: 'text', value: ({ serviceName }) => serviceName },
  {
    name: 'body',
    type: 'json',
    value: ({ record: { body } }) => (body === null ? null : JSON.stringify(body)),
  },
  { name: 'attributes', type: 'json', value: ({ record }) => JSON.stringify(record.attributes) },
];

const STORED = new BulkColumns<LogRow>(COLUMNS);

const GIVEN = new BulkColumns<LogRow>([
  ...COLUMNS,
  { name: 'happened_at', type: 'timestamptz', value: ({ happenedAt }) => happenedAt },
]);

const INSERT = {
  name: 'log-record.insert-many',
  text: `INSERT INTO log_records (day, logged_at, is_timed, ${STORED.names})
    SELECT ${TODAY}, coalesce(happened_at, observed_at, now()), happened_at IS NOT NULL, ${STORED.names}
    FROM ${GIVEN.from(1, 'given')}`,
};

@Injectable()
export class LogWriteRepository {
  /** Writes log records, which get their numbers in this order. */
  async insertMany(tx: Tx, rows: readonly LogRow[]): Promise<void> {
    await inChunks(rows, (chunk) => tx.query(INSERT, GIVEN.parameters(chunk)));
  }
}

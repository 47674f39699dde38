import { Injectable } from '@nestjs/common';
import type { OtlpLogRecord } from '#otlp';
import { type BulkColumn, BulkColumns, inChunks, prepared, sql, type Tx } from '#platform/db';
import { TODAY } from '../partitions/day-partition.repository';
import { serviceNameOf, type Source, SourceCache } from '../sources/source-record';
import { bitsOf, sentTime } from '../traces/span-record';

/** A log record to store. */
export interface LogRow {
  workspaceId: string;
  record: OtlpLogRecord;
  source: Source;
  serviceName: string | null;
  /** Microseconds since 1970; null if it was not sent. */
  happenedAt: bigint | null;
  observedAt: bigint | null;
}

/** Prepares the records of one export to be stored, in their order. */
export function toLogRows(workspaceId: string, records: readonly OtlpLogRecord[]): LogRow[] {
  const sources = new SourceCache();
  return records.map((record) => ({
    workspaceId,
    record,
    source: sources.sourceOf(record),
    serviceName: serviceNameOf(record.resource),
    happenedAt: sentTime(record.timeUnixNano),
    observedAt: sentTime(record.observedTimeUnixNano),
  }));
}

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

@Injectable()
export class LogWriteRepository {
  /** Inserts log records, numbered in this order. */
  async insertMany(tx: Tx, rows: readonly LogRow[]): Promise<void> {
    await inChunks(rows, (chunk) =>
      tx.query(
        prepared(
          'log-record.insert-many',
          sql`INSERT INTO log_records (day, logged_at, is_timed, ${STORED.columnList})
            SELECT ${TODAY}, coalesce(happened_at, observed_at, now()), happened_at IS NOT NULL, ${STORED.columnList}
            FROM ${GIVEN.table(chunk, 'given')}`,
        ),
      ),
    );
  }
}

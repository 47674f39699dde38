import { Injectable } from '@nestjs/common';
import type { OtlpLogRecord } from '#otlp';
import type { Scope } from '#platform/auth';
import { type BulkColumn, BulkColumns, inChunks, prepared, sql, type Tx } from '#platform/db';
import { eventNameOf } from '../evaluation-events/evaluation-event';
import { TODAY } from '../partitions/day-partition.repository';
import { serviceNameOf, type Source, SourceCache } from '../sources/source-record';
import { microsecondsOrNull } from '../traces/span-record';

/** A log record to store. */
export interface LogRow {
  /** The sender. */
  scope: Scope;
  workspaceId: string;
  record: OtlpLogRecord;
  source: Source;
  serviceName: string | null;
  /** Microseconds since 1970; null if the sender sent none. */
  happenedAt: bigint | null;
  observedAt: bigint | null;
  /** JSON texts, prepared in advance because building a statement cannot pause. */
  attributes: string;
  body: string | null;
}

/** Prepares the records of one export to be stored, in their order and with pauses. */
export function* toLogRows(scope: Scope, records: readonly OtlpLogRecord[]): Generator<void, LogRow[]> {
  const { workspaceId } = scope;
  const sources = new SourceCache();
  const rows: LogRow[] = [];
  for (const record of records) {
    rows.push({
      scope,
      workspaceId,
      record,
      source: sources.sourceOf(record),
      serviceName: serviceNameOf(record.resource),
      happenedAt: microsecondsOrNull(record.timeUnixNano),
      observedAt: microsecondsOrNull(record.observedTimeUnixNano),
      attributes: JSON.stringify(record.attributes),
      body: record.body === null ? null : JSON.stringify(record.body),
    });
    yield;
  }
  return rows;
}

const COLUMNS: BulkColumn<LogRow>[] = [
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'observed_at', type: 'timestamptz', value: ({ observedAt }) => observedAt },
  { name: 'trace_id', type: 'uuid', value: ({ record }) => record.traceId },
  { name: 'span_id', type: 'int8', value: ({ record }) => record.spanId },
  { name: 'flags', type: 'int8', value: ({ record }) => record.flags },
  { name: 'source_id', type: 'uuid', value: ({ source }) => source.id },
  { name: 'severity_number', type: 'int8', value: ({ record }) => record.severityNumber },
  { name: 'severity_text', type: 'text', value: ({ record }) => record.severityText || null },
  { name: 'event_name', type: 'text', value: ({ record }) => eventNameOf(record) },
  { name: 'service_name', type: 'text', value: ({ serviceName }) => serviceName },
  { name: 'body', type: 'json', value: ({ body }) => body },
  { name: 'attributes', type: 'json', value: ({ attributes }) => attributes },
];

const STORED = new BulkColumns<LogRow>(COLUMNS);

const INPUT = new BulkColumns<LogRow>([
  ...COLUMNS,
  { name: 'happened_at', type: 'timestamptz', value: ({ happenedAt }) => happenedAt },
]);

@Injectable()
export class LogWriteRepository {
  /** Inserts log records, numbered in this order. */
  async insertMany(tx: Tx, rows: readonly LogRow[]): Promise<void> {
    await inChunks(
      rows,
      (chunk) =>
        tx.query(
          prepared(
            'log-record.insert-many',
            sql`INSERT INTO log_records (day, logged_at, is_timed, ${STORED.columnList})
            SELECT ${TODAY}, coalesce(happened_at, observed_at, now()), happened_at IS NOT NULL, ${STORED.columnList}
            FROM ${INPUT.table(chunk, 'input')}`,
          ),
        ),
      ({ attributes, body }) => attributes.length + (body?.length ?? 0),
    );
  }
}

import type { OtlpLogRecord } from '#otlp';
import { type Source, SourceReader } from '../sources/source-record';
import { serviceNameOf } from '../sources/service-name';
import { microseconds } from '../traces/span-record';

/** A log record as it is stored. */
export interface LogRow {
  workspaceId: string;
  record: OtlpLogRecord;
  source: Source;
  serviceName: string | null;
  /** Microseconds since 1970; null where they were not sent. */
  happenedAt: bigint | null;
  observedAt: bigint | null;
}

/** The records of one export as they are to be stored, in their order. */
export function toLogRows(workspaceId: string, records: readonly OtlpLogRecord[]): LogRow[] {
  const sources = new SourceReader();
  return records.map((record) => ({
    workspaceId,
    record,
    source: sources.sourceOf(record),
    serviceName: serviceNameOf(record.resource),
    happenedAt: sentTime(record.timeUnixNano),
    observedAt: sentTime(record.observedTimeUnixNano),
  }));
}

/** Microseconds of a time; null for 0, which in OTLP is a time that is not known. */
export const sentTime = (nanoseconds: bigint): bigint | null =>
  nanoseconds === 0n ? null : microseconds(nanoseconds);

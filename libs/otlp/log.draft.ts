import type { OtlpLogRecord } from './log.types';
import { knownId } from './otlp-id';
import type { OtlpResource, OtlpScope } from './otlp.types';
import type { RecordKind } from './record.collector';

/** Log records, as a request holds them. */
export const LOG_RECORDS: RecordKind<OtlpLogRecord> = {
  one: 'log record',
  many: 'log records',
  counted: 'resources, scopes and log records',
  finish: finishLogRecord,
};

/** A log record with the defaults of protobuf, to be filled by a reader. */
export function newLogRecord(resource: OtlpResource, scope: OtlpScope): OtlpLogRecord {
  return {
    timeUnixNano: 0n,
    observedTimeUnixNano: 0n,
    severityNumber: 0,
    severityText: '',
    eventName: '',
    body: null,
    attributes: {},
    droppedAttributesCount: 0,
    flags: 0,
    traceId: '',
    spanId: '',
    resource,
    scope,
  };
}

/**
 * Brings the ids of a filled record into their final form. None of them makes it invalid: logs.proto says that a record
 * whose trace_id or span_id holds an invalid value is to be taken for one that belongs to no trace or span.
 */
function finishLogRecord(record: OtlpLogRecord): undefined {
  record.traceId = knownId(record.traceId);
  record.spanId = knownId(record.spanId);
}

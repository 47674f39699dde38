import type { OtlpAttributes, OtlpRejection, OtlpResource, OtlpScope, OtlpValue } from './otlp.types';
import type { RecordKind } from './record.collector';
import { normalizeIds } from './stored-value';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/**
 * Short names of severities, by the numbers of the enumeration SeverityNumber of logs.proto: 0 is 'unspecified', 1 to 4
 * are 'trace' to 'trace4', and so on to 'fatal4' (24). Unknown numbers and names are 0.
 */
export const SEVERITIES: readonly [string, ...string[]] = [
  'unspecified',
  ...LEVELS.flatMap((level) => [level, `${level}2`, `${level}3`, `${level}4`]),
];

/** A log record. Missing fields have the default of protobuf: empty string, 0, empty list; a missing body is null. */
export interface OtlpLogRecord {
  /** When the event happened: nanoseconds since 1970, unsigned 64 bits; 0 if unknown. */
  timeUnixNano: bigint;
  /** When OpenTelemetry observed the event: nanoseconds since 1970, unsigned 64 bits; 0 if not sent. */
  observedTimeUnixNano: bigint;
  /** 0 (not sent) to 24, an index of {@link SEVERITIES}. */
  severityNumber: number;
  /** The severity in the words of its source. */
  severityText: string;
  /** The kind of event; empty for a record that is not an event. */
  eventName: string;
  body: OtlpValue;
  attributes: OtlpAttributes;
  droppedAttributesCount: number;
  /** Unsigned 32 bits; the low 8 are the W3C trace flags. */
  flags: number;
  /** 32 lower-case hexadecimal digits; null if empty, all zero or malformed: the record then belongs to no trace. */
  traceId: string | null;
  /** 16 lower-case hexadecimal digits; null if empty, all zero or malformed: the record then belongs to no span. */
  spanId: string | null;
  resource: OtlpResource;
  scope: OtlpScope;
}

export interface DecodedLogsRequest {
  /** The valid log records, in the order of the request. */
  logRecords: OtlpLogRecord[];
  rejected: OtlpRejection;
  /** Number of records and their parts, valid or not, see `MAX_RECORDS`. */
  recordCount: number;
}

/**
 * The records of a logs request. Invalid ids do not make a record invalid: by logs.proto, such a record belongs to no trace or
 * span.
 */
export const LOG_RECORDS: RecordKind<OtlpLogRecord> = {
  one: 'log record',
  many: 'log records',
  countedParts: 'resources, scopes and log records',
  finish: (record) => void normalizeIds(record),
};

/** Creates a log record with the defaults of protobuf, for a reader to fill. */
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

import type { OtlpAttributes, OtlpRejection, OtlpResource, OtlpScope, OtlpValue } from './otlp.types';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/**
 * Short names of severities, by the numbers of the enumeration SeverityNumber of logs.proto: 0 is 'unspecified', 1 to 4
 * are 'trace' to 'trace4', and so on to 'fatal4' (24). A number or name that it does not know is 0.
 */
export const SEVERITIES: readonly [string, ...string[]] = [
  'unspecified',
  ...LEVELS.flatMap((level) => [level, `${level}2`, `${level}3`, `${level}4`]),
];

/** A log record. What was not sent has the default of protobuf: empty string, 0, empty list; a body is null. */
export interface OtlpLogRecord {
  /** When it happened: nanoseconds since 1970, unsigned 64 bits; 0 when not known. */
  timeUnixNano: bigint;
  /** When it was seen by OpenTelemetry: nanoseconds since 1970, unsigned 64 bits; 0 when not sent. */
  observedTimeUnixNano: bigint;
  /** 0 (not sent) to 24, an index of {@link SEVERITIES}. */
  severityNumber: number;
  /** The level as its source calls it. */
  severityText: string;
  /** What kind of event it is; empty for a record that is none. */
  eventName: string;
  body: OtlpValue;
  attributes: OtlpAttributes;
  droppedAttributesCount: number;
  /** Unsigned 32 bits; the low 8 are the W3C trace flags. */
  flags: number;
  /** 32 lower-case hexadecimal digits; null when empty, all zero or malformed: it then belongs to no trace. */
  traceId: string | null;
  /** 16 lower-case hexadecimal digits; null when empty, all zero or malformed: it then belongs to no span. */
  spanId: string | null;
  resource: OtlpResource;
  scope: OtlpScope;
}

export interface DecodedLogsRequest {
  /** The valid log records, in the order of the request. */
  logRecords: OtlpLogRecord[];
  rejected: OtlpRejection;
  /** All that takes memory of its own, valid or not, see `MAX_RECORDS`. */
  recordCount: number;
}

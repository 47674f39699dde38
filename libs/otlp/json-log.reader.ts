import type { JsonValueReader } from './json-value.reader';
import { type OtlpLogRecord, SEVERITIES } from './log-record';
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';
import type { OtlpResource, OtlpScope } from './otlp.types';

/** Reads a log record (logs.proto). */
export function readLogRecord(
  values: JsonValueReader,
  item: unknown,
  resource: OtlpResource,
  scope: OtlpScope,
): OtlpLogRecord {
  const record = values.element(item, 'a log record');
  const time = record.timeUnixNano ?? record.time_unix_nano;
  const observedTime = record.observedTimeUnixNano ?? record.observed_time_unix_nano;
  const severity = record.severityNumber ?? record.severity_number;
  return {
    timeUnixNano: values.uint64(time, 'timeUnixNano'),
    observedTimeUnixNano: values.uint64(observedTime, 'observedTimeUnixNano'),
    severityNumber: SEVERITIES.indexOf(
      values.enumeration(severity, SEVERITIES, 'SEVERITY_NUMBER_', 'severityNumber'),
    ),
    severityText: values.text(record.severityText ?? record.severity_text, 'severityText'),
    eventName: values.text(record.eventName ?? record.event_name, 'eventName'),
    body: values.value(record.body),
    ...values.attributesOf(record),
    flags: values.uint32(record.flags, 'flags'),
    traceId: values.id(record.traceId ?? record.trace_id, TRACE_ID_BYTES, 'traceId'),
    spanId: values.id(record.spanId ?? record.span_id, SPAN_ID_BYTES, 'spanId'),
    resource,
    scope,
  };
}

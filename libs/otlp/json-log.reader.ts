import { type EnvelopeNames, JsonEnvelopeReader } from './json-envelope.reader';
import { type OtlpLogRecord, SEVERITIES } from './log-record';
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';
import type { OtlpResource, OtlpScope } from './otlp.types';
import type { RecordCollector } from './record.collector';

const NAMES: EnvelopeNames = {
  message: 'ExportLogsServiceRequest',
  resources: ['resourceLogs', 'resource_logs'],
  scopes: ['scopeLogs', 'scope_logs'],
  items: ['logRecords', 'log_records'],
};

/** Reads an ExportLogsServiceRequest in JSON: the records of logs.proto of opentelemetry-proto. */
export class JsonLogReader extends JsonEnvelopeReader {
  constructor(
    bytes: Buffer,
    private readonly records: RecordCollector<OtlpLogRecord>,
  ) {
    super(bytes, NAMES, records);
  }

  protected override item(item: unknown, resource: OtlpResource, scope: OtlpScope): void {
    const record = this.logRecord(item, resource, scope);
    this.records.collect(record, this.values.takeFault());
  }

  private logRecord(item: unknown, resource: OtlpResource, scope: OtlpScope): OtlpLogRecord {
    const { values } = this;
    this.records.countRecord();
    this.records.startRecord();
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
}

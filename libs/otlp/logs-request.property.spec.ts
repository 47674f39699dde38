import fc from 'fast-check';
import { decodeLogsRequest } from './decode.fixture';
import {
  attributes,
  count,
  describeSignal,
  encodersOf,
  hex,
  optional,
  text,
  uint64,
  value,
} from './request.fixture';

const encoders = encodersOf(`
  message ExportLogsServiceRequest { repeated ResourceLogs resource_logs = 1; }
  message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; string schema_url = 3; }
  message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; string schema_url = 3; }
  message LogRecord {
    fixed64 time_unix_nano = 1; fixed64 observed_time_unix_nano = 11; int32 severity_number = 2;
    string severity_text = 3; AnyValue body = 5; repeated KeyValue attributes = 6;
    uint32 dropped_attributes_count = 7; fixed32 flags = 8; bytes trace_id = 9; bytes span_id = 10;
    string event_name = 12;
  }`);

const logRecord = fc.record(
  {
    timeUnixNano: uint64,
    observedTimeUnixNano: uint64,
    severityNumber: fc.integer({ min: -1, max: 26 }),
    severityText: text,
    eventName: text,
    body: value,
    attributes,
    droppedAttributesCount: count,
    flags: count,
    traceId: hex(16),
    spanId: hex(8),
  },
  optional,
);

describe('an export of logs', () => {
  describeSignal({
    names: ['resourceLogs', 'scopeLogs', 'logRecords'],
    item: logRecord,
    fields: ['traceId', 'attributes', 'body', 'severityNumber', 'timeUnixNano'],
    encoders,
    decode: decodeLogsRequest,
  });
});

import { type OtlpLogRecord, SEVERITIES } from './log-record';
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';
import { fieldsOf } from './protobuf-value.reader';

/** The fields of a log record (logs.proto). */
export const LOG_RECORD = fieldsOf<OtlpLogRecord>(
  {
    9: (record, values) => (record.timeUnixNano = values.fixed64()),
    16: (record, values) => (record.severityNumber = knownSeverity(values.reader.int32())),
    26: (record, values) => (record.severityText = values.text()),
    42: (record, values) => (record.body = values.value(record.body)),
    56: (record, values) => (record.droppedAttributesCount += values.reader.uint32()),
    69: (record, values) => (record.flags = values.reader.fixed32()),
    74: (record, values) => (record.traceId = values.id(TRACE_ID_BYTES)),
    82: (record, values) => (record.spanId = values.id(SPAN_ID_BYTES)),
    89: (record, values) => (record.observedTimeUnixNano = values.fixed64()),
    98: (record, values) => (record.eventName = values.text()),
  },
  50,
);

const knownSeverity = (number: number): number => (SEVERITIES[number] === undefined ? 0 : number);

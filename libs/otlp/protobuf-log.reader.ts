import { newLogRecord } from './log-record';
import { type OtlpLogRecord, SEVERITIES } from './log-record';
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';
import type { OtlpResource, OtlpScope } from './otlp.types';
import { ProtobufEnvelopeReader } from './protobuf-envelope.reader';
import type { RecordCollector } from './record.collector';

/** Reads an ExportLogsServiceRequest in protobuf: the records of logs.proto of opentelemetry-proto. */
export class ProtobufLogReader extends ProtobufEnvelopeReader {
  constructor(
    bytes: Buffer,
    private readonly records: RecordCollector<OtlpLogRecord>,
  ) {
    super(bytes, 'ExportLogsServiceRequest', records);
  }

  protected override item(resource: OtlpResource, scope: OtlpScope): void {
    const { values } = this;
    const { reader } = values;
    this.records.countRecord();
    this.records.startRecord();
    const outerEnd = values.enter();
    const record = newLogRecord(resource, scope);
    let attributes = 0;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 9: // time_unix_nano = 1
          record.timeUnixNano = values.fixed64();
          break;
        case 16: // severity_number = 2
          record.severityNumber = knownSeverity(reader.int32());
          break;
        case 26: // severity_text = 3
          record.severityText = values.text();
          break;
        case 42: // body = 5
          record.body = values.value(record.body);
          break;
        case 50: // attributes = 6
          values.attribute(record, attributes++);
          break;
        case 56: // dropped_attributes_count = 7
          record.droppedAttributesCount += reader.uint32();
          break;
        case 69: // flags = 8
          record.flags = reader.fixed32();
          break;
        case 74: // trace_id = 9
          record.traceId = values.id(TRACE_ID_BYTES);
          break;
        case 82: // span_id = 10
          record.spanId = values.id(SPAN_ID_BYTES);
          break;
        case 89: // observed_time_unix_nano = 11
          record.observedTimeUnixNano = values.fixed64();
          break;
        case 98: // event_name = 12
          record.eventName = values.text();
          break;
        default:
          values.skip(tag);
      }
    }
    values.leave(outerEnd);
    this.records.collect(record);
  }
}

const knownSeverity = (number: number): number => (SEVERITIES[number] === undefined ? 0 : number);

import { SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';
import {
  type OtlpEvent,
  type OtlpLink,
  type OtlpResource,
  type OtlpScope,
  type OtlpSpan,
  type OtlpStatus,
  SPAN_KINDS,
  STATUS_CODES,
} from './otlp.types';
import { ProtobufEnvelopeReader } from './protobuf-envelope.reader';
import type { RecordCollector } from './record.collector';
import { finishLink, newLink, newSpan } from './span.draft';

/** Reads an ExportTraceServiceRequest in protobuf: the records of trace.proto of opentelemetry-proto. */
export class ProtobufTraceReader extends ProtobufEnvelopeReader {
  constructor(
    bytes: Buffer,
    private readonly spans: RecordCollector<OtlpSpan>,
  ) {
    super(bytes, 'ExportTraceServiceRequest', spans);
  }

  protected override item(resource: OtlpResource, scope: OtlpScope): void {
    this.spans.collect(this.span(resource, scope));
  }

  private span(resource: OtlpResource, scope: OtlpScope): OtlpSpan {
    const { values } = this;
    const { reader } = values;
    this.spans.countRecord();
    this.spans.startRecord();
    const outerEnd = values.enter();
    const span = newSpan(resource, scope);
    let attributes = 0;
    let events = 0;
    let links = 0;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 10: // trace_id = 1
          span.traceId = values.id(TRACE_ID_BYTES);
          break;
        case 18: // span_id = 2
          span.spanId = values.id(SPAN_ID_BYTES);
          break;
        case 26: // trace_state = 3
          span.traceState = values.text();
          break;
        case 34: // parent_span_id = 4
          span.parentSpanId = values.id(SPAN_ID_BYTES);
          break;
        case 42: // name = 5
          span.name = values.text();
          break;
        case 48: // kind = 6
          span.kind = SPAN_KINDS[reader.int32()] ?? 'unspecified';
          break;
        case 57: // start_time_unix_nano = 7
          span.startTimeUnixNano = values.fixed64();
          break;
        case 65: // end_time_unix_nano = 8
          span.endTimeUnixNano = values.fixed64();
          break;
        case 74: // attributes = 9
          values.attribute(span, attributes++);
          break;
        case 80: // dropped_attributes_count = 10
          span.droppedAttributesCount += reader.uint32();
          break;
        case 90: // events = 11
          if (this.spans.keepsEvent(events++)) {
            span.events.push(this.event());
          } else {
            span.droppedEventsCount += 1;
            values.skip(tag);
          }
          break;
        case 96: // dropped_events_count = 12
          span.droppedEventsCount += reader.uint32();
          break;
        case 106: // links = 13
          if (this.spans.keepsLink(links++)) {
            span.links.push(this.link());
          } else {
            span.droppedLinksCount += 1;
            values.skip(tag);
          }
          break;
        case 112: // dropped_links_count = 14
          span.droppedLinksCount += reader.uint32();
          break;
        case 122: // status = 15
          this.status(span.status);
          break;
        case 133: // flags = 16
          span.flags = reader.fixed32();
          break;
        default:
          values.skip(tag);
      }
    }
    values.leave(outerEnd);
    return span;
  }

  private event(): OtlpEvent {
    const { values } = this;
    const { reader } = values;
    this.spans.countRecord();
    const outerEnd = values.enter();
    const event: OtlpEvent = { name: '', timeUnixNano: 0n, attributes: {}, droppedAttributesCount: 0 };
    let attributes = 0;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 9: // time_unix_nano = 1
          event.timeUnixNano = values.fixed64();
          break;
        case 18: // name = 2
          event.name = values.text();
          break;
        case 26: // attributes = 3
          values.attribute(event, attributes++);
          break;
        case 32: // dropped_attributes_count = 4
          event.droppedAttributesCount += reader.uint32();
          break;
        default:
          values.skip(tag);
      }
    }
    values.leave(outerEnd);
    return event;
  }

  private link(): OtlpLink {
    const { values } = this;
    const { reader } = values;
    this.spans.countRecord();
    const outerEnd = values.enter();
    const link = newLink();
    let attributes = 0;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 10: // trace_id = 1
          link.traceId = values.id(TRACE_ID_BYTES);
          break;
        case 18: // span_id = 2
          link.spanId = values.id(SPAN_ID_BYTES);
          break;
        case 26: // trace_state = 3
          link.traceState = values.text();
          break;
        case 34: // attributes = 4
          values.attribute(link, attributes++);
          break;
        case 40: // dropped_attributes_count = 5
          link.droppedAttributesCount += reader.uint32();
          break;
        case 53: // flags = 6
          link.flags = reader.fixed32();
          break;
        default:
          values.skip(tag);
      }
    }
    values.leave(outerEnd);
    return finishLink(link);
  }

  private status(status: OtlpStatus): void {
    const { values } = this;
    const { reader } = values;
    const outerEnd = values.enter();
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 18: // message = 2
          status.message = values.text();
          break;
        case 24: // code = 3
          status.code = STATUS_CODES[reader.int32()] ?? 'unset';
          break;
        default:
          values.skip(tag);
      }
    }
    values.leave(outerEnd);
  }
}

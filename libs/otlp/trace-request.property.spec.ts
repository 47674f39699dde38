import fc from 'fast-check';
import { decodeTraceRequest } from './decode.fixture';
import {
  attributes,
  count,
  describeSignal,
  encodersOf,
  hex,
  optional,
  text,
  uint64,
} from './request.fixture';

const encoders = encodersOf(`
  message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
  message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; fixed32 flags = 16;
    string name = 5; int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10;
    repeated Event events = 11; uint32 dropped_events_count = 12;
    repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15;
  }
  message Event {
    fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3;
    uint32 dropped_attributes_count = 4;
  }
  message Link {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4;
    uint32 dropped_attributes_count = 5; fixed32 flags = 6;
  }
  message Status { string message = 2; int32 code = 3; }`);

const event = fc.record(
  { timeUnixNano: uint64, name: text, attributes, droppedAttributesCount: count },
  optional,
);
const link = fc.record(
  {
    traceId: hex(16),
    spanId: hex(8),
    traceState: text,
    attributes,
    droppedAttributesCount: count,
    flags: count,
  },
  optional,
);
const span = fc.record(
  {
    traceId: hex(16),
    spanId: hex(8),
    parentSpanId: hex(8),
    traceState: text,
    flags: count,
    name: text,
    kind: fc.integer({ min: -1, max: 7 }),
    startTimeUnixNano: uint64,
    endTimeUnixNano: uint64,
    attributes,
    droppedAttributesCount: count,
    events: fc.array(event, { maxLength: 3 }),
    droppedEventsCount: count,
    links: fc.array(link, { maxLength: 3 }),
    droppedLinksCount: count,
    status: fc.record({ message: text, code: fc.integer({ min: -1, max: 4 }) }, optional),
  },
  { requiredKeys: ['traceId', 'spanId'] },
);

describe('an export of traces', () => {
  describeSignal({
    names: ['resourceSpans', 'scopeSpans', 'spans'],
    item: span,
    fields: ['traceId', 'attributes', 'events', 'links', 'kind', 'status'],
    encoders,
    decode: decodeTraceRequest,
  });
});

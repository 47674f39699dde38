import { normalizeIds, SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';
import {
  type OtlpEvent,
  type OtlpLink,
  type OtlpSpan,
  type OtlpStatus,
  SPAN_KINDS,
  STATUS_CODES,
} from './otlp.types';
import { fieldsOf, type ProtobufValueReader } from './protobuf-value.reader';
import { newLink } from './span.draft';

/** The fields of a span (trace.proto). */
export const SPAN = fieldsOf<OtlpSpan>(
  {
    10: (span, values) => (span.traceId = values.id(TRACE_ID_BYTES)),
    18: (span, values) => (span.spanId = values.id(SPAN_ID_BYTES)),
    26: (span, values) => (span.traceState = values.text()),
    34: (span, values) => (span.parentSpanId = values.id(SPAN_ID_BYTES)),
    42: (span, values) => (span.name = values.text()),
    48: (span, values) => (span.kind = SPAN_KINDS[values.reader.int32()] ?? 'unspecified'),
    57: (span, values) => (span.startTimeUnixNano = values.fixed64()),
    65: (span, values) => (span.endTimeUnixNano = values.fixed64()),
    80: (span, values) => (span.droppedAttributesCount += values.reader.uint32()),
    90: readEvent,
    96: (span, values) => (span.droppedEventsCount += values.reader.uint32()),
    106: readLink,
    112: (span, values) => (span.droppedLinksCount += values.reader.uint32()),
    122: (span, values) => values.message(span.status, STATUS),
    133: (span, values) => (span.flags = values.reader.fixed32()),
  },
  74,
);

function readEvent(span: OtlpSpan, values: ProtobufValueReader): void {
  if (!values.counter.keepsEvent(span.events.length)) {
    span.droppedEventsCount += 1;
    return values.skip(90);
  }
  values.counter.countRecord();
  const event: OtlpEvent = { name: '', timeUnixNano: 0n, attributes: {}, droppedAttributesCount: 0 };
  span.events.push(values.message(event, EVENT));
}

function readLink(span: OtlpSpan, values: ProtobufValueReader): void {
  if (!values.counter.keepsLink(span.links.length)) {
    span.droppedLinksCount += 1;
    return values.skip(106);
  }
  values.counter.countRecord();
  span.links.push(normalizeIds(values.message(newLink(), LINK)));
}

const EVENT = fieldsOf<OtlpEvent>(
  {
    9: (event, values) => (event.timeUnixNano = values.fixed64()),
    18: (event, values) => (event.name = values.text()),
    32: (event, values) => (event.droppedAttributesCount += values.reader.uint32()),
  },
  26,
);

const LINK = fieldsOf<OtlpLink>(
  {
    10: (link, values) => (link.traceId = values.id(TRACE_ID_BYTES)),
    18: (link, values) => (link.spanId = values.id(SPAN_ID_BYTES)),
    26: (link, values) => (link.traceState = values.text()),
    40: (link, values) => (link.droppedAttributesCount += values.reader.uint32()),
    53: (link, values) => (link.flags = values.reader.fixed32()),
  },
  34,
);

const STATUS = fieldsOf<OtlpStatus>({
  18: (status, values) => (status.message = values.text()),
  24: (status, values) => (status.code = STATUS_CODES[values.reader.int32()] ?? 'unset'),
});

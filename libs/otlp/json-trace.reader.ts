import type { JsonValueReader } from './json-value.reader';
import { normalizeIds, SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';
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

/** Reads a span (trace.proto). */
export function readSpan(
  values: JsonValueReader,
  item: unknown,
  resource: OtlpResource,
  scope: OtlpScope,
): OtlpSpan {
  const span = values.element(item, 'a span');
  const parentSpanId = span.parentSpanId ?? span.parent_span_id;
  const startTime = span.startTimeUnixNano ?? span.start_time_unix_nano;
  const endTime = span.endTimeUnixNano ?? span.end_time_unix_nano;
  const sentEvents = values.list(span.events, 'events');
  const events = sentEvents.filter((_, index) => values.counter.keepsEvent(index));
  const droppedEvents = span.droppedEventsCount ?? span.dropped_events_count;
  const sentLinks = values.list(span.links, 'links');
  const links = sentLinks.filter((_, index) => values.counter.keepsLink(index));
  const droppedLinks = span.droppedLinksCount ?? span.dropped_links_count;
  return {
    traceId: values.id(span.traceId ?? span.trace_id, TRACE_ID_BYTES, 'traceId'),
    spanId: values.id(span.spanId ?? span.span_id, SPAN_ID_BYTES, 'spanId'),
    parentSpanId: values.id(parentSpanId, SPAN_ID_BYTES, 'parentSpanId'),
    traceState: values.text(span.traceState ?? span.trace_state, 'traceState'),
    flags: values.uint32(span.flags, 'flags'),
    name: values.text(span.name, 'name'),
    kind: values.enumeration(span.kind, SPAN_KINDS, 'SPAN_KIND_', 'kind'),
    startTimeUnixNano: values.uint64(startTime, 'startTimeUnixNano'),
    endTimeUnixNano: values.uint64(endTime, 'endTimeUnixNano'),
    status: readStatus(values, span.status),
    ...values.attributesOf(span),
    events: events.map((event) => readEvent(values, event)),
    droppedEventsCount:
      values.uint32(droppedEvents, 'droppedEventsCount') + sentEvents.length - events.length,
    links: links.map((link) => readLink(values, link)),
    droppedLinksCount: values.uint32(droppedLinks, 'droppedLinksCount') + sentLinks.length - links.length,
    resource,
    scope,
  };
}

function readEvent(values: JsonValueReader, item: unknown): OtlpEvent {
  values.counter.countRecord();
  const event = values.element(item, 'an event');
  return {
    name: values.text(event.name, 'name'),
    timeUnixNano: values.uint64(event.timeUnixNano ?? event.time_unix_nano, 'timeUnixNano'),
    ...values.attributesOf(event),
  };
}

function readLink(values: JsonValueReader, item: unknown): OtlpLink {
  values.counter.countRecord();
  const link = values.element(item, 'a link');
  return normalizeIds({
    traceId: values.id(link.traceId ?? link.trace_id, TRACE_ID_BYTES, 'traceId'),
    spanId: values.id(link.spanId ?? link.span_id, SPAN_ID_BYTES, 'spanId'),
    traceState: values.text(link.traceState ?? link.trace_state, 'traceState'),
    flags: values.uint32(link.flags, 'flags'),
    ...values.attributesOf(link),
  });
}

function readStatus(values: JsonValueReader, item: unknown): OtlpStatus {
  const status = values.object(item, 'status');
  return {
    code: values.enumeration(status.code, STATUS_CODES, 'STATUS_CODE_', 'code'),
    message: values.text(status.message, 'message'),
  };
}

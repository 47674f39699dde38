import { type EnvelopeNames, JsonEnvelopeReader } from './json-envelope.reader';
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
import type { RecordCollector } from './record.collector';
import { finishLink } from './span.draft';

const NAMES: EnvelopeNames = {
  message: 'ExportTraceServiceRequest',
  resources: ['resourceSpans', 'resource_spans'],
  scopes: ['scopeSpans', 'scope_spans'],
  items: ['spans', 'spans'],
};

/** Reads an ExportTraceServiceRequest in JSON: the records of trace.proto of opentelemetry-proto. */
export class JsonTraceReader extends JsonEnvelopeReader {
  constructor(
    bytes: Buffer,
    private readonly spans: RecordCollector<OtlpSpan>,
  ) {
    super(bytes, NAMES, spans);
  }

  protected override item(item: unknown, resource: OtlpResource, scope: OtlpScope): void {
    const span = this.span(item, resource, scope);
    this.spans.collect(span, this.values.takeFault());
  }

  private span(item: unknown, resource: OtlpResource, scope: OtlpScope): OtlpSpan {
    const { values } = this;
    this.spans.countRecord();
    this.spans.startRecord();
    const span = values.element(item, 'a span');
    const parentSpanId = span.parentSpanId ?? span.parent_span_id;
    const startTime = span.startTimeUnixNano ?? span.start_time_unix_nano;
    const endTime = span.endTimeUnixNano ?? span.end_time_unix_nano;
    const sentEvents = values.list(span.events, 'events');
    const events = sentEvents.filter((_, index) => this.spans.keepsEvent(index));
    const droppedEvents = span.droppedEventsCount ?? span.dropped_events_count;
    const sentLinks = values.list(span.links, 'links');
    const links = sentLinks.filter((_, index) => this.spans.keepsLink(index));
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
      status: this.status(span.status),
      ...values.attributesOf(span),
      events: events.map((event) => this.event(event)),
      droppedEventsCount:
        values.uint32(droppedEvents, 'droppedEventsCount') + sentEvents.length - events.length,
      links: links.map((link) => this.link(link)),
      droppedLinksCount: values.uint32(droppedLinks, 'droppedLinksCount') + sentLinks.length - links.length,
      resource,
      scope,
    };
  }

  private event(item: unknown): OtlpEvent {
    const { values } = this;
    this.spans.countRecord();
    const event = values.element(item, 'an event');
    return {
      name: values.text(event.name, 'name'),
      timeUnixNano: values.uint64(event.timeUnixNano ?? event.time_unix_nano, 'timeUnixNano'),
      ...values.attributesOf(event),
    };
  }

  private link(item: unknown): OtlpLink {
    const { values } = this;
    this.spans.countRecord();
    const link = values.element(item, 'a link');
    return finishLink({
      traceId: values.id(link.traceId ?? link.trace_id, TRACE_ID_BYTES, 'traceId'),
      spanId: values.id(link.spanId ?? link.span_id, SPAN_ID_BYTES, 'spanId'),
      traceState: values.text(link.traceState ?? link.trace_state, 'traceState'),
      flags: values.uint32(link.flags, 'flags'),
      ...values.attributesOf(link),
    });
  }

  private status(item: unknown): OtlpStatus {
    const status = this.values.object(item, 'status');
    return {
      code: this.values.enumeration(status.code, STATUS_CODES, 'STATUS_CODE_', 'code'),
      message: this.values.text(status.message, 'message'),
    };
  }
}

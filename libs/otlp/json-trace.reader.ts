import { type JsonObject, JsonValueReader } from './json-value.reader';
import { OtlpDecodeError } from './otlp.errors';
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
import type { SpanCollector } from './span.collector';
import { finishLink, SPAN_ID_BYTES, TRACE_ID_BYTES } from './span.draft';

/**
 * Reads an ExportTraceServiceRequest in JSON. Bytes that are not UTF-8 become U+FFFD. The parser of V8 does not
 * recurse, so nesting is bounded only where values are read.
 */
export function readJsonTraces(bytes: Buffer, spans: SpanCollector): void {
  new JsonTraceReader(new JsonValueReader(bytes), spans).request(parse(bytes));
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    // The message of V8 may quote the body; only the position is passed on.
    const position = error instanceof Error ? /at position \d+/.exec(error.message)?.[0] : undefined;
    throw new OtlpDecodeError(`The body is not valid JSON${position ? ` (${position})` : ''}.`);
  }
}

class JsonTraceReader {
  constructor(
    private readonly values: JsonValueReader,
    private readonly spans: SpanCollector,
  ) {}

  request(document: unknown): void {
    const { values } = this;
    const request = this.sound(values.element(document, 'the request'));
    for (const item of this.sound(
      values.list(request.resourceSpans ?? request.resource_spans, 'resourceSpans'),
    )) {
      this.resourceSpans(this.sound(values.element(item, 'resourceSpans')));
    }
  }

  private resourceSpans(source: JsonObject): void {
    const { values } = this;
    this.spans.countRecord();
    const resource = this.sound(this.resource(source));
    for (const item of this.sound(values.list(source.scopeSpans ?? source.scope_spans, 'scopeSpans'))) {
      this.scopeSpans(this.sound(values.element(item, 'scopeSpans')), resource);
    }
  }

  private scopeSpans(source: JsonObject, resource: OtlpResource): void {
    this.spans.countRecord();
    const scope = this.sound(this.scope(source));
    for (const item of this.sound(this.values.list(source.spans, 'spans'))) {
      const span = this.span(item, resource, scope);
      this.spans.collect(span, this.values.takeFault());
    }
  }

  /** What spans share must be without fault, or the whole request is refused. */
  private sound<T>(part: T): T {
    const fault = this.values.takeFault();
    if (fault !== undefined) {
      throw new OtlpDecodeError(`The body is not an ExportTraceServiceRequest: ${fault}.`);
    }
    return part;
  }

  private resource(source: JsonObject): OtlpResource {
    const { values } = this;
    const resource = values.object(source.resource, 'resource');
    return {
      attributes: values.attributes(resource.attributes),
      droppedAttributesCount: this.droppedAttributes(resource),
      schemaUrl: values.text(source.schemaUrl ?? source.schema_url, 'schemaUrl'),
    };
  }

  private scope(source: JsonObject): OtlpScope {
    const { values } = this;
    const scope = values.object(source.scope, 'scope');
    return {
      name: values.text(scope.name, 'name'),
      version: values.text(scope.version, 'version'),
      attributes: values.attributes(scope.attributes),
      droppedAttributesCount: this.droppedAttributes(scope),
      schemaUrl: values.text(source.schemaUrl ?? source.schema_url, 'schemaUrl'),
    };
  }

  private span(item: unknown, resource: OtlpResource, scope: OtlpScope): OtlpSpan {
    const { values } = this;
    this.spans.countRecord();
    const span = values.element(item, 'a span');
    const parentSpanId = span.parentSpanId ?? span.parent_span_id;
    const startTime = span.startTimeUnixNano ?? span.start_time_unix_nano;
    const endTime = span.endTimeUnixNano ?? span.end_time_unix_nano;
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
      attributes: values.attributes(span.attributes),
      droppedAttributesCount: this.droppedAttributes(span),
      events: values.list(span.events, 'events').map((event) => this.event(event)),
      droppedEventsCount: values.uint32(
        span.droppedEventsCount ?? span.dropped_events_count,
        'droppedEventsCount',
      ),
      links: values.list(span.links, 'links').map((link) => this.link(link)),
      droppedLinksCount: values.uint32(
        span.droppedLinksCount ?? span.dropped_links_count,
        'droppedLinksCount',
      ),
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
      attributes: values.attributes(event.attributes),
      droppedAttributesCount: this.droppedAttributes(event),
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
      attributes: values.attributes(link.attributes),
      droppedAttributesCount: this.droppedAttributes(link),
    });
  }

  private status(item: unknown): OtlpStatus {
    const status = this.values.object(item, 'status');
    return {
      code: this.values.enumeration(status.code, STATUS_CODES, 'STATUS_CODE_', 'code'),
      message: this.values.text(status.message, 'message'),
    };
  }

  private droppedAttributes(source: JsonObject): number {
    const count = source.droppedAttributesCount ?? source.dropped_attributes_count;
    return this.values.uint32(count, 'droppedAttributesCount');
  }
}

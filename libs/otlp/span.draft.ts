import type { OtlpLink, OtlpResource, OtlpScope, OtlpSpan } from './otlp.types';

/** What a reader puts in place of an id that is not of the right length, or not hexadecimal. */
export const MALFORMED_ID = 'malformed';

/** Ids in bytes. */
export const TRACE_ID_BYTES = 16;
export const SPAN_ID_BYTES = 8;

/** The texts are part of the answer to the sender. */
const SpanFault = {
  traceId: 'traceId must be 16 bytes (32 hexadecimal digits in JSON) that are not all zero',
  spanId: 'spanId must be 8 bytes (16 hexadecimal digits in JSON) that are not all zero',
  parentSpanId: 'parentSpanId must be empty or 8 bytes (16 hexadecimal digits in JSON)',
} as const;

const NO_TRACE_ID = '00'.repeat(TRACE_ID_BYTES);
const NO_SPAN_ID = '00'.repeat(SPAN_ID_BYTES);

export function newResource(): OtlpResource {
  return { attributes: {}, droppedAttributesCount: 0, schemaUrl: '' };
}

export function newScope(): OtlpScope {
  return { name: '', version: '', attributes: {}, droppedAttributesCount: 0, schemaUrl: '' };
}

/** A span with the defaults of protobuf, to be filled by a reader; the collector then calls {@link finishSpan}. */
export function newSpan(resource: OtlpResource, scope: OtlpScope): OtlpSpan {
  return {
    traceId: '',
    spanId: '',
    parentSpanId: '',
    traceState: '',
    flags: 0,
    name: '',
    kind: 'unspecified',
    startTimeUnixNano: 0n,
    endTimeUnixNano: 0n,
    status: { code: 'unset', message: '' },
    attributes: {},
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    links: [],
    droppedLinksCount: 0,
    resource,
    scope,
  };
}

export function newLink(): OtlpLink {
  return { traceId: '', spanId: '', traceState: '', flags: 0, attributes: {}, droppedAttributesCount: 0 };
}

/**
 * Brings the ids of a filled span, each of which is empty, hexadecimal digits of the right number, or
 * {@link MALFORMED_ID}, into their final form. All zeros mean that there is none (W3C Trace Context, section 3.2.2).
 *
 * @returns why OTLP calls the span invalid, if it does
 */
export function finishSpan(span: OtlpSpan): string | undefined {
  if (span.traceId === '' || span.traceId === NO_TRACE_ID || span.traceId === MALFORMED_ID) {
    return SpanFault.traceId;
  }
  if (span.spanId === '' || span.spanId === NO_SPAN_ID || span.spanId === MALFORMED_ID) {
    return SpanFault.spanId;
  }
  if (span.parentSpanId === MALFORMED_ID) {
    return SpanFault.parentSpanId;
  }
  if (span.parentSpanId === '' || span.parentSpanId === NO_SPAN_ID) {
    span.parentSpanId = null;
  }
  return undefined;
}

/** The same for a link, which may point nowhere: SDKs record links with an empty context and attributes. */
export function finishLink(link: OtlpLink): OtlpLink {
  if (link.traceId === '' || link.traceId === NO_TRACE_ID || link.traceId === MALFORMED_ID) {
    link.traceId = null;
  }
  if (link.spanId === '' || link.spanId === NO_SPAN_ID || link.spanId === MALFORMED_ID) {
    link.spanId = null;
  }
  return link;
}

import { MALFORMED_ID, normalizeId } from './stored-value';
import type { OtlpLink, OtlpResource, OtlpScope, OtlpSpan } from './otlp.types';
import type { RecordKind } from './record.collector';

/** Texts of faults. The response to the sender contains them. */
const SpanFault = {
  traceId: 'traceId must be 16 bytes (32 hexadecimal digits in JSON) that are not all zero',
  spanId: 'spanId must be 8 bytes (16 hexadecimal digits in JSON) that are not all zero',
  parentSpanId: 'parentSpanId must be empty or 8 bytes (16 hexadecimal digits in JSON)',
} as const;

/** The records of a trace request. */
export const SPANS: RecordKind<OtlpSpan> = {
  one: 'span',
  many: 'spans',
  countedParts: 'resources, scopes, spans, events and links',
  finish: finishSpan,
};

/** Creates a span with the defaults of protobuf. A reader fills it, and the collector then calls {@link finishSpan}. */
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

/** Creates a link with the defaults of protobuf. A reader fills it and then normalizes its ids: SDKs record links with an empty context. */
export function newLink(): OtlpLink {
  return { traceId: '', spanId: '', traceState: '', flags: 0, attributes: {}, droppedAttributesCount: 0 };
}

/**
 * Normalizes the ids of a filled span.
 *
 * @returns why the span is invalid by OTLP, or undefined
 */
function finishSpan(span: OtlpSpan): string | undefined {
  if (normalizeId(span.traceId) === null) return SpanFault.traceId;
  if (normalizeId(span.spanId) === null) return SpanFault.spanId;
  if (span.parentSpanId === MALFORMED_ID) return SpanFault.parentSpanId;
  span.parentSpanId = normalizeId(span.parentSpanId);
  return undefined;
}

/** The two encodings of OTLP/HTTP: `application/x-protobuf` and `application/json`. */
export type OtlpEncoding = 'protobuf' | 'json';

/**
 * An attribute value as plain JSON (from AnyValue of opentelemetry/proto/common/v1/common.proto).
 *
 * A 64-bit integer is a number if that is exact (up to ±(2^53 - 1)), else its decimal string. NaN and the infinities are
 * the strings "NaN", "Infinity" and "-Infinity", as in the JSON mapping of protobuf. Bytes are base64. An empty AnyValue is
 * null. NUL characters and lone surrogates in strings are replaced by U+FFFD, because PostgreSQL cannot store them.
 */
export type OtlpValue = string | number | boolean | null | OtlpValue[] | OtlpAttributes;

/** Attributes by key. Of a repeated key, the last value counts. `__proto__` is an ordinary key. */
export interface OtlpAttributes {
  [key: string]: OtlpValue;
}

/** An object that has attributes. */
export interface AttributeOwner {
  attributes: OtlpAttributes;
  /** Number of attributes dropped by the sender or by the limits; absent if OTLP has no such count. */
  droppedAttributesCount?: number;
}

/** The entity that produced the records. All records of a ResourceSpans share one object. */
export interface OtlpResource {
  attributes: OtlpAttributes;
  droppedAttributesCount: number;
  /** Schema of the resource's attributes; empty if not sent. */
  schemaUrl: string;
}

/** The instrumentation library. All records of a ScopeSpans share one object. */
export interface OtlpScope {
  name: string;
  version: string;
  attributes: OtlpAttributes;
  droppedAttributesCount: number;
  /** Schema of the attributes of the scope's spans and events; empty if not sent. */
  schemaUrl: string;
}

/** Span kinds, in the order of the enumeration Span.SpanKind of trace.proto. Unknown kinds are 'unspecified'. */
export const SPAN_KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
export type OtlpSpanKind = (typeof SPAN_KINDS)[number];

/** Status codes, in the order of the enumeration Status.StatusCode of trace.proto. Unknown codes are 'unset'. */
export const STATUS_CODES = ['unset', 'ok', 'error'] as const;
export type OtlpStatusCode = (typeof STATUS_CODES)[number];

export interface OtlpStatus {
  code: OtlpStatusCode;
  message: string;
}

export interface OtlpEvent {
  name: string;
  /** Nanoseconds since 1970, unsigned 64 bits. */
  timeUnixNano: bigint;
  attributes: OtlpAttributes;
  droppedAttributesCount: number;
}

export interface OtlpLink {
  /** 32 lower-case hexadecimal digits; null if empty, all zero or malformed, because a link may point nowhere. */
  traceId: string | null;
  /** 16 lower-case hexadecimal digits; null if empty, all zero or malformed, because a link may point nowhere. */
  spanId: string | null;
  traceState: string;
  flags: number;
  attributes: OtlpAttributes;
  droppedAttributesCount: number;
}

/** A valid span. Missing fields have the default of protobuf: empty string, 0, empty list. */
export interface OtlpSpan {
  /** 32 lower-case hexadecimal digits, not all zero. */
  traceId: string;
  /** 16 lower-case hexadecimal digits, not all zero. */
  spanId: string;
  /** 16 lower-case hexadecimal digits; null for a root span. */
  parentSpanId: string | null;
  /** W3C tracestate, unparsed. */
  traceState: string;
  /** Unsigned 32 bits; the low 8 are the W3C trace flags. */
  flags: number;
  /** May be empty, which OTLP treats as an unknown name. */
  name: string;
  kind: OtlpSpanKind;
  /** Nanoseconds since 1970, unsigned 64 bits; 0 if not sent. */
  startTimeUnixNano: bigint;
  /** Nanoseconds since 1970, unsigned 64 bits; may be before the start if clocks disagree. */
  endTimeUnixNano: bigint;
  status: OtlpStatus;
  attributes: OtlpAttributes;
  droppedAttributesCount: number;
  events: OtlpEvent[];
  droppedEventsCount: number;
  links: OtlpLink[];
  droppedLinksCount: number;
  resource: OtlpResource;
  scope: OtlpScope;
}

/** The invalid records of a request, and the parts dropped from the others, for the `partialSuccess` of the response. */
export interface OtlpRejection {
  /** Number of invalid records. */
  count: number;
  /**
   * Plain English sentences: at most 10 about invalid records (one per kind of fault, with the number of records), and at most
   * 3 about dropped parts.
   */
  reasons: string[];
}

export interface DecodedTraceRequest {
  /** The valid spans, in the order of the request. */
  spans: OtlpSpan[];
  rejected: OtlpRejection;
  /** Number of records and their parts, valid or not, see `MAX_RECORDS`. */
  recordCount: number;
}

/** Thrown if a request body cannot be decoded. Nothing of the body is stored, and the response is 400. */
export class OtlpDecodeError extends Error {
  override readonly name = 'OtlpDecodeError';

  /**
   * @param detail a plain English sentence for the sender, without any part of the body
   */
  constructor(
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    super(detail, options);
  }
}

import { randomBytes } from 'node:crypto';
import { bytes, double, fixed64, message, varint } from './otlp-bytes';

export type TestAttributes = Record<string, string | number | boolean>;

/** A span of a test. Times in nanoseconds since 1970. */
export interface TestSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name?: string;
  start?: bigint;
  end?: bigint;
  attributes?: TestAttributes;
  isError?: boolean;
}

/** Start time of test spans: 2026-11-20T00:00:00Z. */
export const SPAN_START = 1_795_132_800_000_000_000n;

export const newTraceId = (): string => randomBytes(16).toString('hex');
export const newSpanId = (): string => randomBytes(8).toString('hex');

/** Creates a root span of 5 ms in a new trace, with overrides. */
export const newSpan = (overrides: Partial<TestSpan> = {}): TestSpan => ({
  traceId: newTraceId(),
  spanId: newSpanId(),
  name: 'step',
  start: SPAN_START,
  end: SPAN_START + 5_000_000n,
  ...overrides,
});

const SERVICE = { 'service.name': 'shop' };
const SCOPE = { name: 'test', version: '1' };
const CLIENT = 3;
const ERROR = { code: 2, message: 'failed' };

/** An ExportTraceServiceRequest in the JSON mapping. */
export function jsonExport(spans: readonly TestSpan[], resource: TestAttributes = SERVICE): Buffer {
  const scopeSpans = [{ scope: SCOPE, spans: spans.map(jsonSpan) }];
  const request = { resourceSpans: [{ resource: { attributes: jsonAttributes(resource) }, scopeSpans }] };
  return Buffer.from(JSON.stringify(request));
}

const jsonSpan = (span: TestSpan) => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId ?? '',
  name: span.name ?? '',
  kind: CLIENT,
  startTimeUnixNano: String(span.start ?? SPAN_START),
  endTimeUnixNano: String(span.end ?? SPAN_START),
  attributes: jsonAttributes(span.attributes ?? {}),
  status: span.isError ? ERROR : {},
});

const jsonAttributes = (attributes: TestAttributes) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: jsonValue(value) }));

function jsonValue(value: TestAttributes[string]): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** An ExportTraceServiceRequest in protobuf. */
export function protobufExport(spans: readonly TestSpan[], resource: TestAttributes = SERVICE): Buffer {
  const scope = message(1, bytes(1, SCOPE.name), bytes(2, SCOPE.version));
  const scopeSpans = message(2, scope, ...spans.map(protobufSpan));
  return message(1, message(1, ...protobufAttributes(1, resource)), scopeSpans);
}

const protobufSpan = (span: TestSpan): Buffer =>
  message(
    2,
    bytes(1, Buffer.from(span.traceId, 'hex')),
    bytes(2, Buffer.from(span.spanId, 'hex')),
    bytes(4, Buffer.from(span.parentSpanId ?? '', 'hex')),
    bytes(5, span.name ?? ''),
    varint(6, CLIENT),
    fixed64(7, span.start ?? SPAN_START),
    fixed64(8, span.end ?? SPAN_START),
    ...protobufAttributes(9, span.attributes ?? {}),
    ...(span.isError ? [message(15, bytes(2, ERROR.message), varint(3, ERROR.code))] : []),
  );

const protobufAttributes = (field: number, attributes: TestAttributes): Buffer[] =>
  Object.entries(attributes).map(([key, value]) =>
    message(field, bytes(1, key), message(2, protobufValue(value))),
  );

function protobufValue(value: TestAttributes[string]): Buffer {
  if (typeof value === 'string') return bytes(1, value);
  if (typeof value === 'boolean') return varint(2, Number(value));
  return Number.isInteger(value) ? varint(3, value) : double(4, value);
}

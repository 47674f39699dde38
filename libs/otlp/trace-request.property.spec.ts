import { deepStrictEqual } from 'node:assert';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { decodeTraceRequest, OtlpDecodeError, type OtlpEncoding } from './index';

/** The messages of opentelemetry-proto, encoded by protobufjs: independent of the reader under test. */
const exportRequest = protobuf
  .parse(
    `syntax = "proto3";
    message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
    message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
    message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
    message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
    message Scope {
      string name = 1; string version = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4;
    }
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
    message Status { string message = 2; int32 code = 3; }
    message KeyValue { string key = 1; AnyValue value = 2; }
    message ArrayValue { repeated AnyValue values = 1; }
    message KeyValueList { repeated KeyValue values = 1; }
    message AnyValue {
      oneof value {
        string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
        ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
      }
    }`,
  )
  .root.lookupType('ExportTraceServiceRequest');

const ID_FIELDS = new Set(['traceId', 'spanId', 'parentSpanId']);

const encoders: Record<OtlpEncoding, (request: object) => Buffer> = {
  json: (request) => Buffer.from(JSON.stringify(request)),
  protobuf: (request) => {
    const withBytes: unknown = JSON.parse(JSON.stringify(request), (key, value: unknown) =>
      ID_FIELDS.has(key) && typeof value === 'string' ? Buffer.from(value, 'hex') : value,
    );
    return Buffer.from(exportRequest.encode(exportRequest.fromObject(withBytes as object)).finish());
  },
};

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', 'a\0b', '🌍', 'x'.repeat(100)),
);
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'gen_ai.request.model', '0'));
const count = fc.oneof(fc.nat(), fc.constantFrom(0, 127, 128, 0xffff_ffff));
const time = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
const hex = (bytes: number) =>
  fc
    .oneof(
      { weight: 5, arbitrary: fc.uint8Array({ minLength: bytes, maxLength: bytes }) },
      fc.constant(new Uint8Array(bytes)),
      fc.uint8Array({ maxLength: 20 }),
    )
    .map((id) => Buffer.from(id).toString('hex'));

const { attributes } = fc.letrec<{ value: unknown; attributes: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.record({ stringValue: text }),
    fc.record({ boolValue: fc.boolean() }),
    fc.record({
      intValue: fc
        .oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
        .map(String),
    }),
    fc.record({
      doubleValue: fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.constantFrom('NaN', 'Infinity', '-Infinity'),
      ),
    }),
    fc.record({
      bytesValue: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    }),
    fc.constant({}),
    fc.record({ arrayValue: fc.record({ values: fc.array(tie('value'), { maxLength: 5 }) }) }),
    fc.record({ kvlistValue: fc.record({ values: tie('attributes') }) }),
  ),
  attributes: fc.array(fc.record({ key, value: tie('value') }), { maxLength: 8 }),
}));

const optional = { requiredKeys: [] };
const event = fc.record(
  { timeUnixNano: time, name: text, attributes, droppedAttributesCount: count },
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
    startTimeUnixNano: time,
    endTimeUnixNano: time,
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
const resource = fc.record({ attributes, droppedAttributesCount: count }, optional);
const scope = fc.record({ name: text, version: text, attributes, droppedAttributesCount: count }, optional);
const scopeSpans = fc.record({ scope, schemaUrl: text, spans: fc.array(span, { maxLength: 4 }) }, optional);
const request = fc.record({
  resourceSpans: fc.array(
    fc.record({ resource, schemaUrl: text, scopeSpans: fc.array(scopeSpans, { maxLength: 3 }) }, optional),
    { maxLength: 3 },
  ),
});

/** Decodes; undefined when the body is refused, as it may be. Any other error is a failure. */
function decodeOrRefuse(body: Uint8Array, encoding: OtlpEncoding) {
  try {
    return decodeTraceRequest(Buffer.from(body), encoding);
  } catch (error) {
    expect(error).toBeInstanceOf(OtlpDecodeError);
    return undefined;
  }
}

/** Overwrites, inserts or removes bytes, as broken senders and proxies do. */
const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 }), fc.nat({ max: 2 })), {
  minLength: 1,
  maxLength: 4,
});
function damaged(body: Buffer, changes: [number, number, number][]): Buffer {
  const bytes = [...body];
  for (const [position, byte, change] of changes) {
    const inserted = change === 2 ? [] : [byte];
    bytes.splice(position % (bytes.length + 1), change === 1 ? 0 : 1, ...inserted);
  }
  return Buffer.from(bytes);
}

describe.each(['protobuf', 'json'] as const)('whatever is sent as %s', (encoding) => {
  it('is decoded or refused: bytes of all kinds', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300, size: 'max' }),
        (body) => void decodeOrRefuse(body, encoding),
      ),
      { numRuns: 200 },
    );
  });

  it('is decoded or refused: requests damaged on the way', () => {
    fc.assert(
      fc.property(request, damage, (sent, changes) => {
        decodeOrRefuse(damaged(encoders[encoding](sent), changes), encoding);
      }),
      { numRuns: 100 },
    );
  });
});

it('decodes or refuses any JSON, also inside a request', () => {
  const anything = fc.jsonValue({ maxDepth: 4 });
  const envelope = fc.record({
    resourceSpans: fc.array(fc.record({ scopeSpans: fc.array(fc.record({ spans: fc.array(anything) })) })),
  });
  const spanLike = fc.dictionary(
    fc.constantFrom('traceId', 'attributes', 'events', 'links', 'kind', 'status'),
    anything,
  );
  const bodies = fc.oneof(
    anything,
    envelope,
    spanLike.map((one) => ({ resourceSpans: [{ scopeSpans: [{ spans: [one] }] }] })),
  );
  fc.assert(
    fc.property(bodies, (body) => void decodeOrRefuse(encoders.json(body as object), 'json')),
    { numRuns: 200 },
  );
});

it('means the same in JSON as in protobuf', () => {
  fc.assert(
    fc.property(request, (sent) => {
      const fromJson = decodeTraceRequest(encoders.json(sent), 'json');
      // Not by expect: it takes a member named "constructor" for the class of the object.
      deepStrictEqual(fromJson, decodeTraceRequest(encoders.protobuf(sent), 'protobuf'));
    }),
    { numRuns: 100 },
  );
});

it('holds nothing that PostgreSQL could not store as JSON', () => {
  fc.assert(
    fc.property(request, (sent) => {
      const { spans } = decodeTraceRequest(encoders.protobuf(sent), 'protobuf');
      const json = JSON.stringify(spans, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      expect(json).not.toMatch(/\\u0000|\\ud[89a-f]/);
    }),
  );
});

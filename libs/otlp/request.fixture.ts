/** Random requests of all kinds, encoded with protobufjs, independently of the readers under test. */
import { deepStrictEqual } from 'node:assert';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { OtlpDecodeError, type OtlpEncoding } from './index';

/** The messages of common.proto and resource.proto. */
const COMMON = `
  message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
  message Scope {
    string name = 1; string version = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4;
  }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message ArrayValue { repeated AnyValue values = 1; }
  message KeyValueList { repeated KeyValue values = 1; }
  message AnyValue {
    oneof value {
      string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
      ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
    }
  }`;

const ID_FIELDS = new Set(['traceId', 'spanId', 'parentSpanId']);

/** Encodes a request, which is in the JSON mapping. */
export type Encoders = Record<OtlpEncoding, (request: object) => Buffer>;

/**
 * @param messages the messages of the signal, starting with the request. They may use messages of common.proto and
 *   resource.proto.
 */
export function encodersOf(messages: string): Encoders {
  const { root } = protobuf.parse(`syntax = "proto3"; ${messages} ${COMMON}`);
  const [, name] = /message (\w+)/.exec(messages) ?? [];
  const type = root.lookupType(name as string);
  return {
    json: (request) => Buffer.from(JSON.stringify(request)),
    protobuf: (request) => {
      const withBytes: unknown = JSON.parse(JSON.stringify(request), (key, value: unknown) =>
        ID_FIELDS.has(key) && typeof value === 'string' ? Buffer.from(value, 'hex') : value,
      );
      return Buffer.from(type.encode(type.fromObject(withBytes as object)).finish());
    },
  };
}

export const optional = { requiredKeys: [] };

export const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', 'a\0b', '🌍', 'x'.repeat(100)),
);
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'gen_ai.request.model', '0'));
export const count = fc.oneof(fc.nat(), fc.constantFrom(0, 127, 128, 0xffff_ffff));
export const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
export const int64 = fc
  .oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
  .map(String);
export const double = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom('NaN', 'Infinity', '-Infinity'),
);

/** Generates ids of this length, most of them valid. */
export const hex = (bytes: number) =>
  fc
    .oneof(
      { weight: 5, arbitrary: fc.uint8Array({ minLength: bytes, maxLength: bytes }) },
      fc.constant(new Uint8Array(bytes)),
      fc.uint8Array({ maxLength: 20 }),
    )
    .map((id) => Buffer.from(id).toString('hex'));

export const { attributes, value } = fc.letrec<{ value: unknown; attributes: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.record({ stringValue: text }),
    fc.record({ boolValue: fc.boolean() }),
    fc.record({ intValue: int64 }),
    fc.record({ doubleValue: double }),
    fc.record({
      bytesValue: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    }),
    fc.constant({}),
    fc.record({ arrayValue: fc.record({ values: fc.array(tie('value'), { maxLength: 5 }) }) }),
    fc.record({ kvlistValue: fc.record({ values: tie('attributes') }) }),
  ),
  attributes: fc.array(fc.record({ key, value: tie('value') }), { maxLength: 8 }),
}));

const resource = fc.record({ attributes, droppedAttributesCount: count }, optional);
const scope = fc.record({ name: text, version: text, attributes, droppedAttributesCount: count }, optional);

/** Generates requests with such items, in lists with these names. */
export function requests(names: [string, string, string], item: fc.Arbitrary<unknown>) {
  const [resources, scopes, items] = names;
  const scopeItems = fc.record(
    { scope, schemaUrl: text, [items]: fc.array(item, { maxLength: 4 }) },
    optional,
  );
  const resourceItems = fc.record(
    { resource, schemaUrl: text, [scopes]: fc.array(scopeItems, { maxLength: 3 }) },
    optional,
  );
  return fc.record({ [resources]: fc.array(resourceItems, { maxLength: 3 }) });
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

/** An export of one signal, for the properties that hold for all signals. */
export interface Signal {
  names: [resources: string, scopes: string, items: string];
  /** Items that all readers should understand. */
  item: fc.Arbitrary<unknown>;
  /** Fields of an item to fill with arbitrary JSON. */
  fields: string[];
  encoders: Encoders;
  decode: (body: Buffer, encoding: OtlpEncoding) => object;
}

/** Describes the properties of any export. */
export function describeSignal({ names, item, fields, encoders, decode }: Signal): void {
  const request = requests(names, item);

  /** Decodes a body, which may be rejected. Any other error is a failure. */
  const decodeOrReject = (body: Uint8Array, encoding: OtlpEncoding): void => {
    try {
      decode(Buffer.from(body), encoding);
    } catch (error) {
      expect(error).toBeInstanceOf(OtlpDecodeError);
    }
  };

  describe.each(['protobuf', 'json'] as const)('in %s', (encoding) => {
    it('decodes or rejects arbitrary bytes', () => {
      const bytes = fc.uint8Array({ maxLength: 300, size: 'max' });
      fc.assert(
        fc.property(bytes, (body) => {
          decodeOrReject(body, encoding);
        }),
        { numRuns: 100 },
      );
    });

    it('decodes or rejects damaged requests', () => {
      fc.assert(
        fc.property(request, damage, (sent, changes) => {
          decodeOrReject(damaged(encoders[encoding](sent), changes), encoding);
        }),
        { numRuns: 50 },
      );
    });
  });

  it('decodes or rejects arbitrary JSON, even inside a request', () => {
    const anything = fc.jsonValue({ maxDepth: 4 });
    const itemLike = fc.dictionary(fc.constantFrom(...fields), anything);
    const [resources, scopes, items] = names;
    const within = (content: unknown) => ({ [resources]: [{ [scopes]: [{ [items]: content }] }] });
    const bodies = fc.oneof(
      anything,
      anything.map(within),
      itemLike.map((one) => within([one])),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        decodeOrReject(encoders.json(body as object), 'json');
      }),
      { numRuns: 100 },
    );
  });

  it('decodes JSON and protobuf to the same result', () => {
    fc.assert(
      fc.property(request, (sent) => {
        const fromJson = decode(encoders.json(sent), 'json');
        // expect() would take a member named "constructor" for the class of the object.
        deepStrictEqual(fromJson, decode(encoders.protobuf(sent), 'protobuf'));
      }),
      { numRuns: 50 },
    );
  });

  it('returns only values that PostgreSQL can store as JSON', () => {
    fc.assert(
      fc.property(request, (sent) => {
        const json = JSON.stringify(decode(encoders.protobuf(sent), 'protobuf'), (_, value: unknown) =>
          typeof value === 'bigint' ? String(value) : value,
        );
        expect(json).not.toMatch(/\\u0000|\\ud[89a-f]/);
      }),
    );
  });
}

/** Returns why a body is rejected. */
export function decodeErrorOf(decode: () => unknown): string {
  try {
    decode();
  } catch (error) {
    if (error instanceof OtlpDecodeError) {
      return error.detail;
    }
    throw error;
  }
  return 'not rejected';
}

import {
  attribute,
  bytes,
  double,
  fixed64,
  IDS,
  keyValue,
  message,
  nested,
  request,
  span,
  SPAN_ID,
  TRACE_ID,
  varint,
} from '../testing/otlp-bytes';
import { decodeTraceRequest } from './decode.fixture';
import { OtlpDecodeError, type OtlpSpan } from './index';
import { MAX_RECORDS } from './element.counter';

const decode = (body: Buffer) => decodeTraceRequest(body, 'protobuf');
function decodeSpan(...fields: Buffer[]): OtlpSpan {
  const { spans, rejected } = decode(request(span(...IDS, ...fields)));
  expect(rejected).toEqual({ count: 0, reasons: [] });
  return spans[0] as OtlpSpan;
}
const decodeValue = (...anyValue: Buffer[]) => decodeSpan(attribute('key', ...anyValue)).attributes.key;

describe('a span in protobuf', () => {
  it.each([
    ['no trace id', [bytes(2, SPAN_ID)], 'traceId'],
    ['a trace id of zeros', [bytes(1, Buffer.alloc(16)), bytes(2, SPAN_ID)], 'traceId'],
    ['a trace id of 8 bytes', [bytes(1, SPAN_ID), bytes(2, SPAN_ID)], 'traceId'],
    ['no span id', [bytes(1, TRACE_ID)], 'spanId'],
    ['a span id of zeros', [bytes(1, TRACE_ID), bytes(2, Buffer.alloc(8))], 'spanId'],
    ['a span id of 9 bytes', [bytes(1, TRACE_ID), bytes(2, Buffer.alloc(9, 1))], 'spanId'],
    ['a parent of 7 bytes', [...IDS, bytes(4, Buffer.alloc(7, 1))], 'parentSpanId'],
  ])('is omitted with %s, without affecting the others', (_, fields, field) => {
    const good = span(...IDS, bytes(5, 'good'));
    const { spans, rejected } = decode(request(good, span(...fields), good));
    expect(spans.map(({ name }) => name)).toEqual(['good', 'good']);
    expect(rejected).toEqual({
      count: 1,
      reasons: [
        expect.stringMatching(new RegExp(`^${field} must be .* \\(the span at index 1\\)\\.$`)) as string,
      ],
    });
  });

  it('counts spans with the same fault together', () => {
    const { rejected } = decode(request(span(), span(...IDS), span(), span(bytes(1, TRACE_ID))));
    expect(rejected.count).toBe(3);
    expect(rejected.reasons).toEqual([
      expect.stringContaining('(2 spans, the first at index 0).') as string,
      expect.stringContaining('(the span at index 3).') as string,
    ]);
  });

  it('may have no name, no times, no parent, or a parent of zeros', () => {
    expect(decodeSpan()).toMatchObject({
      name: '',
      startTimeUnixNano: 0n,
      endTimeUnixNano: 0n,
      parentSpanId: null,
    });
    expect(decodeSpan(bytes(4, Buffer.alloc(8))).parentSpanId).toBeNull();
  });

  it('keeps a link without a target, because of its attributes', () => {
    const attributes = message(4, ...keyValue('why', bytes(1, 'x')));
    const empty = message(13, attributes);
    const zero = message(13, bytes(1, Buffer.alloc(16)), bytes(2, Buffer.alloc(8)), attributes);
    const malformed = message(13, bytes(1, SPAN_ID), bytes(2, TRACE_ID), attributes);
    for (const link of decodeSpan(empty, zero, malformed).links) {
      expect(link).toMatchObject({ traceId: null, spanId: null, attributes: { why: 'x' } });
    }
  });

  it.each([
    ['1970', 0n],
    ['2262', 2n ** 63n - 1n],
    ['the end of 64 bits', 2n ** 64n - 1n],
  ])('keeps times of %s to the nanosecond', (_, time) => {
    expect(decodeSpan(fixed64(7, time), fixed64(8, time))).toMatchObject({
      startTimeUnixNano: time,
      endTimeUnixNano: time,
    });
  });

  it.each([
    [0, 'unspecified'],
    [5, 'consumer'],
    [6, 'unspecified'],
    [-1, 'unspecified'],
  ])('maps the kind %i to %s', (number, kind) => {
    expect(decodeSpan(varint(6, number)).kind).toBe(kind);
  });
});

describe('an attribute value in protobuf', () => {
  it.each([
    ['text', bytes(1, 'text'), 'text'],
    ['an empty text', bytes(1, ''), ''],
    ['a long text', bytes(1, 'grüße '.repeat(100)), 'grüße '.repeat(100)],
    ['true', varint(2, 1), true],
    ['false', varint(2, 0), false],
    ['zero', varint(3, 0), 0],
    ['the largest exact integer', varint(3, 2n ** 53n - 1n), 9007199254740991],
    ['a larger one', varint(3, 2n ** 53n), '9007199254740992'],
    ['the largest', varint(3, 2n ** 63n - 1n), '9223372036854775807'],
    ['the smallest exact integer', varint(3, -(2n ** 53n) + 1n), -9007199254740991],
    ['a smaller one', varint(3, -(2n ** 53n)), '-9007199254740992'],
    ['the smallest', varint(3, -(2n ** 63n)), '-9223372036854775808'],
    ['a double', double(4, -1.5e300), -1.5e300],
    ['NaN', double(4, Number.NaN), 'NaN'],
    ['Infinity', double(4, Number.POSITIVE_INFINITY), 'Infinity'],
    ['-Infinity', double(4, Number.NEGATIVE_INFINITY), '-Infinity'],
    ['an empty list', message(5), []],
    ['an empty map', message(6), {}],
    ['bytes', bytes(7, Buffer.from([0, 255, 62])), 'AP8+'],
    ['no bytes', bytes(7, ''), ''],
    ['nothing', Buffer.alloc(0), null],
    ['a list with nothing in it', message(5, message(1), message(1, varint(3, 1))), [null, 1]],
  ])('is decoded: %s', (_, anyValue, expected) => {
    expect(decodeValue(anyValue)).toEqual(expected);
  });

  it('may be missing, and so may the key', () => {
    expect(decodeSpan(message(9, bytes(1, 'key'))).attributes).toEqual({ key: null });
    expect(decodeSpan(message(9, message(2, varint(3, 1)))).attributes).toEqual({ '': 1 });
  });

  it('replaces NUL characters and invalid UTF-8, which cannot be stored', () => {
    expect(decodeValue(bytes(1, 'a\0b'))).toBe('a\ufffdb');
    expect(decodeValue(bytes(1, `${'long '.repeat(10)}\0\0`))).toBe(`${'long '.repeat(10)}\ufffd\ufffd`);
    expect(decodeValue(bytes(1, Buffer.from([0x61, 0xff])))).toBe('a\ufffd');
    expect(decodeValue(bytes(1, Buffer.from([0xed, 0xa0, 0x80])))).toMatch(/^\ufffd+$/);
    expect(decodeSpan(attribute('k\0', varint(3, 1)), bytes(5, 'n\0')).attributes).toEqual({ 'k\ufffd': 1 });
  });

  it('may be named __proto__', () => {
    const inner = message(
      6,
      message(1, ...keyValue('__proto__', message(6, message(1, ...keyValue('x', varint(3, 1)))))),
    );
    const { attributes } = decodeSpan(attribute('__proto__', inner), attribute('constructor', varint(3, 1)));
    expect(Object.keys(attributes)).toEqual(['__proto__', 'constructor']);
    expect(JSON.stringify(attributes)).toBe('{"__proto__":{"__proto__":{"x":1}},"constructor":1}');
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it('may be nested up to 64 levels', () => {
    for (const kind of ['list', 'map'] as const) {
      const value = (levels: number) => decodeValue(nested(levels, kind, varint(3, 1)));
      expect(JSON.stringify(value(64))).toMatch(/^([[{]("k":)?){64}1/);
      expect(catchDetail(() => value(65))).toMatch(/deeper than 64 levels/);
      expect(catchDetail(() => value(10_000))).toMatch(/deeper than 64 levels/);
    }
  });
});

const copies = (one: Buffer): Buffer[] => Array.from({ length: MAX_RECORDS / 1_000 }, () => one);

describe('the memory for a small body', () => {
  it.each([
    ['resources', Buffer.alloc(2 * (MAX_RECORDS + 1), message(1))],
    ['scopes', message(1, Buffer.alloc(2 * MAX_RECORDS, message(2)))],
    ['spans', request(Buffer.alloc(2 * (MAX_RECORDS + 1), span()))],
    ['events', request(...copies(span(...IDS, Buffer.alloc(2 * 1_000, message(11)))))],
    ['links', request(...copies(span(...IDS, Buffer.alloc(2 * 1_000, message(13)))))],
  ])('is limited for %s', (_, body) => {
    expect(catchDetail(() => decode(body))).toMatch(
      /more than 100000 resources, scopes, spans, events and links/,
    );
  });
});

function catchDetail(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof OtlpDecodeError) {
      return error.detail;
    }
    throw error;
  }
  return 'nothing was thrown';
}

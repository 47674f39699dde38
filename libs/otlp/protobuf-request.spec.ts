import {
  attribute,
  bytes,
  double,
  fixed64,
  IDS,
  keyValue,
  message,
  request,
  span,
  SPAN_ID,
  TRACE_ID,
  varint,
} from '../testing/otlp-bytes';
import { decodeTraceRequest } from './decode.fixture';
import { OtlpDecodeError, type OtlpSpan } from './index';

const decode = (body: Buffer) => decodeTraceRequest(body, 'protobuf');
function decodeSpan(...fields: Buffer[]): OtlpSpan {
  const { spans, rejected } = decode(request(span(...IDS, ...fields)));
  expect(rejected).toEqual({ count: 0, reasons: [] });
  return spans[0] as OtlpSpan;
}

/** A request with every kind of field. */
const wholeSpan = span(
  ...IDS,
  bytes(3, 'vendor=1'),
  bytes(4, Buffer.alloc(8, 7)),
  bytes(5, 'chat'),
  varint(6, 3),
  fixed64(7, 5n),
  fixed64(8, 9n),
  attribute('a', bytes(1, 'text')),
  attribute('b', message(5, message(1, varint(3, -1)), message(1, double(4, 0.5)))),
  varint(10, 1),
  message(11, fixed64(1, 6n), bytes(2, 'event'), message(3, ...keyValue('c', varint(2, 1))), varint(4, 2)),
  varint(12, 3),
  message(
    13,
    ...IDS,
    bytes(3, 's'),
    message(4, ...keyValue('d', bytes(7, 'x'))),
    varint(5, 4),
    Buffer.from('3501000000', 'hex'),
  ),
  varint(14, 5),
  message(15, bytes(2, 'broken'), varint(3, 2)),
  Buffer.from('850101030000', 'hex'),
);
const wholeRequest = message(
  1,
  message(1, message(1, ...keyValue('service.name', bytes(1, 'shop'))), varint(2, 6)),
  message(
    2,
    message(1, bytes(1, 'lib'), bytes(2, '1'), message(3, ...keyValue('e', varint(3, 1))), varint(4, 7)),
    wholeSpan,
    bytes(3, 'schema of the spans'),
  ),
  bytes(3, 'schema of the resource'),
);

describe('a protobuf trace request', () => {
  it('is decoded completely', () => {
    expect(decode(wholeRequest).spans).toEqual([
      {
        traceId: TRACE_ID.toString('hex'),
        spanId: SPAN_ID.toString('hex'),
        parentSpanId: '0707070707070707',
        traceState: 'vendor=1',
        flags: 0x301,
        name: 'chat',
        kind: 'client',
        startTimeUnixNano: 5n,
        endTimeUnixNano: 9n,
        status: { code: 'error', message: 'broken' },
        attributes: { a: 'text', b: [-1, 0.5] },
        droppedAttributesCount: 1,
        events: [{ name: 'event', timeUnixNano: 6n, attributes: { c: true }, droppedAttributesCount: 2 }],
        droppedEventsCount: 3,
        links: [
          {
            traceId: TRACE_ID.toString('hex'),
            spanId: SPAN_ID.toString('hex'),
            traceState: 's',
            flags: 1,
            attributes: { d: 'eA==' },
            droppedAttributesCount: 4,
          },
        ],
        droppedLinksCount: 5,
        resource: {
          attributes: { 'service.name': 'shop' },
          droppedAttributesCount: 6,
          schemaUrl: 'schema of the resource',
        },
        scope: {
          name: 'lib',
          version: '1',
          attributes: { e: 1 },
          droppedAttributesCount: 7,
          schemaUrl: 'schema of the spans',
        },
      },
    ]);
  });

  it('may be empty', () => {
    expect(decode(Buffer.alloc(0))).toMatchObject({ spans: [], rejected: { count: 0, reasons: [] } });
    expect(decode(request())).toMatchObject({ spans: [], rejected: { count: 0, reasons: [] } });
  });

  it('is rejected if it is truncated at any byte', () => {
    for (let length = 1; length < wholeRequest.length; length += 1) {
      expect(() => decode(wholeRequest.subarray(0, length))).toThrow(OtlpDecodeError);
    }
  });

  it.each([
    // The field of the span includes exactly the field after the span, so that the rest is well-formed.
    ['a message', '7a05', bytes(8, 'abc')],
    ['a text', '2a12', bytes(8, 'some more letters'.slice(1))],
    ['a short text', '2a05', bytes(8, 'abc')],
    ['an id', '2208', bytes(8, 'abcdef')],
    ['a key', '4a020a05', bytes(8, 'abc')],
    ['a bytes value', '4a0412023a05', bytes(8, 'abc')],
    ['a time', '39', bytes(8, 'abcdef')],
    ['flags', '8501', bytes(8, 'ab')],
    ['a double', '4a03120121', bytes(8, 'abcdef')],
    ['a varint', '30', bytes(8, '').subarray(0, 1)],
    ['an unknown field', 'a20605', bytes(8, 'abc')],
  ])('is rejected if %s of a span extends beyond the span', (_, field, behind) => {
    const body = request(span(...IDS, Buffer.from(field, 'hex')), behind, span(...IDS));
    expect(catchDetail(() => decode(body))).toMatch(
      /^The body is not a complete protobuf ExportTraceServiceRequest \(read up to byte \d+\)\.$/,
    );
  });

  it.each([
    ['of number 0', '0000'],
    ['of wire type 6', '0e00'],
    ['that ends a group which never began', '0c'],
    ['that ends another group', '0b14'],
    ['with a length of five gigabytes', '0affffffff7f'],
    ['with a number that does not end', '08ffff'],
    [
      'with a kind of 80 bits',
      request(span(...IDS, Buffer.from(`30${'ff'.repeat(10)}00`, 'hex'))).toString('hex'),
    ],
  ])('is rejected for a field %s', (_, field) => {
    expect(catchDetail(() => decode(Buffer.from(field, 'hex')))).toMatch(
      /^The body is not a complete protobuf/,
    );
  });

  it('accepts unknown fields at every level', () => {
    const unknown = [
      varint(99, 5),
      fixed64(98, 1n),
      bytes(97, 'x'),
      Buffer.from('0d01000000', 'hex').fill(0xb5, 0, 1),
    ];
    unknown[3] = Buffer.from('b50601000000', 'hex'); // field 102, 32 bits
    const group = Buffer.from('bb0608019b060a0161' + '9c06' + 'bc06', 'hex'); // group 103, with group 99 inside
    const more = Buffer.concat([...unknown, group]);
    const body = Buffer.concat([
      more,
      message(
        1,
        more,
        message(1, more, message(1, more, bytes(1, 'key'), more, message(2, more, varint(3, 1), more))),
        message(
          2,
          message(1, more, bytes(1, 'lib')),
          more,
          span(
            more,
            ...IDS,
            message(11, more),
            message(13, more, ...IDS),
            message(15, more, varint(3, 1)),
            attribute('list', message(5, more, message(1, more, bytes(1, 'a')), more)),
            attribute('map', message(6, more, message(1, ...keyValue('b', bytes(1, 'c')), more))),
            more,
          ),
        ),
      ),
    ]);
    const [decoded] = decode(body).spans;
    expect(decoded).toMatchObject({
      status: { code: 'ok' },
      attributes: { list: ['a'], map: { b: 'c' } },
      resource: { attributes: { key: 1 } },
      scope: { name: 'lib' },
    });
    expect([decoded?.events.length, decoded?.links.length]).toEqual([1, 1]);
  });

  it('accepts fields in any order', () => {
    const body = message(
      1,
      bytes(3, 'r'),
      message(2, bytes(3, 's'), span(bytes(5, 'n'), ...IDS.toReversed()), message(1, bytes(1, 'lib'))),
      message(1, message(1, message(2, varint(3, 1)), bytes(1, 'late'))),
    );
    expect(decode(body).spans[0]).toMatchObject({
      name: 'n',
      resource: { attributes: { late: 1 }, schemaUrl: 'r' },
      scope: { name: 'lib', schemaUrl: 's' },
    });
  });

  it('skips a known field with another wire type', () => {
    expect(decodeSpan(varint(5, 1), bytes(7, '12345678'), fixed64(6, 3n))).toMatchObject({
      name: '',
      startTimeUnixNano: 0n,
      kind: 'unspecified',
    });
  });

  it('merges split messages, and keeps the last value of a field', () => {
    const body = message(
      1,
      message(1, message(1, ...keyValue('a', varint(3, 1)))),
      message(1, message(1, ...keyValue('b', varint(3, 2)))),
      message(
        2,
        message(1, bytes(1, 'lib'), bytes(2, '1')),
        message(1, bytes(2, '2')),
        span(
          ...IDS,
          bytes(5, 'first'),
          bytes(5, 'last'),
          message(15, bytes(2, 'why')),
          message(15, varint(3, 2)),
          attribute('twice', varint(3, 1)),
          attribute('twice', varint(3, 2)),
          attribute('oneof', varint(3, 1), bytes(1, 'text')),
          attribute('list', message(5, message(1, varint(3, 1))), message(5, message(1, varint(3, 2)))),
          message(
            9,
            bytes(1, 'map'),
            message(2, message(6, message(1, ...keyValue('x', varint(3, 1))))),
            message(2, message(6, message(1, ...keyValue('y', varint(3, 2))))),
          ),
        ),
      ),
    );
    expect(decode(body).spans[0]).toMatchObject({
      name: 'last',
      status: { code: 'error', message: 'why' },
      attributes: { twice: 2, oneof: 'text', list: [1, 2], map: { x: 1, y: 2 } },
      resource: { attributes: { a: 1, b: 2 } },
      scope: { name: 'lib', version: '2' },
    });
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

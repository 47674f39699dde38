import {
  bytes,
  double,
  fixed64,
  keyValue,
  message,
  nested,
  request,
  SPAN_ID,
  TRACE_ID,
  varint,
} from '../testing/otlp-bytes';
import { decodeLogsRequest } from './decode.fixture';
import { OtlpDecodeError, type OtlpLogRecord } from './index';
import { MAX_RECORDS } from './element.counter';
import { decodeErrorOf } from './request.fixture';

const decode = (body: Buffer) => decodeLogsRequest(body, 'protobuf');
const logRecord = (...fields: Buffer[]) => message(2, ...fields);
function decodeRecord(...fields: Buffer[]): OtlpLogRecord {
  const { logRecords, rejected } = decode(request(logRecord(...fields)));
  expect(rejected).toEqual({ count: 0, reasons: [] });
  return logRecords[0] as OtlpLogRecord;
}

/** A request with every kind of field. */
const wholeRecord = logRecord(
  fixed64(1, 5n),
  varint(2, 17),
  bytes(3, 'ERROR'),
  message(5, bytes(1, 'it broke')),
  message(6, ...keyValue('a', varint(3, 1))),
  varint(7, 2),
  Buffer.from('4501030000', 'hex'), // flags = 8
  bytes(9, TRACE_ID),
  bytes(10, SPAN_ID),
  fixed64(11, 9n),
  bytes(12, 'session.end'),
);
const wholeRequest = message(
  1,
  message(1, message(1, ...keyValue('service.name', bytes(1, 'shop'))), varint(2, 6)),
  message(2, message(1, bytes(1, 'lib'), bytes(2, '1'), varint(4, 7)), wholeRecord, bytes(3, 's')),
  bytes(3, 'r'),
);

describe('a protobuf logs request', () => {
  it('is decoded completely', () => {
    expect(decode(wholeRequest)).toEqual({
      logRecords: [
        {
          timeUnixNano: 5n,
          observedTimeUnixNano: 9n,
          severityNumber: 17,
          severityText: 'ERROR',
          eventName: 'session.end',
          body: 'it broke',
          attributes: { a: 1 },
          droppedAttributesCount: 2,
          flags: 0x301,
          traceId: TRACE_ID.toString('hex'),
          spanId: SPAN_ID.toString('hex'),
          resource: { attributes: { 'service.name': 'shop' }, droppedAttributesCount: 6, schemaUrl: 'r' },
          scope: { name: 'lib', version: '1', attributes: {}, droppedAttributesCount: 7, schemaUrl: 's' },
        },
      ],
      rejected: { count: 0, reasons: [] },
      recordCount: 3, // with the resource and the scope
    });
  });

  it('may be empty', () => {
    expect(decode(Buffer.alloc(0))).toMatchObject({ logRecords: [], rejected: { count: 0, reasons: [] } });
  });

  it('is rejected if it is truncated at any byte', () => {
    for (let length = 1; length < wholeRequest.length; length += 1) {
      expect(() => decode(wholeRequest.subarray(0, length))).toThrow(OtlpDecodeError);
    }
    expect(decodeErrorOf(() => decode(wholeRequest.subarray(0, 9)))).toMatch(
      /^The body is not a complete protobuf ExportLogsServiceRequest \(read up to byte \d+\)\.$/,
    );
  });

  it.each([
    ['a body', '2a05', bytes(8, 'abc')],
    ['a text', '1a12', bytes(8, 'some more letters'.slice(1))],
    ['an id', '4a10', bytes(8, 'abcdefghijklmn')],
    ['a time', '09', bytes(8, 'abcdef')],
    ['flags', '45', bytes(8, 'ab')],
  ])('is rejected if %s of a record extends beyond the record', (_, field, behind) => {
    const body = request(logRecord(Buffer.from(field, 'hex')), behind);
    expect(decodeErrorOf(() => decode(body))).toMatch(/^The body is not a complete protobuf/);
  });

  it('accepts unknown fields, including groups', () => {
    const group = Buffer.from('bb0608019b060a0161' + '9c06' + 'bc06', 'hex');
    const more = Buffer.concat([varint(99, 5), fixed64(13, 1n), bytes(97, 'x'), group]);
    const record = decodeRecord(more, bytes(3, 'INFO'), more, message(5, more, varint(3, 1), more), more);
    expect(record).toMatchObject({ severityText: 'INFO', body: 1 });
  });

  it('is limited in its number of records, because of their memory', () => {
    const body = request(Buffer.alloc(2 * (MAX_RECORDS + 1), logRecord()));
    expect(decodeErrorOf(() => decode(body))).toMatch(/more than 100000 resources, scopes and log records/);
  });
});

describe('a log record in protobuf', () => {
  it('may be empty', () => {
    expect(decodeRecord()).toMatchObject({
      timeUnixNano: 0n,
      observedTimeUnixNano: 0n,
      severityNumber: 0,
      severityText: '',
      eventName: '',
      body: null,
      traceId: null,
      spanId: null,
    });
  });

  it.each([
    ['empty', '', ''],
    ['all zero', Buffer.alloc(16), Buffer.alloc(8)],
    ['of the wrong length', SPAN_ID, TRACE_ID],
  ])('is kept with ids that are %s, and belongs to no trace', (_, traceId, spanId) => {
    expect(decodeRecord(bytes(9, traceId), bytes(10, spanId))).toMatchObject({ traceId: null, spanId: null });
  });

  it.each([
    ['1970', 0n],
    ['2262', 2n ** 63n - 1n],
    ['the end of 64 bits', 2n ** 64n - 1n],
  ])('keeps times of %s to the nanosecond', (_, time) => {
    expect(decodeRecord(fixed64(1, time), fixed64(11, time))).toMatchObject({
      timeUnixNano: time,
      observedTimeUnixNano: time,
    });
  });

  it.each([
    [1, 1],
    [24, 24],
    [25, 0],
    [-1, 0],
  ])('maps the severity %i to %i', (sent, stored) => {
    expect(decodeRecord(varint(2, sent)).severityNumber).toBe(stored);
  });

  it.each([
    ['text', bytes(1, 'text'), 'text'],
    ['a NUL character', bytes(1, 'a\0b'), 'a\ufffdb'],
    ['no UTF-8', bytes(1, Buffer.from([0xed, 0xa0, 0x80])), expect.stringMatching(/^\ufffd+$/)],
    ['a large integer', varint(3, 2n ** 63n - 1n), '9223372036854775807'],
    ['NaN', double(4, Number.NaN), 'NaN'],
    ['a list', message(5, message(1, varint(2, 1)), message(1)), [true, null]],
    ['a map', message(6, message(1, ...keyValue('k', bytes(7, 'x')))), { k: 'eA==' }],
    ['nothing', Buffer.alloc(0), null],
  ])('has a body that is %s', (_, anyValue, expected) => {
    expect(decodeRecord(message(5, anyValue)).body).toEqual(expected);
  });

  it('accepts a body nested up to 64 levels', () => {
    const body = (levels: number) => decodeRecord(message(5, nested(levels, 'list', varint(3, 1)))).body;
    expect(JSON.stringify(body(64))).toBe(`${'['.repeat(64)}1${']'.repeat(64)}`);
    expect(decodeErrorOf(() => body(65))).toMatch(/deeper than 64 levels/);
    expect(decodeErrorOf(() => body(10_000))).toMatch(/deeper than 64 levels/);
  });
});

import {
  bytes,
  double,
  fixed64,
  keyValue,
  message,
  request,
  SPAN_ID,
  TRACE_ID,
  varint,
} from '../testing/otlp-bytes';
import { decodeMetricsRequest } from './decode.fixture';
import { OtlpDecodeError, type OtlpDataPoint } from './index';
import { MAX_BUCKETS, MAX_RECORDS } from './element.counter';
import { decodeErrorOf } from './request.fixture';

const decode = (body: Buffer) => decodeMetricsRequest(body, 'protobuf');
const metric = (...fields: Buffer[]) => message(2, bytes(1, 'm'), ...fields);
const point = (...fields: Buffer[]) => message(1, ...fields);
function pointsOf(...fields: Buffer[]): OtlpDataPoint[] {
  const { dataPoints, rejected } = decode(request(metric(...fields)));
  expect(rejected).toEqual({ count: 0, reasons: [] });
  return dataPoints;
}

/** Concatenated numbers of wire type 1. */
const fixed64s = (...values: bigint[]) => Buffer.concat(values.map((value) => fixed64(1, value).subarray(1)));
const doubles = (...values: number[]) => Buffer.concat(values.map((value) => double(1, value).subarray(1)));
/** Concatenated numbers of wire type 0. */
const varints = (...values: bigint[]) => Buffer.concat(values.map((value) => varint(1, value).subarray(1)));

const SENT_EXEMPLAR = [
  fixed64(2, 6n),
  fixed64(6, BigInt.asUintN(64, -3n)),
  bytes(4, SPAN_ID),
  bytes(5, TRACE_ID),
  message(7, ...keyValue('b', varint(2, 1))),
];
const EXEMPLAR = {
  timeUnixNano: 6n,
  value: -3,
  traceId: TRACE_ID.toString('hex'),
  spanId: SPAN_ID.toString('hex'),
  attributes: { b: true },
};
const POINT = { startTimeUnixNano: 4n, timeUnixNano: 5n, attributes: { a: 1 }, flags: 2 };
const TIMES = [fixed64(2, 4n), fixed64(3, 5n)];
const attributes = (field: number) => message(field, ...keyValue('a', varint(3, 1)));

const SENT = {
  gauge: message(
    5,
    point(...TIMES, double(4, 0.5), message(5, ...SENT_EXEMPLAR), attributes(7), varint(8, 2)),
  ),
  sum: message(
    7,
    point(...TIMES, fixed64(6, 2n ** 63n), attributes(7), varint(8, 2)),
    varint(2, 2),
    varint(3, 1),
  ),
  histogram: message(
    9,
    point(
      ...TIMES,
      fixed64(4, 3n),
      double(5, 1.5),
      bytes(6, fixed64s(1n, 2n ** 64n - 1n)),
      bytes(7, doubles(0.25)),
      message(8, ...SENT_EXEMPLAR),
      attributes(9),
      varint(10, 2),
      double(11, -1),
      double(12, Number.POSITIVE_INFINITY),
    ),
    varint(2, 1),
  ),
  exponential: message(
    10,
    point(
      attributes(1),
      ...TIMES,
      fixed64(4, 9n),
      double(5, 2.5),
      varint(6, 3), // scale -2, zigzag
      fixed64(7, 4n),
      message(8, varint(1, 5), bytes(2, varints(1n, 2n ** 64n - 1n))),
      message(9, varint(2, 7)),
      varint(10, 2),
      message(11, ...SENT_EXEMPLAR),
      double(12, 0.5),
      double(13, 8),
      double(14, 0.125),
    ),
  ),
  summary: message(
    11,
    point(
      ...TIMES,
      fixed64(4, 2n),
      double(5, 3),
      message(6, double(1, 0.99), double(2, Number.NaN)),
      message(6),
      attributes(7),
      varint(8, 2),
    ),
  ),
};
const wholeRequest = message(
  1,
  message(1, message(1, ...keyValue('service.name', bytes(1, 'shop')))),
  message(
    2,
    message(1, bytes(1, 'lib')),
    message(
      2,
      bytes(1, 'a'),
      bytes(2, 'what it is'),
      bytes(3, 's'),
      SENT.gauge,
      message(12, ...keyValue('m', bytes(1, 'x'))),
    ),
    ...[SENT.sum, SENT.histogram, SENT.exponential, SENT.summary].map((data) => metric(data)),
  ),
);

describe('a protobuf metrics request', () => {
  it('is decoded with metrics of every kind', () => {
    const { dataPoints, rejected } = decode(wholeRequest);
    expect(rejected).toEqual({ count: 0, reasons: [] });
    const [gauge, sum, histogram, exponential, summary] = dataPoints;
    expect(gauge).toEqual({
      ...POINT,
      metric: {
        name: 'a',
        description: 'what it is',
        unit: 's',
        type: 'gauge',
        temporality: null,
        isMonotonic: null,
        metadata: { m: 'x' },
        resource: { attributes: { 'service.name': 'shop' }, droppedAttributesCount: 0, schemaUrl: '' },
        scope: { name: 'lib', version: '', attributes: {}, droppedAttributesCount: 0, schemaUrl: '' },
      },
      value: 0.5,
      exemplars: [EXEMPLAR],
    });
    expect(sum).toMatchObject({
      ...POINT,
      metric: { name: 'm', type: 'sum', temporality: 'cumulative', isMonotonic: true },
      value: '-9223372036854775808',
      exemplars: [],
    });
    expect(histogram).toMatchObject({
      ...POINT,
      metric: { type: 'histogram', temporality: 'delta', isMonotonic: null },
      value: {
        count: 3,
        sum: 1.5,
        min: -1,
        max: 'Infinity',
        bucketCounts: [1, '18446744073709551615'],
        explicitBounds: [0.25],
      },
      exemplars: [EXEMPLAR],
    });
    expect(exponential).toMatchObject({
      ...POINT,
      metric: { type: 'exponential_histogram', temporality: 'unspecified', isMonotonic: null },
      value: {
        count: 9,
        sum: 2.5,
        min: 0.5,
        max: 8,
        scale: -2,
        zeroCount: 4,
        zeroThreshold: 0.125,
        positive: { offset: -3, bucketCounts: [1, '18446744073709551615'] },
        negative: { offset: 0, bucketCounts: [7] },
      },
      exemplars: [EXEMPLAR],
    });
    expect(summary).toMatchObject({
      ...POINT,
      metric: { type: 'summary', temporality: null, isMonotonic: null },
      value: {
        count: 2,
        sum: 3,
        quantiles: [
          { quantile: 0.99, value: 'NaN' },
          { quantile: 0, value: 0 },
        ],
      },
      exemplars: [],
    });
    expect(sum?.metric.resource).toBe(gauge?.metric.resource);
  });

  it('may be empty', () => {
    expect(decode(Buffer.alloc(0))).toMatchObject({ dataPoints: [], rejected: { count: 0, reasons: [] } });
    expect(pointsOf(message(5))).toEqual([]);
  });

  it('is rejected if it is truncated at any byte', () => {
    for (let length = 1; length < wholeRequest.length; length += 1) {
      expect(() => decode(wholeRequest.subarray(0, length))).toThrow(OtlpDecodeError);
    }
    expect(decodeErrorOf(() => decode(wholeRequest.subarray(0, 9)))).toMatch(
      /^The body is not a complete protobuf ExportMetricsServiceRequest \(read up to byte \d+\)\.$/,
    );
  });

  it.each([
    ['packed counts are no multiple of eight bytes', message(9, point(bytes(6, Buffer.alloc(9))))],
    ['packed bounds are no multiple of eight bytes', message(9, point(bytes(7, Buffer.alloc(12))))],
    [
      'packed buckets end in the middle of a number',
      message(10, point(message(8, bytes(2, Buffer.from([0x80]))))),
    ],
    [
      'a value reaches beyond its point',
      Buffer.concat([message(5, point(Buffer.from('31', 'hex'))), bytes(8, 'abcdefgh')]),
    ],
  ])('is rejected if %s', (_, data) => {
    expect(decodeErrorOf(() => decode(request(metric(data))))).toMatch(
      /^The body is not a complete protobuf/,
    );
  });

  it('accepts unknown fields at every level, including groups', () => {
    const group = Buffer.from('bb0608019b060a0161' + '9c06' + 'bc06', 'hex');
    const more = Buffer.concat([varint(99, 5), fixed64(15, 1n), bytes(97, 'x'), group]);
    const exemplar = message(5, more, ...SENT_EXEMPLAR, more);
    const points = pointsOf(more, message(5, more, point(more, double(4, 1), exemplar, more), more), more);
    expect(points).toEqual([expect.objectContaining({ value: 1, exemplars: [EXEMPLAR] })]);
    const [histogram] = pointsOf(message(10, point(more, message(8, more, varint(2, 1), more), more)));
    expect(histogram?.value).toMatchObject({ positive: { bucketCounts: [1] } });
    const [summary] = pointsOf(message(11, point(message(6, more, double(1, 0.5), more))));
    expect(summary?.value).toMatchObject({ quantiles: [{ quantile: 0.5, value: 0 }] });
  });

  it.each([
    ['metrics', request(Buffer.alloc(2 * (MAX_RECORDS + 1), message(2)))],
    ['data points', request(metric(message(5, Buffer.alloc(2 * MAX_RECORDS, point()))))],
    ['exemplars', request(metric(message(5, point(Buffer.alloc(2 * MAX_RECORDS, message(5))))))],
    ['quantiles', request(metric(message(11, point(Buffer.alloc(2 * MAX_RECORDS, message(6))))))],
  ])('is limited in its number of %s, because of their memory', (_, body) => {
    expect(decodeErrorOf(() => decode(body))).toMatch(
      /more than 100000 resources, scopes, metrics, data points, exemplars and quantiles/,
    );
  });

  it.each([
    ['packed', message(8, bytes(2, Buffer.alloc(MAX_BUCKETS + 1)))],
    ['each by itself', message(8, Buffer.alloc(2 * (MAX_BUCKETS + 1), varint(2, 0)))],
  ])('is limited in its number of buckets: %s', (_, buckets) => {
    const body = request(metric(message(10, point(buckets))));
    expect(decodeErrorOf(() => decode(body))).toMatch(/more than 2097152 buckets/);
  });
});

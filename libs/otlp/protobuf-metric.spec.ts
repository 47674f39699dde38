import { bytes, double, fixed64, message, request, TRACE_ID, varint } from '../testing/otlp-bytes';
import { decodeMetricsRequest } from './decode.fixture';
import type { OtlpDataPoint } from './index';

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
describe('a metric in protobuf', () => {
  const good = metric(message(5, point(double(4, 1))));
  it.each([
    ['no name', message(2, message(5, point(double(4, 1)), point(double(4, 2)))), 2, 'must have a name'],
    ['no data', metric(), 1, 'must have data of a known kind'],
    ['data of a later kind', metric(message(14, point(double(4, 1)))), 1, 'must have data of a known kind'],
    ['a point without a value', metric(message(5, point(), point(double(4, 1)))), 1, 'must have a value'],
    [
      'a bucket too few',
      metric(message(9, point(bytes(6, fixed64s(1n)), bytes(7, doubles(1))))),
      1,
      'bucketCounts',
    ],
    ['bounds without counts', metric(message(9, point(bytes(7, doubles(1))))), 1, 'bucketCounts'],
  ])('loses only its own points with %s', (_, bad, count, reason) => {
    const { dataPoints, rejected } = decode(request(good, bad, good));
    expect(dataPoints.map(({ value }) => value).filter((value) => value === 1).length).toBeGreaterThanOrEqual(
      2,
    );
    expect(rejected).toEqual({ count, reasons: [expect.stringContaining(reason)] });
    expect(rejected.reasons[0]).toContain(
      count === 1 ? '(the data point at index 1).' : '(2 data points, the',
    );
  });

  it('accepts a name after the points', () => {
    const body = request(message(2, message(5, point(double(4, 1))), bytes(1, 'late')));
    expect(decode(body).dataPoints).toMatchObject([{ metric: { name: 'late' }, value: 1 }]);
  });

  it('merges repeated data of one kind, and keeps the last of two kinds', () => {
    expect(pointsOf(message(5, point(double(4, 1))), message(5, point(double(4, 2)))).length).toBe(2);
    const points = pointsOf(message(5, point(double(4, 1))), message(7, point(double(4, 2)), varint(2, 1)));
    expect(points).toMatchObject([{ value: 2, metric: { type: 'sum', temporality: 'delta' } }]);
  });

  it('ignores the temporality of a kind without one', () => {
    const [gauge] = pointsOf(message(5, varint(2, 2), varint(3, 1), point(double(4, 1))));
    expect(gauge?.metric).toMatchObject({ temporality: null, isMonotonic: null });
  });

  it('accepts a point without a recorded value', () => {
    expect(pointsOf(message(5, point(varint(8, 1))))).toMatchObject([{ value: null, flags: 1 }]);
  });

  it.each([
    [fixed64(6, 2n ** 53n - 1n), 9007199254740991],
    [fixed64(6, 2n ** 53n), '9007199254740992'],
    [fixed64(6, 2n ** 63n - 1n), '9223372036854775807'],
    [fixed64(6, BigInt.asUintN(64, -(2n ** 53n) + 1n)), -9007199254740991],
    [fixed64(6, BigInt.asUintN(64, -1n)), -1],
    [double(4, -1.5e300), -1.5e300],
    [double(4, Number.NaN), 'NaN'],
    [double(4, Number.NEGATIVE_INFINITY), '-Infinity'],
    [Buffer.concat([double(4, 1), fixed64(6, 2n)]), 2],
  ])('keeps the value of a point: %#', (sent, value) => {
    expect(pointsOf(message(5, point(sent)))).toMatchObject([{ value }]);
  });

  it('accepts unpacked and split counts and bounds of a histogram', () => {
    const counts = [fixed64(6, 1n), bytes(6, fixed64s(2n, 3n)), fixed64(6, 4n)];
    const bounds = [double(7, 1), bytes(7, doubles(2)), double(7, 3)];
    const [histogram] = pointsOf(message(9, point(...counts, ...bounds)));
    expect(histogram?.value).toMatchObject({ bucketCounts: [1, 2, 3, 4], explicitBounds: [1, 2, 3] });
  });

  it('keeps an exemplar without a span', () => {
    const ids = [bytes(4, TRACE_ID), bytes(5, Buffer.alloc(16))];
    const [gauge] = pointsOf(message(5, point(double(4, 1), message(5), message(5, ...ids))));
    for (const exemplar of gauge?.exemplars ?? []) {
      expect(exemplar).toMatchObject({ traceId: null, spanId: null, value: null });
    }
    expect(gauge?.exemplars.length).toBe(2);
  });
});

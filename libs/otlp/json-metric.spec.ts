import { decodeMetricsRequest } from './decode.fixture';
import type { OtlpDataPoint } from './index';
import { MAX_BUCKETS } from './element.counter';
import { decodeErrorOf } from './request.fixture';

const IDS = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

const decode = (body: unknown) =>
  decodeMetricsRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), 'json');
const request = (...metrics: unknown[]) => ({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
function pointOf(data: object): OtlpDataPoint {
  const { dataPoints, rejected } = decode(request({ name: 'm', ...data }));
  expect(rejected).toEqual({ count: 0, reasons: [] });
  return dataPoints[0] as OtlpDataPoint;
}
const gaugeOf = (point: object) => pointOf({ gauge: { dataPoints: [point] } });

describe('a JSON metrics request', () => {
  it.each([
    ['no members', {}],
    ['null', { resourceMetrics: null }],
    ['nothing in it', { resourceMetrics: [{}, { scopeMetrics: [{ metrics: null }] }] }],
    ['a metric without points', request({ name: 'm', gauge: {} }, { name: 'm', sum: { dataPoints: null } })],
  ])('may have no points: %s', (_, body) => {
    expect(decode(body)).toMatchObject({ dataPoints: [], rejected: { count: 0, reasons: [] } });
  });

  it.each([
    ['{"resourceMetrics":[', /not valid JSON/],
    ['[]', /not an ExportMetricsServiceRequest: the request must be an object/],
    ['{"resourceMetrics":{}}', /resourceMetrics must be a list/],
    ['{"resourceMetrics":[{"scopeMetrics":["x"]}]}', /scopeMetrics must be an object/],
    ['{"resourceMetrics":[{"scopeMetrics":[{"metrics":"x"}]}]}', /metrics must be a list/],
  ])('is rejected as a whole if a part that metrics share is malformed: %s', (body, detail) => {
    expect(decodeErrorOf(() => decode(body))).toMatch(detail);
  });

  it('accepts the original names of protobuf instead of lowerCamelCase', () => {
    const exemplar = {
      time_unix_nano: '1',
      as_int: '2',
      trace_id: IDS.traceId,
      span_id: IDS.spanId,
      filtered_attributes: [{ key: 'a', value: { bool_value: true } }],
    };
    const times = { start_time_unix_nano: 3, time_unix_nano: '4', exemplars: [exemplar] };
    const point = {
      startTimeUnixNano: 3n,
      timeUnixNano: 4n,
      exemplars: [{ timeUnixNano: 1n, value: 2, ...IDS, attributes: { a: true } }],
    };
    const metrics = [
      { name: 'a', sum: { data_points: [{ ...times, as_double: 0.5 }], is_monotonic: true } },
      {
        name: 'b',
        histogram: {
          aggregation_temporality: 'AGGREGATION_TEMPORALITY_DELTA',
          data_points: [{ ...times, bucket_counts: ['1', 2], explicit_bounds: [1] }],
        },
      },
      {
        name: 'c',
        exponential_histogram: {
          aggregation_temporality: 2,
          data_points: [{ ...times, zero_count: 5, zero_threshold: 0.5, positive: { bucket_counts: ['6'] } }],
        },
      },
      { name: 'd', summary: { data_points: [{ quantile_values: [{ quantile: 1, value: 7 }] }] } },
    ];
    expect(decode({ resource_metrics: [{ scope_metrics: [{ metrics }] }] }).dataPoints).toMatchObject([
      { ...point, metric: { type: 'sum', temporality: 'unspecified', isMonotonic: true }, value: 0.5 },
      {
        ...point,
        metric: { type: 'histogram', temporality: 'delta' },
        value: { bucketCounts: [1, 2], explicitBounds: [1] },
      },
      {
        ...point,
        metric: { type: 'exponential_histogram', temporality: 'cumulative' },
        value: { zeroCount: 5, zeroThreshold: 0.5, positive: { offset: 0, bucketCounts: [6] } },
      },
      { metric: { type: 'summary' }, value: { quantiles: [{ quantile: 1, value: 7 }] } },
    ]);
  });

  it('is limited in its number of buckets before it is parsed, because of their memory', () => {
    const counts = `[0${',0'.repeat(MAX_BUCKETS)}]`;
    const body = JSON.stringify(
      request({ name: 'm', exponentialHistogram: { dataPoints: [{ positive: { bucketCounts: '@' } }] } }),
    );
    expect(decodeErrorOf(() => decode(body.replace('"@"', counts)))).toMatch(/more than 2097152 attributes/);
  });
});

describe('a data point in JSON', () => {
  it.each([
    [{ asDouble: 0.5 }, 0.5],
    [{ asDouble: '1.5e3' }, 1500],
    [{ asDouble: 'NaN' }, 'NaN'],
    [{ asDouble: '-Infinity' }, '-Infinity'],
    [{ asInt: 42 }, 42],
    [{ asInt: '-9223372036854775808' }, '-9223372036854775808'],
    [{ asDouble: null, asInt: '7' }, 7],
    [{ asDouble: 1, asInt: 2 }, 1],
    [{ flags: 1 }, null],
  ])('has the value of %j', (sent, value) => {
    expect(gaugeOf(sent).value).toBe(value);
  });

  it('keeps a missing sum, min or max of a histogram as null, not 0', () => {
    const histogram = pointOf({
      histogram: { dataPoints: [{ count: '18446744073709551615', max: 'Infinity' }] },
    });
    expect(histogram.value).toEqual({
      count: '18446744073709551615',
      sum: null,
      min: null,
      max: 'Infinity',
      bucketCounts: [],
      explicitBounds: [],
    });
  });

  const number = (point: object) => ({ name: 'm', gauge: { dataPoints: [point] } });
  const histogram = (point: object) => ({ name: 'm', histogram: { dataPoints: [point] } });
  const exponential = (point: object) => ({ name: 'm', exponentialHistogram: { dataPoints: [point] } });
  it.each([
    [number({}), 'must have a value'],
    [number({ asInt: 1.5 }), 'asInt must be a 64-bit integer'],
    [number({ asInt: '9223372036854775808' }), 'asInt must be'],
    [number({ asDouble: 'many' }), 'asDouble must be'],
    [number({ asInt: 1, exemplars: [null] }), 'an exemplar must be an object'],
    [number({ asInt: 1, exemplars: [{ traceId: 1 }] }), 'traceId must be a string'],
    [number({ asInt: 1, timeUnixNano: '-1' }), 'timeUnixNano must be'],
    [histogram({ count: -1 }), 'count must be an unsigned 64-bit integer'],
    [histogram({ bucketCounts: [null] }), 'a bucket count must be'],
    [histogram({ bucketCounts: [1, 2] }), 'bucketCounts must have one more item than explicitBounds'],
    [histogram({ bucketCounts: [1, 2], explicitBounds: [null] }), 'a bound must be'],
    [exponential({ scale: 2 ** 31 }), 'scale must be an integer from -2147483648 to 2147483647'],
    [exponential({ positive: [] }), 'positive must be an object'],
    [exponential({ negative: { offset: 0.5 } }), 'offset must be an integer'],
    [{ name: 'm', summary: { dataPoints: [{ quantileValues: [1] }] } }, 'a quantile must be an object'],
    [{ name: 'm', sum: { dataPoints: [{ asInt: 1 }], isMonotonic: 'yes' } }, 'isMonotonic must be'],
    [{ name: 'm', sum: { dataPoints: 'x' } }, 'dataPoints must be a list'],
    [{ name: 'm', gauge: [] }, 'gauge must be an object'],
    [{ name: 'm' }, 'must have data of a known kind'],
    [{ gauge: { dataPoints: [{ asInt: 1 }] } }, 'a metric must have a name'],
    [{ ...number({ asInt: 1 }), unit: 1 }, 'unit must be a string'],
    [null, 'a metric must be an object'],
  ])('is omitted in the metric %j, without affecting the others', (metric, reason) => {
    const good = number({ asInt: 1 });
    const { dataPoints, rejected } = decode(request(good, metric, good));
    expect(dataPoints.length).toBe(2);
    expect(rejected.count).toBe(1);
    expect(rejected.reasons).toEqual([expect.stringContaining(reason)]);
    expect(rejected.reasons).toEqual([expect.stringContaining('(the data point at index 1).')]);
  });
});

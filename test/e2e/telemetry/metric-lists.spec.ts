import {
  type ApiClient,
  sharedApp,
  newOrganization,
  newSpanId,
  newTraceId,
  type TestOrganization,
} from '#testing';
import { JSON_MEDIA, RawExporter } from './otlp.harness';

const SECOND = 1_000_000_000n;
const START = 1_795_132_800n * SECOND;
const METRICS = '/telemetry/v1/metrics';
const TRACE = newTraceId();
const SPAN = newSpanId();

const text = (stringValue: string) => ({ stringValue });
const attributes = (values: Record<string, object>) =>
  Object.entries(values).map(([key, value]) => ({ key, value }));
const at = (second: number) => ({ timeUnixNano: String(START + BigInt(second) * SECOND) });
const long = 'n'.repeat(3_000);

const SHOP = [
  {
    name: 'temperature',
    description: 'of the room',
    unit: 'Cel',
    metadata: attributes({ origin: text('probe') }),
    gauge: { dataPoints: [{ ...at(0), asDouble: 21.5, attributes: attributes({ room: text('a') }) }] },
  },
  {
    name: 'calls',
    sum: {
      aggregationTemporality: 2,
      isMonotonic: true,
      dataPoints: [
        {
          ...at(1),
          startTimeUnixNano: String(START),
          asInt: '9007199254740993',
          exemplars: [{ ...at(1), asInt: 1, traceId: TRACE, spanId: SPAN }],
        },
        { ...at(2), flags: 1 },
      ],
    },
  },
  {
    name: 'duration',
    histogram: {
      aggregationTemporality: 'AGGREGATION_TEMPORALITY_DELTA',
      dataPoints: [{ ...at(3), count: 3, sum: 4.5, bucketCounts: [1, 2], explicitBounds: [1] }],
    },
  },
  {
    name: 'size',
    exponentialHistogram: {
      dataPoints: [
        { ...at(4), count: 1, scale: 20, zeroCount: 0, positive: { offset: 7, bucketCounts: [1] } },
      ],
    },
  },
  {
    name: long,
    summary: {
      dataPoints: [{ ...at(5), count: 2, sum: 3, quantileValues: [{ quantile: 1, value: 'NaN' }] }],
    },
  },
];

describe('GET /telemetry/v1/metrics', () => {
  const app = sharedApp();
  let organization: TestOrganization;
  let exporter: RawExporter;
  let reader: ApiClient;

  beforeAll(async () => {
    organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    reader = await organization.as('viewer');
    await send('shop', SHOP);
    await send('bank', [{ name: 'calls', gauge: { dataPoints: [{ ...at(0), asInt: 1 }] } }]);
  });

  async function send(service: string, metrics: object[]): Promise<void> {
    const resource = { attributes: attributes({ 'service.name': text(service) }) };
    const resourceMetrics = [{ resource, scopeMetrics: [{ scope: { name: 'lib' }, metrics }] }];
    const body = Buffer.from(JSON.stringify({ resourceMetrics }));
    const answer = await exporter.send(body, { media: JSON_MEDIA, path: METRICS });
    expect([answer.status, answer.bytes.toString()]).toEqual([200, '{}']);
  }

  const list = async (query: string): Promise<any> => (await reader.get(`${METRICS}?${query}`)).body;

  it('returns points of every kind, newest first', async () => {
    const { items, page } = await list('service_name=shop');
    expect(page).toEqual({ limit: 50, offset: 0, total: 6, next_cursor: null });
    const [summary, exponential, histogram, missing, sum, gauge] = items;
    expect(gauge).toEqual({
      name: 'temperature',
      description: 'of the room',
      unit: 'Cel',
      type: 'gauge',
      temporality: null,
      is_monotonic: null,
      measured_at: '2026-11-20T00:00:00.000Z',
      started_at: null,
      value: 21.5,
      service_name: 'shop',
      attributes: { room: 'a' },
      exemplars: [],
      metadata: { origin: 'probe' },
      flags: 0,
      resource: { attributes: { 'service.name': 'shop' }, dropped_attributes_count: 0, schema_url: '' },
      scope: { name: 'lib', version: '', attributes: {}, dropped_attributes_count: 0, schema_url: '' },
    });
    expect(sum).toMatchObject({
      name: 'calls',
      type: 'sum',
      temporality: 'cumulative',
      is_monotonic: true,
      started_at: '2026-11-20T00:00:00.000Z',
      value: '9007199254740993',
      exemplars: [
        {
          timestamp: '2026-11-20T00:00:01.000000000Z',
          value: 1,
          trace_id: TRACE,
          span_id: SPAN,
          attributes: {},
        },
      ],
    });
    expect(missing).toMatchObject({ name: 'calls', value: null, flags: 1 });
    expect(histogram).toMatchObject({
      temporality: 'delta',
      is_monotonic: null,
      value: { count: 3, sum: 4.5, min: null, max: null, bucket_counts: [1, 2], explicit_bounds: [1] },
    });
    expect(exponential).toMatchObject({
      type: 'exponential_histogram',
      temporality: 'unspecified',
      value: {
        count: 1,
        sum: null,
        scale: 20,
        zero_count: 0,
        zero_threshold: 0,
        positive: { offset: 7, bucket_counts: [1] },
        negative: { offset: 0, bucket_counts: [] },
      },
    });
    expect(summary).toMatchObject({
      name: long,
      type: 'summary',
      value: { count: 2, sum: 3, quantiles: [{ quantile: 1, value: 'NaN' }] },
    });
  });

  it.each([
    ['name=calls', ['shop', 'shop', 'bank']],
    ['name=calls&service_name=bank', ['bank']],
    ['name=calls&type=sum', ['shop', 'shop']],
    [`name=${'n'.repeat(255)}`, []],
    ['type=summary', ['shop']],
    ['attribute=room:a', ['shop']],
    ['attribute=service.name:bank', ['bank']],
    ['since=2026-11-20T00:00:04Z', ['shop', 'shop']],
    ['until=2026-11-20T00:00:01Z&service_name=bank', ['bank']],
    ['name=nothing', []],
  ])('filters: %s', async (query, services) => {
    expect((await list(query)).items.map((item: any) => item.service_name)).toEqual(services);
  });

  it('pages in both directions, with and without indexed filters', async () => {
    for (const filter of ['service_name=shop', 'name=calls', 'attribute=service.name:shop', 'type=sum']) {
      for (const sort of ['-measured_at', 'measured_at']) {
        const whole = (await list(`${filter}&sort=${sort}`)).items;
        const seen: unknown[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const { items, page }: any = await list(
            `${filter}&sort=${sort}&limit=1${cursor && `&cursor=${cursor}`}`,
          );
          seen.push(...items);
          cursor = page.next_cursor;
        }
        expect(seen).toEqual(whole);
      }
    }
  });

  it.each([
    ['type=counter', 422, 'validation_failed'],
    ['nane=calls', 400, 'invalid_query'],
    [`name=${'n'.repeat(256)}`, 400, 'invalid_query'],
    ['severity=error', 400, 'invalid_query'],
    ['attribute=:a', 400, 'invalid_query'],
    ['sort=name', 422, 'validation_failed'],
  ])('rejects %s', async (query, status, code) => {
    const answer = await reader.get(`${METRICS}?${query}`);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  it('requires read access', async () => {
    expect((await (await organization.as('runtime')).get(METRICS)).status).toBe(403);
  });
});

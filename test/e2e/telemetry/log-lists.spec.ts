import { Client } from 'pg';
import {
  type ApiClient,
  sharedApp,
  newOrganization,
  newSpanId,
  newTraceId,
  type TestOrganization,
} from '#testing';
import { ReadLimiter } from '../../../src/telemetry/read-limiter';
import { JSON_MEDIA, RawExporter } from './otlp.harness';

const SECOND = 1_000_000_000n;
const START = 1_795_132_800n * SECOND;
const LOGS = '/telemetry/v1/logs';
const TRACE = newTraceId();
const SPAN = newSpanId();

const text = (stringValue: string) => ({ stringValue });
const attributes = (values: Record<string, object>) =>
  Object.entries(values).map(([key, value]) => ({ key, value }));

/** The records, in the order of their times. */
const SHOP = [
  {
    severityNumber: 5,
    body: text('cache "warm"\nagain'),
    attributes: attributes({ retry: { boolValue: true } }),
  },
  { severityNumber: 9, body: text('GRÜSSE 100%'), attributes: attributes({ tries: { intValue: '3' } }) },
  { severityNumber: 13, severityText: 'WARNING', body: text('slow'), traceId: TRACE, spanId: SPAN, flags: 1 },
  {
    severityNumber: 17,
    eventName: 'tool.failed',
    body: { kvlistValue: { values: attributes({ tool: text('w') }) } },
  },
  { severityNumber: 21, body: text('gone'), traceId: TRACE },
  { body: null },
];

describe('GET /telemetry/v1/logs', () => {
  const app = sharedApp();
  let organization: TestOrganization;
  let exporter: RawExporter;
  let reader: ApiClient;

  beforeAll(async () => {
    organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    reader = await organization.as('viewer');
    await send(
      SHOP.map((record, index) => ({ ...record, timeUnixNano: String(START + BigInt(index) * SECOND) })),
    );
    await send([{ timeUnixNano: String(START), body: text('elsewhere') }], {
      'service.name': text('bank'),
      zone: text('a:b'),
    });
  });

  async function send(
    logRecords: object[],
    resource: Record<string, object> = { 'service.name': text('shop') },
  ) {
    const scopeLogs = [{ scope: { name: 'lib', version: '1' }, logRecords }];
    const resourceLogs = [{ resource: { attributes: attributes(resource) }, scopeLogs }];
    const body = Buffer.from(JSON.stringify({ resourceLogs }));
    expect((await exporter.send(body, { media: JSON_MEDIA, path: LOGS })).status).toBe(200);
  }

  const list = async (query: string): Promise<any> => (await reader.get(`${LOGS}?${query}`)).body;
  const bodiesOf = async (query: string): Promise<unknown[]> =>
    (await list(query)).items.map(({ body }: any) => (body?.tool ? 'tool' : body));

  it('returns every member, newest first', async () => {
    const { items, page } = await list('service_name=shop');
    expect(page).toEqual({ limit: 50, offset: 0, total: 6, next_cursor: null });
    expect(items.map(({ severity }: any) => severity)).toEqual([
      'unspecified',
      'fatal',
      'error',
      'warn',
      'info',
      'debug',
    ]);
    expect(items[3]).toEqual({
      logged_at: '2026-11-20T00:00:02.000Z',
      occurred_at: '2026-11-20T00:00:02.000Z',
      observed_at: null,
      severity_number: 13,
      severity: 'warn',
      severity_text: 'WARNING',
      event_name: null,
      body: 'slow',
      service_name: 'shop',
      attributes: {},
      trace_id: TRACE,
      span_id: SPAN,
      flags: 1,
      resource: { attributes: { 'service.name': 'shop' }, dropped_attributes_count: 0, schema_url: '' },
      scope: { name: 'lib', version: '1', attributes: {}, dropped_attributes_count: 0, schema_url: '' },
    });
    expect(items[2]).toMatchObject({
      event_name: 'tool.failed',
      body: { tool: 'w' },
      trace_id: null,
      span_id: null,
    });
    expect(items[0]).toMatchObject({ body: null, severity_number: 0, severity_text: null });
  });

  it.each([
    ['service_name=bank', ['elsewhere']],
    [`trace_id=${TRACE}`, ['gone', 'slow']],
    [`trace_id=${'0'.repeat(31)}1`, []],
    ['severity=warn&service_name=shop', ['gone', 'tool', 'slow']],
    ['severity=error', ['gone', 'tool']],
    ['severity=17', ['gone', 'tool']],
    ['severity=error2', ['gone']],
    ['severity=debug&service_name=shop&q=WARM', ['cache "warm"\nagain']],
    ['q=grüsse', ['GRÜSSE 100%']],
    ['q=0%25', ['GRÜSSE 100%']],
    ['q=%22warm%22%0Aaga', ['cache "warm"\nagain']],
    ['q={"tool":"w"', ['tool']],
    ['q=_', []],
    ['attribute=retry:true', ['cache "warm"\nagain']],
    ['attribute=tries:3', ['GRÜSSE 100%']],
    ['attribute=tries:3&attribute=retry:true', []],
    ['attribute=zone:a:b', ['elsewhere']],
    ['attribute=service.name:bank&q=else', ['elsewhere']],
    ['since=2026-11-20T00:00:03Z&severity=warn', ['gone', 'tool']],
    ['until=2026-11-20T00:00:03Z&severity=warn', ['slow']],
    ['since=2026-11-20T00:00:01Z&until=2026-11-20T00:00:02.000001Z', ['slow', 'GRÜSSE 100%']],
  ])('filters: %s', async (query, bodies) => {
    expect(await bodiesOf(query)).toEqual(bodies);
  });

  it('pages in both directions, with and without indexed filters', async () => {
    for (const filter of [
      'service_name=shop',
      'attribute=service.name:shop',
      'severity=trace&service_name=shop',
    ]) {
      for (const sort of ['-logged_at', 'logged_at']) {
        const whole = await bodiesOf(`${filter}&sort=${sort}`);
        const seen: unknown[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const { items, page }: any = await list(
            `${filter}&sort=${sort}&limit=2${cursor && `&cursor=${cursor}`}`,
          );
          seen.push(...items.map(({ body }: any) => (body?.tool ? 'tool' : body)));
          cursor = page.next_cursor;
        }
        expect(seen).toEqual(whole);
        expect((await list(`${filter}&limit=0`)).page.total).toBe(whole.length);
      }
    }
  });

  it('sorts a record without a time by its time of observation or arrival', async () => {
    const organization = await newOrganization(app);
    const own = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    const logRecords = [{ body: text('a'), observedTimeUnixNano: String(START) }, { body: text('b') }];
    const body = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    await own.send(body, { media: JSON_MEDIA, path: LOGS });
    const { items } = (await (await organization.as('viewer')).get(`${LOGS}?since=2026-11-20T00:00:00Z`))
      .body;
    expect(items).toMatchObject([
      { body: 'b', occurred_at: null, observed_at: null, service_name: null },
      {
        body: 'a',
        occurred_at: null,
        observed_at: '2026-11-20T00:00:00.000Z',
        logged_at: '2026-11-20T00:00:00.000Z',
      },
    ]);
  });

  it('ends a page early if records are large', async () => {
    const organization = await newOrganization(app);
    const own = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    const large = 'x'.repeat(1.5 * 1024 * 1024);
    for (let index = 0; index < 3; index++) {
      const logRecords = [
        { body: text(`${index}${large}`), timeUnixNano: String(START + BigInt(index) * SECOND) },
      ];
      const body = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
      expect((await own.send(body, { media: JSON_MEDIA, path: LOGS })).status).toBe(200);
    }
    const client = await organization.as('viewer');
    const first = (await client.get(LOGS)).body;
    expect(first.items.map(({ body }: any) => body[0])).toEqual(['2', '1']);
    const second = (await client.get(`${LOGS}?cursor=${first.page.next_cursor}`)).body;
    expect([second.items.map(({ body }: any) => body[0]), second.page.next_cursor]).toEqual([['0'], null]);
  });

  it.each([
    ['severity=loud', 422, 'validation_failed'],
    ['severity=unspecified', 422, 'validation_failed'],
    ['severety=error', 400, 'invalid_query'],
    ['trace_id=ABC', 400, 'invalid_query'],
    ['service_name=', 400, 'invalid_query'],
    ['since=yesterday', 400, 'invalid_query'],
    ['since=2026-11-21T00:00:00Z&until=2026-11-20T00:00:00Z', 400, 'invalid_query'],
    ['attribute=nothing', 400, 'invalid_query'],
    [`attribute=${'a:b&attribute='.repeat(10)}a:b`, 400, 'invalid_query'],
    ['q=a%00b', 400, 'invalid_query'],
    ['limit=501', 400, 'invalid_query'],
    ['cursor=x', 400, 'invalid_query'],
    ['sort=severity', 422, 'validation_failed'],
  ])('rejects %s', async (query, status, code) => {
    const answer = await reader.get(`${LOGS}?${query}`);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  it('requires read access', async () => {
    expect((await (await organization.as('runtime')).get(LOGS)).status).toBe(403);
    expect((await app.api().in(organization.workspaceId).get(LOGS)).status).toBe(401);
  });

  it('returns 503 with a hint if reading takes too long', async () => {
    const reading = app.get(ReadLimiter);
    const { timeoutMs } = reading as unknown as { timeoutMs: number };
    const database = new Client({ connectionString: app.databaseUrl });
    await database.connect();
    await database.query('BEGIN');
    await database.query('LOCK TABLE log_records IN ACCESS EXCLUSIVE MODE');
    Object.assign(reading, { timeoutMs: 500 });
    const { status, headers, body } = await reader.get(LOGS);
    Object.assign(reading, { timeoutMs });
    await database.query('ROLLBACK');
    await database.end();
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'service_unavailable', '1']);
    expect(body.detail).toBe(
      'The logs could not be read in time. Narrow the times (since, until) or the filters.',
    );
  });
});

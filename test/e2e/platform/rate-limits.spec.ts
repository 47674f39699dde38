import { randomBytes } from 'node:crypto';
import { createTestApp, newOrganization, type TestApp, type TestOrganization } from '#testing';
import { scrape, seriesOf } from '../../worker/metrics.fixture';
import { sendInTurn, ListingModule, ME, outcomeOf, statusesOf } from './rate-limits.fixture';

const DATASETS = '/eval/v1/datasets';
const LISTING = '/store/v1/counted';

describe('rate limits', () => {
  let app: TestApp;
  let org: TestOrganization;

  beforeAll(async () => {
    app = await createTestApp({
      areas: [ListingModule],
      env: {
        METRICS_PORT: '0',
        RATE_LIMIT_READS: '3',
        RATE_LIMIT_WRITES: '2',
        RATE_LIMIT_TELEMETRY: '2',
        RATE_LIMIT_PROXY: '1',
        RATE_LIMIT_STORE_LISTING: '2',
        RATE_LIMIT_TIMEOUT_MS: '60000',
      },
    });
    org = await newOrganization(app);
  });
  afterAll(() => app.close());

  it('count down in the headers of every response, and end in 429', async () => {
    const viewer = await org.as('viewer');
    const answers = await sendInTurn(4, () => viewer.get(DATASETS));
    expect(answers.map(outcomeOf)).toEqual([
      [200, '"reads";r=2'],
      [200, '"reads";r=1'],
      [200, '"reads";r=0'],
      [429, '"reads";r=0'],
    ]);
    expect(answers.map(({ headers }) => headers.get('ratelimit-policy'))).toEqual(
      answers.map(() => '"reads";q=3;w=60'),
    );
    const [rejected] = answers.slice(-1);
    const seconds = Number(rejected!.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(rejected!.headers.get('content-type')).toBe('application/problem+json');
    expect(rejected!.body).toEqual({
      title: 'Limit reached',
      status: 429,
      detail: `You can send 3 reads per minute. Try again in ${seconds} s.`,
      code: 'rate_limited',
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });
  });

  it('count each class separately', async () => {
    const editor = await org.as('editor');
    await sendInTurn(4, () => editor.get(DATASETS));
    const body = { workspace_id: org.workspaceId };
    const written = await sendInTurn(3, (index) =>
      editor.post(DATASETS, { ...body, name: `written ${index}` }),
    );
    expect(statusesOf(written)).toEqual([201, 201, 429]);
    expect(written.map(outcomeOf).at(-1)).toEqual([429, '"writes";r=0']);
    expect(written.at(-1)!.body.detail).toMatch(/^You can send 2 writes per minute\./);
    expect((await editor.get(DATASETS)).status).toBe(429);
  });

  it('count HEAD, and POSTs that only read, as reads', async () => {
    const viewer = await org.as('viewer');
    const searched = await viewer.post(`${DATASETS}/search`, {});
    const everywhere = await viewer.post('/registry/v1/search', { mode: 'keyword', query: 'a' });
    expect([searched, everywhere].map(outcomeOf)).toEqual([
      [200, '"reads";r=2'],
      [200, '"reads";r=1'],
    ]);
    const head = await fetch(app.url + DATASETS, {
      method: 'HEAD',
      headers: {
        authorization: `Bearer ${await org.tokenOf('heading', { roles: ['viewer'] })}`,
        'x-service-workspace-id': org.workspaceId,
      },
    });
    expect([head.status, head.headers.get('ratelimit-policy')]).toEqual([200, '"reads";q=3;w=60']);
  });

  it('count exports as telemetry, and reject them in the encoding of the request', async () => {
    const runtime = await org.as('runtime');
    const sent = await sendInTurn(3, () => runtime.post('/telemetry/v1/traces', { resourceSpans: [] }));
    expect(sent.map(outcomeOf)).toEqual([
      [200, '"telemetry";r=1'],
      [200, '"telemetry";r=0'],
      [429, '"telemetry";r=0'],
    ]);
    const rejected = await runtime.post('/telemetry/v1/logs', Buffer.alloc(0), {
      'content-type': 'application/x-protobuf',
    });
    expect([rejected.status, rejected.headers.get('content-type')]).toEqual([429, 'application/x-protobuf']);
    expect(rejected.body).toContain('rate_limited');
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });

  it('count the class that a route or its controller declares', async () => {
    const editor = await org.member('editor');
    expect((await sendInTurn(3, () => editor.get(LISTING))).map(outcomeOf)).toEqual([
      [200, '"store_listing";r=1'],
      [200, '"store_listing";r=0'],
      [429, '"store_listing";r=0'],
    ]);
    expect((await sendInTurn(2, () => editor.post(LISTING))).map(outcomeOf)).toEqual([
      [200, '"proxy";r=0'],
      [429, '"proxy";r=0'],
    ]);
    const open = await app.api().get(`${LISTING}/public`);
    expect(outcomeOf(open)).toEqual([200, '"documents";r=599']);
  });

  it('count each principal of an organization separately, regardless of its credential', async () => {
    const { key } = await org.serviceAccount('viewer');
    const { body } = await app.api().post('/registry/v1/tokens', { api_key: key });
    const [byKey, byToken] = [app.api(key), app.api(body.access_token as string)];
    expect(statusesOf([await byKey.get(ME), await byToken.get(ME), await byKey.get(ME)])).toEqual([
      200, 200, 200,
    ]);
    expect(statusesOf([await byToken.get(ME), await byKey.get(ME)])).toEqual([429, 429]);
    expect((await (await org.member('viewer')).get(ME)).status).toBe(200);
  });

  it('count users of the same name in two organizations separately', async () => {
    const other = await newOrganization(app);
    const [one, two] = await Promise.all(
      [org, other].map(async (each) => app.api(await each.tokenOf('ada', { roles: ['viewer'] }))),
    );
    expect(statusesOf(await sendInTurn(4, () => one!.get(ME)))).toEqual([200, 200, 200, 429]);
    expect((await two!.get(ME)).status).toBe(200);
  });

  it('count platform principals', async () => {
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const platform = app.api(await app.issuer.issueToken(claims));
    const answers = await sendInTurn(4, () => platform.get('/registry/v1/orgs'));
    expect(statusesOf(answers)).toEqual([200, 200, 200, 429]);
  });

  it('are checked after the account, and before the workspace, the role and the body', async () => {
    const viewer = await org.member('viewer');
    const missing = await viewer.get(DATASETS);
    const denied = await viewer.in(org.workspaceId).post(DATASETS, '{');
    expect([missing, denied].map(outcomeOf)).toEqual([
      [400, '"reads";r=2'],
      [403, '"writes";r=1'],
    ]);
    await sendInTurn(2, () => viewer.get(DATASETS));
    await viewer.post(DATASETS);
    expect((await viewer.get(DATASETS)).body.code).toBe('rate_limited');
    expect((await viewer.post(DATASETS, '{')).body.code).toBe('rate_limited');
    const platform = app.api(
      await app.issuer.issueToken({
        sub: 'somebody',
        org_id: undefined,
        user_id: undefined,
        principal_type: 'platform',
      }),
    );
    const rejected = await sendInTurn(4, () => platform.get('/registry/v1/org'));
    expect(rejected.map(outcomeOf)).toEqual(rejected.map(() => [403, undefined]));
  });

  it('do not apply to health checks and key exchanges', async () => {
    const { key } = await org.serviceAccount('viewer');
    const probes = await sendInTurn(10, () => app.api().get('/health/ready'));
    const exchanges = await sendInTurn(5, () => app.api().post('/registry/v1/tokens', { api_key: key }));
    expect(new Set([...probes, ...exchanges].map((answer) => String(outcomeOf(answer))))).toEqual(
      new Set(['200,']),
    );
  });

  it('are counted in the metrics by class', async () => {
    const viewer = await org.member('viewer');
    const series = async (): Promise<number> =>
      seriesOf(await scrape(app.app), 'registry_http_requests_rate_limited_total')['class=reads'] ?? 0;
    const before = await series();
    await sendInTurn(5, () => viewer.get(ME));
    expect((await series()) - before).toBe(2);
  });
});

describe('rate limits without settings', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp({
      areas: [ListingModule],
      env: { RATE_LIMIT_DOCUMENTS: '4', RATE_LIMIT_TIMEOUT_MS: '60000', TRUSTED_PROXIES: '127.0.0.1' },
    });
  });
  afterAll(() => app.close());

  it('apply to a caller only in the Store listing', async () => {
    const org = await newOrganization(app);
    const editor = await org.as('editor');
    const name = randomBytes(4).toString('hex');
    const answers = [
      await editor.get(DATASETS),
      await editor.post(DATASETS, { workspace_id: org.workspaceId, name }),
      await editor.post('/telemetry/v1/traces', { resourceSpans: [] }),
      await editor.post(LISTING),
      await editor.get(LISTING),
    ];
    expect(answers.map(({ headers }) => headers.get('ratelimit-policy'))).toEqual([
      ...[null, null, null, null],
      '"store_listing";q=120;w=60',
    ]);
  });

  it('apply to public documents by address', async () => {
    const paths = ['/openapi.json', '/llms.txt', '/docs/start.js', '/.well-known/jwks.json'];
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const read = await sendInTurn(4, (index) => app.api().get(paths[index]!, from('192.0.2.1')));
    const rejected = await sendInTurn(4, (index) => app.api().get(paths[index]!, from('192.0.2.1')));
    expect(read.map(outcomeOf)).toEqual([3, 2, 1, 0].map((left) => [200, `"documents";r=${left}`]));
    expect(rejected.map(outcomeOf)).toEqual(rejected.map(() => [429, '"documents";r=0']));
    expect(rejected[1]!.headers.get('content-type')).toBe('application/problem+json');
    expect(rejected[1]!.body).toMatchObject({
      code: 'rate_limited',
      detail: expect.stringMatching(
        /^You can send 4 requests for public documents from one address per minute\. Try again in \d+ s\.$/,
      ) as string,
    });
    expect((await app.api().get('/docs', from('192.0.2.2'))).status).toBe(200);
  });
});

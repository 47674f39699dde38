import { type ApiClient, ownApp, newOrganization, type TestOrganization } from '#testing';
import { register, Upstream } from './upstream.fixture';

const LIMIT = 4;

const app = ownApp({
  env: {
    OUTBOUND_ALLOW: '127.0.0.0/8',
    TRUSTED_PROXIES: '127.0.0.1',
    RATE_LIMIT_PROXY: String(LIMIT),
    RATE_LIMIT_UNAUTHORIZED: '2',
  },
});
let org: TestOrganization;
let admin: ApiClient;
let upstream: Upstream;
let path: string;

beforeAll(async () => {
  org = await newOrganization(app);
  admin = await org.member('admin');
  upstream = await Upstream.listen();
  path = await register(admin, org.workspaceId, { base_url: upstream.url });
});
afterAll(async () => {
  await upstream.close();
});
beforeEach(() => {
  upstream.answer = (_request, response) => response.end('ok');
  upstream.received.splice(0);
});

const newAgent = async (): Promise<ApiClient> => app.api((await org.serviceAccount('runtime')).key);

describe('the `proxy` rate limit', () => {
  it('counts the requests of one caller through the proxy, and no others', async () => {
    const [agent, other] = [await newAgent(), await newAgent()];
    for (let sent = 1; sent <= LIMIT; sent++) {
      const answer = await agent.get(`${path}/x`);
      expect([answer.status, answer.headers.get('ratelimit-policy')]).toEqual([
        200,
        `"proxy";q=${LIMIT};w=60`,
      ]);
      expect(answer.headers.get('ratelimit')).toMatch(`"proxy";r=${LIMIT - sent};`);
    }
    const refused = await agent.get(`${path}/x`);
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(refused.headers.get('proxy-status')).toBe('agent-registry; error=http_request_denied');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(upstream.received).toHaveLength(LIMIT);
    expect((await other.get(`${path}/x`)).status).toBe(200);
    expect((await agent.get('/registry/v1/me')).status).toBe(200);
  });

  it('keeps the rate limit headers of an upstream that sends its own', async () => {
    upstream.answer = (_request, response) => response.setHeader('RateLimit', '"theirs";r=1;t=9').end('ok');
    const answer = await (await newAgent()).get(`${path}/x`);
    expect(answer.headers.get('ratelimit')).toBe('"theirs";r=1;t=9');
  });
});

it('refuses a caller without the role before it looks for the API, known or not', async () => {
  const viewer = await org.member('viewer');
  for (const target of [`${path}/x`, '/api/v1/apis/api_unknown/x', '/api/v1/apis/nonsense/']) {
    const { status, body } = await viewer.get(target);
    expect([target, status, body.code]).toEqual([target, 403, 'access_denied']);
  }
  const runtime = await (await newOrganization(app)).member('runtime');
  expect((await runtime.get(`${path}/x`)).status).toBe(404);
});

it('adds Proxy-Status to every problem, even one from a step before the proxy', async () => {
  const outcomes: unknown[] = [];
  for (let sent = 0; sent < 3; sent++) {
    const { status, headers } = await app
      .api('rsk_wrong')
      .get(`${path}/x`, { 'x-forwarded-for': '192.0.2.1' });
    outcomes.push([status, headers.get('proxy-status')]);
  }
  const denied = 'agent-registry; error=http_request_denied';
  expect(outcomes).toEqual([
    [401, denied],
    [401, denied],
    [429, denied],
  ]);
});

it('sends the upstream the client address that TRUSTED_PROXIES report, not one that a client claims', async () => {
  const agent = await newAgent();
  await agent.get(`${path}/x`, { 'x-forwarded-for': '192.0.2.66, 203.0.113.7' });
  expect(upstream.last.headers['x-forwarded-for']).toBe('203.0.113.7');
  await agent.get(`${path}/x`, { 'x-forwarded-for': '192.0.2.66, 2001:db8::1:2:3' });
  expect(upstream.last.headers['x-forwarded-for']).toBe('2001:db8::1:2:3');
});

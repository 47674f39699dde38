import http from 'node:http';
import { gzipSync } from 'node:zlib';
import { BodyBudgets, MEMORY_BUDGET } from '#platform/http';
import { type Answer, type ApiClient, ownApp, newOrganization, type TestOrganization, until } from '#testing';
import { created, GatewayFixture } from './gateway.fixture';
import { begin, chat, contentChunk, FakeProvider, modelOf, send } from './provider.fixture';

const MIB = 1024 * 1024;
const MEMORY_BUDGET_BYTES = 64 * MIB;
const PATHS = ['chat/completions', 'responses', 'embeddings', 'messages'].map((path) => `/model/v1/${path}`);
const [COMPLETIONS, , , MESSAGES] = PATHS as [string, string, string, string];

const app = ownApp({
  env: {
    OUTBOUND_ALLOW: '127.0.0.0/8',
    CORS_ORIGINS: 'https://app.example',
    MEMORY_BUDGET_BYTES: String(MEMORY_BUDGET_BYTES),
    RATE_LIMIT_PROXY: '1200',
    RATE_LIMIT_TIMEOUT_MS: '60000',
  },
});
let org: TestOrganization;
let key: string;
let caller: ApiClient;
let provider: FakeProvider;
let name: string;

beforeAll(async () => {
  org = await newOrganization(app);
  provider = await FakeProvider.listen();
  name = await modelOf(await org.member('admin'), org.workspaceId, provider);
  key = (await org.serviceAccount('runtime')).key;
  caller = app.api(key);
});
afterAll(async () => {
  await provider.close();
});
beforeEach(() => {
  provider.calls.length = 0;
  provider.answer = chat('Hello');
});

const request = () => ({ model: name, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] });
const codeOf = ({ status, body }: Answer): unknown[] => [status, body?.code];

describe('the paths that call models', () => {
  it.each(PATHS)('support only POST: %s', async (path) => {
    for (const method of ['get', 'put', 'patch', 'delete'] as const) {
      const refused = await caller[method](path);
      expect([...codeOf(refused), refused.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'POST']);
    }
    const head = await fetch(app.url + path, { method: 'HEAD' });
    expect([head.status, head.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('have no subpaths, and accept a trailing slash', async () => {
    expect(codeOf(await caller.post(`${COMPLETIONS}/x`, request()))).toEqual([404, 'not_found']);
    expect(codeOf(await caller.post(COMPLETIONS.toUpperCase(), request()))).toEqual([404, 'not_found']);
    expect((await caller.post(`${COMPLETIONS}/`, request())).status).toBe(200);
  });

  it('reject query parameters, except `beta` for messages, because clients send it', async () => {
    for (const path of PATHS.filter((one) => one !== MESSAGES)) {
      const refused = await caller.post(`${path}?beta=true`, request());
      expect([path, ...codeOf(refused)]).toEqual([path, 400, 'invalid_query']);
      expect(refused.body.error.message).toContain('beta');
    }
    expect((await caller.post(`${MESSAGES}?beta=true`, request())).status).toBe(200);
    expect(codeOf(await caller.post(`${MESSAGES}?gamma=true`, request()))).toEqual([400, 'invalid_query']);
    expect(provider.calls).toHaveLength(1);
  });

  it('check the role before they read the body', async () => {
    const viewer = await org.member('viewer');
    for (const path of PATHS) {
      const refused = await viewer.post(path, '{', { 'content-type': 'application/json' });
      expect(codeOf(refused)).toEqual([403, 'access_denied']);
    }
  });

  it('check the role in the workspace of the model', async () => {
    const on = await GatewayFixture.create(app);
    const elsewhere = await on.org.newWorkspace();
    const member = await on.memberOf(on.org.workspaceId, 'viewer');
    const { principal_id } = (await member.get('/registry/v1/me')).body.principal;
    const owner = await on.org.member('owner');
    created(
      await owner.put(`/registry/v1/workspaces/${elsewhere}/members/${principal_id}`, { roles: ['runtime'] }),
    );
    const askIn = async (workspaceId: string): Promise<Answer> => {
      const model = await modelOf(on.admin, workspaceId, provider);
      return member.post(COMPLETIONS, { ...request(), model });
    };
    expect(codeOf(await askIn(on.org.workspaceId))).toEqual([403, 'access_denied']);
    expect((await askIn(elsewhere)).status).toBe(200);
  });

  it('accept only JSON in UTF-8, plain or in gzip', async () => {
    const send = (type: string, coding: string, body: string | Buffer) =>
      fetch(app.url + COMPLETIONS, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': type, 'content-encoding': coding },
        body: body as never,
      });
    const text = JSON.stringify(request());
    expect((await send('text/plain', 'identity', text)).status).toBe(415);
    expect((await send('application/json', 'br', text)).status).toBe(415);
    expect((await send('application/json; charset=iso-8859-1', 'identity', text)).status).toBe(415);
    expect((await send('application/json', 'gzip', text)).status).toBe(400);
    const latin1 = Buffer.from(text.replace('Hi', 'Grüße'), 'latin1');
    expect((await send('application/json', 'identity', latin1)).status).toBe(400);
    expect(provider.calls).toEqual([]);
    expect((await send('application/json; charset=utf-8', 'gzip', gzipSync(text))).status).toBe(200);
  });

  it('check the workspace header', async () => {
    const inside = { 'X-Service-Workspace-Id': org.workspaceId };
    expect((await caller.post(COMPLETIONS, request(), inside)).status).toBe(200);
    const other = { 'X-Service-Workspace-Id': (await newOrganization(app)).workspaceId };
    const refused = await caller.post(COMPLETIONS, request(), other);
    const elsewhere = await caller.get('/model/v1/models', other);
    expect(codeOf(refused)).toEqual(codeOf(elsewhere));
    expect(refused.status).toBeGreaterThanOrEqual(400);
  });

  it('count towards the rate limit of the caller, and return what is left', async () => {
    const answers = [await caller.post(COMPLETIONS, request()), await caller.post(COMPLETIONS, request())];
    const left = answers.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]));
    expect(left[0]! - left[1]!).toBe(1);
  });

  it('return the usual response headers, and let pages of CORS_ORIGINS read the headers of the gateway', async () => {
    const origin = 'https://app.example';
    const { headers } = await caller.post(COMPLETIONS, request(), { origin });
    const names = ['x-content-type-options', 'cache-control', 'access-control-allow-origin'];
    expect(names.map((header) => headers.get(header))).toEqual(['nosniff', 'private, no-cache', origin]);
    expect(headers.get('x-request-id')).toMatch(/./);
    expect(headers.get('access-control-expose-headers')).toContain('traceresponse');
    const preflight = await fetch(app.url + COMPLETIONS, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, origin]);
    expect(preflight.headers.get('x-request-id')).toMatch(/./);
    expect(preflight.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('count the memory of a request until its stream ends', async () => {
    const budget = app.get(BodyBudgets).of(MEMORY_BUDGET);
    let end: () => void = () => undefined;
    provider.answer = (_call, response) => {
      begin(response);
      send(response, contentChunk('Hel'));
      end = () => response.end('data: [DONE]\n\n');
    };
    const messages = [{ role: 'user', content: 'x'.repeat(3 * MIB) }];
    const answer = await fetch(app.url + COMPLETIONS, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...request(), messages, stream: true }),
    });
    expect(answer.status).toBe(200);
    // once as received, and once as sent
    expect(budget.usedBy(org.orgId)).toBeGreaterThan(6 * MIB);
    end();
    await answer.text();
    await until(() => budget.usedBy(org.orgId) === 0);
  });

  it('do not count the memory of failed attempts', async () => {
    const models = await modelOf(await org.member('admin'), org.workspaceId, provider, { retries: 2 });
    provider.answer = (call, response) => {
      if (provider.calls.length > 2) return chat('Hello')(call, response);
      response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(20 * MIB));
    };
    // so that a single response must not exceed the share
    const lease = app.get(BodyBudgets).of(MEMORY_BUDGET).acquire(org.orgId, 1);
    try {
      expect((await caller.post(COMPLETIONS, { ...request(), model: models })).status).toBe(200);
      expect(provider.calls).toHaveLength(3);
    } finally {
      lease.release();
    }
  });

  it('count calls with x-api-key for their organization, even with many in flight', async () => {
    const ends: (() => void)[] = [];
    provider.answer = (call, response) => void ends.push(() => void chat('Hello')(call, response));
    const ask = () =>
      fetch(app.url + MESSAGES, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(request()),
      });
    // more than an address may have without a credential
    const answers = Array.from({ length: 70 }, ask);
    await until(() => ends.length === answers.length);
    ends.forEach((end) => end());
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
  });

  it('return 503 while the organization uses nearly its share of the memory for bodies', async () => {
    const share = MEMORY_BUDGET_BYTES / 2;
    // a small request would still fit
    const lease = app
      .get(BodyBudgets)
      .of(MEMORY_BUDGET)
      .acquire(org.orgId, 0.95 * share);
    try {
      const refused = await caller.post(COMPLETIONS, request());
      expect(codeOf(refused)).toEqual([503, 'service_overloaded']);
      expect(refused.body.error.type).toBe('server_error');
    } finally {
      lease.release();
    }
    expect((await caller.post(COMPLETIONS, request())).status).toBe(200);
  });

  it('reuse the connection of a rejected request', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number>();
    const post = (body: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
        http
          .request(app.url + COMPLETIONS, { agent, method: 'POST', headers }, (response) => {
            ports.add(response.socket.localPort!);
            response.resume().on('end', () => resolve(response.statusCode!));
          })
          .on('error', reject)
          .end(body);
      });
    const statuses = [
      await post('{'),
      await post('{"model":"unknown"}'),
      await post(JSON.stringify(request())),
    ];
    agent.destroy();
    expect(statuses).toEqual([400, 404, 200]);
    expect(ports.size).toBe(1);
  });
});

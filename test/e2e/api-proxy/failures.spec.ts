import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, newOrganization, ownApp, type TestOrganization, until } from '#testing';
import { Environment } from '#platform/config';
import { OutboundHttp } from '#platform/outbound';
import { rawServer, register, Upstream } from './upstream.fixture';

const app = ownApp({ env: { OUTBOUND_ALLOW: '127.0.0.1/32' } });
let org: TestOrganization;
let admin: ApiClient;
let agent: ApiClient;
let key: string;
let upstream: Upstream;

beforeAll(async () => {
  org = await newOrganization(app);
  admin = await org.member('admin');
  key = (await org.serviceAccount('runtime')).key;
  agent = app.api(key);
});
beforeEach(async () => {
  upstream = await Upstream.listen();
});
afterEach(() => upstream.close());

const api = (body: object = {}): Promise<string> =>
  register(admin, org.workspaceId, { base_url: upstream.url, ...body });

const outcome = async (path: string, method = 'GET', body?: string): Promise<unknown[]> => {
  const answer = await agent.request(method, path, { body });
  return [answer.status, answer.body?.code, answer.headers.get('proxy-status')];
};

async function sizeOf(answer: http.IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of answer) bytes += (chunk as Buffer).length;
  return bytes;
}

describe('a request to a failing upstream', () => {
  it('returns 503 if the connection is refused', async () => {
    const path = await api({ base_url: 'http://127.0.0.1:1' });
    expect(await outcome(`${path}/x`)).toEqual([
      503,
      'service_unavailable',
      'agent-registry; error=connection_refused',
    ]);
  });

  it('returns 503 if the host has no address', async () => {
    const path = await api({ base_url: 'http://does-not-exist.invalid' });
    const [status, code, proxyStatus] = await outcome(`${path}/x`);
    expect([status, code]).toEqual([503, 'service_unavailable']);
    expect(proxyStatus).toBe('agent-registry; error=dns_error');
  });

  it('returns 503 if the upstream does not speak TLS', async () => {
    const path = await api({ base_url: upstream.url.replace('http:', 'https:') });
    expect(await outcome(`${path}/x`)).toEqual([
      503,
      'service_unavailable',
      'agent-registry; error=tls_protocol_error',
    ]);
  });

  it('returns 504 if the upstream is too slow, and aborts the upstream request', async () => {
    const path = await api({ timeout_ms: 2_000 });
    let closed = false;
    upstream.answer = (request) => request.socket.on('close', () => (closed = true));
    expect(await outcome(`${path}/x`)).toEqual([
      504,
      'request_timeout',
      'agent-registry; error=http_response_timeout',
    ]);
    await until(() => closed);
  });

  it('returns an error response of the upstream unchanged', async () => {
    upstream.answer = (_request, response) =>
      response.writeHead(503, { 'retry-after': '7' }).end('{"code":"theirs"}');
    const answer = await agent.get(`${await api()}/x`);
    expect([answer.status, answer.body, answer.headers.get('retry-after')]).toEqual([
      503,
      '{"code":"theirs"}',
      '7',
    ]);
    expect(answer.headers.get('proxy-status')).toBe('agent-registry; received-status=503');
  });

  it.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['an invalid status', 'HTTP/1.1 9 X\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['a NUL in a header', 'HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n'],
    [
      'an unrequested upgrade',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    ],
  ])('returns 503 if the response has %s', async (_, bytes) => {
    const raw = await rawServer((socket) => socket.end(bytes, 'latin1'));
    try {
      const path = await api({ base_url: raw.url });
      const [status, code, proxyStatus] = await outcome(`${path}/x`);
      expect([status, code]).toEqual([503, 'service_unavailable']);
      expect(proxyStatus).toMatch(/^agent-registry; error=(http_protocol_error|connection_terminated)$/);
    } finally {
      await raw.close();
    }
  });

  it('returns 503 if the response headers are too large', async () => {
    const headers = Array.from({ length: 40 }, (_, at) => `X-${at}: ${'x'.repeat(1000)}`).join('\r\n');
    const raw = await rawServer((socket) => socket.end(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n`));
    try {
      expect(await outcome(`${await api({ base_url: raw.url })}/x`)).toEqual([
        503,
        'service_unavailable',
        'agent-registry; error=http_response_header_section_size',
      ]);
    } finally {
      await raw.close();
    }
  });

  it('closes the client connection if the response breaks off, so that it never looks complete', async () => {
    for (const head of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
      const begin = head.startsWith('T') ? '4\r\nhalf\r\n' : 'half';
      const raw = await rawServer((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${begin}`);
        setTimeout(() => socket.destroy(), 20);
      });
      try {
        const path = await api({ base_url: raw.url });
        const sending = http.get(`${app.url}${path}/x`, {
          agent: false,
          headers: { authorization: `Bearer ${key}` },
        });
        const [answer] = (await once(sending, 'response')) as [http.IncomingMessage];
        await expect(sizeOf(answer)).rejects.toThrow('aborted');
        expect(answer.complete).toBe(false);
      } finally {
        await raw.close();
      }
    }
  });

  it('is retried once if the upstream closed a keep-alive connection', async () => {
    let connections = 0;
    const raw = await rawServer((socket) => {
      if (!('seen' in socket)) {
        Object.assign(socket, { seen: ++connections });
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      } else socket.destroy();
    });
    try {
      const path = await api({ base_url: raw.url });
      for (let sent = 0; sent < 3; sent++) expect((await agent.get(`${path}/x`)).status).toBe(200);
      expect(connections).toBe(3);
      // a request that may have had an effect is not sent twice
      expect((await outcome(`${path}/x`, 'POST', 'x'))[0]).toBe(503);
    } finally {
      await raw.close();
    }
  });
});

describe('a request to an address that is not public', () => {
  it.each([
    'http://169.254.169.254/latest',
    'http://10.0.0.1',
    'http://[::1]:8080',
    'http://127.0.0.2',
    'http://2130706434',
  ])('returns 403 forbidden for %s', async (base_url) => {
    const path = await api({ base_url });
    expect(await outcome(`${path}/x`)).toEqual([
      403,
      'forbidden',
      'agent-registry; error=destination_ip_prohibited',
    ]);
  });

  it('is rejected even if only the second answer of a hostile resolver is not public', async () => {
    const answers = ['127.0.0.1', '127.0.0.2'];
    const resolve = (): Promise<{ address: string; family: number }[]> =>
      Promise.resolve([{ address: answers.shift() ?? '127.0.0.2', family: 4 }]);
    const outbound = new OutboundHttp(app.get(Environment).OUTBOUND_ALLOW, resolve);
    const spy = jest.spyOn(app.get(OutboundHttp), 'dispatcher', 'get').mockReturnValue(outbound.dispatcher);
    try {
      upstream.answer = (_request, response) => response.setHeader('connection', 'close').end('ok');
      const path = await api({ base_url: upstream.url.replace('127.0.0.1', 'rebind.example') });
      expect((await agent.get(`${path}/x`)).status).toBe(200);
      expect((await outcome(`${path}/x`)).slice(0, 2)).toEqual([403, 'forbidden']);
    } finally {
      spy.mockRestore();
      await outbound.onApplicationShutdown();
    }
  });
});

describe('a client that disconnects', () => {
  it('aborts the upstream request at once, before its response', async () => {
    const path = await api();
    let closed = false;
    upstream.answer = (request) => request.socket.on('close', () => (closed = true));
    const sending = http.get(`${app.url}${path}/x`, {
      agent: false,
      headers: { authorization: `Bearer ${key}` },
    });
    sending.on('error', () => undefined);
    await until(() => upstream.received.length === 1);
    sending.destroy();
    await until(() => closed);
  });

  it('aborts the upstream request while the response streams', async () => {
    const path = await api();
    let closed = false;
    upstream.answer = (request, response) => {
      request.socket.on('close', () => (closed = true));
      response.write('begin');
    };
    const sending = http.get(`${app.url}${path}/x`, {
      agent: false,
      headers: { authorization: `Bearer ${key}` },
    });
    sending.on('error', () => undefined);
    const [answer] = (await once(sending, 'response')) as [http.IncomingMessage];
    answer.on('error', () => undefined);
    await once(answer, 'data');
    sending.destroy();
    await until(() => closed);
  });

  it('aborts the upstream request while the body is sent', async () => {
    const path = await api();
    let aborted = false;
    upstream.isEarly = true;
    upstream.answer = (request) => request.on('error', () => (aborted = true)).resume();
    const sending = http.request(`${app.url}${path}/x`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-length': 1000 },
    });
    sending.on('error', () => undefined).write('begin');
    await until(() => upstream.connections === 1);
    await sleep(50);
    sending.destroy();
    await until(() => aborted);
  });
});

describe('a request that a registered API does not allow', () => {
  it('returns 403 for a method that is not allowed', async () => {
    const path = await api({ allowed_methods: ['GET', 'POST'] });
    expect(await outcome(`${path}/x`, 'DELETE')).toEqual([
      403,
      'forbidden',
      'agent-registry; error=http_request_denied',
    ]);
    expect(await outcome(`${path}/x`, 'HEAD')).toEqual([
      403,
      undefined,
      'agent-registry; error=http_request_denied',
    ]);
    expect(upstream.received).toEqual([]);
  });

  it('returns 409 while the API is archived', async () => {
    const path = await api();
    const id = path.split('/').at(-1)!;
    await admin.post(`/registry/v1/apis/${id}/archive`);
    expect((await outcome(`${path}/x`)).slice(0, 2)).toEqual([409, 'conflict']);
    await admin.post(`/registry/v1/apis/${id}/restore`);
    expect((await outcome(`${path}/x`))[0]).toBe(200);
  });

  it('returns 409 while the workspace is archived', async () => {
    const workspaceId = await org.newWorkspace();
    const owner = await org.member('owner');
    const path = await register(owner, workspaceId, { base_url: upstream.url });
    const workspace = `/registry/v1/workspaces/${workspaceId}`;
    expect((await owner.post(`${workspace}/archive`)).status).toBe(200);
    const refused = await owner.get(`${path}/x`);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect(refused.body.detail).toContain('workspace');
    expect(upstream.received).toEqual([]);
    expect((await owner.post(`${workspace}/restore`)).status).toBe(200);
    await until(async () => (await owner.get(`${path}/x`)).status === 200);
  });

  it('returns 503 while the credential is missing', async () => {
    const path = await api({ auth: { type: 'bearer', value: 'tok' } });
    const id = path.split('/').at(-1)!;
    await admin.post(`/registry/v1/apis/${id}/archive`);
    await admin.post(`/registry/v1/apis/${id}/restore`);
    expect((await outcome(`${path}/x`)).slice(0, 2)).toEqual([503, 'service_unavailable']);
    expect(upstream.received).toEqual([]);
    await admin.patch(`/registry/v1/apis/${id}`, { auth: { value: 'new' } });
    expect((await outcome(`${path}/x`))[0]).toBe(200);
    expect(upstream.last.headers.authorization).toBe('Bearer new');
  });

  it('returns 429 beyond the requests per minute of the API, across all callers', async () => {
    const path = await api({ requests_per_minute: 2 });
    const other = app.api((await org.serviceAccount('runtime')).key);
    expect((await agent.get(`${path}/x`)).status).toBe(200);
    expect((await other.get(`${path}/x`)).status).toBe(200);
    const refused = await agent.get(`${path}/x`);
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(upstream.received).toHaveLength(2);
  });

  it('returns 429 beyond the requests in flight of the API, until one ends', async () => {
    const path = await api({ max_in_flight: 1 });
    let finish!: () => void;
    upstream.answer = (_request, response) => (finish = () => response.end('ok'));
    const first = agent.get(`${path}/x`);
    await until(() => upstream.received.length === 1);
    expect((await outcome(`${path}/x`)).slice(0, 2)).toEqual([429, 'rate_limited']);
    finish();
    expect((await first).status).toBe(200);
    upstream.answer = (_request, response) => response.end('ok');
    expect((await agent.get(`${path}/x`)).status).toBe(200);
  });
});

describe('a caller', () => {
  it.each(['runtime', 'editor', 'admin'] as const)('may use an API if it has the role %s', async (role) => {
    const path = await api();
    expect((await (await org.member(role)).get(`${path}/x`)).status).toBe(200);
  });

  it('may not use an API if it has only the role viewer', async () => {
    const answer = await (await org.member('viewer')).get(`${await api()}/x`);
    expect([answer.status, answer.body.code]).toEqual([403, 'access_denied']);
  });

  it('gets 404 for an API of another organization or workspace', async () => {
    const path = await api();
    const stranger = await (await newOrganization(app)).member('owner');
    const elsewhere = await org.newWorkspace();
    const other = app.api(await org.tokenOf('usr_x', { roles: ['runtime'], workspace_ids: [elsewhere] }));
    for (const caller of [stranger, other]) {
      const answer = await caller.get(`${path}/x`);
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
    expect((await agent.get('/api/v1/apis/api_unknown/x')).status).toBe(404);
    expect(upstream.received).toEqual([]);
  });

  it('gets 401 with a challenge if it sends no credential', async () => {
    const answer = await app.api().get(`${await api()}/x`);
    expect([answer.status, answer.body.code]).toEqual([401, 'token_missing']);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('gets 403 if it names a workspace out of reach', async () => {
    const answer = await agent.get(`${await api()}/x`, { 'x-service-workspace-id': 'wsp_unknown' });
    expect([answer.status, answer.body.code]).toEqual([403, 'access_denied']);
  });
});

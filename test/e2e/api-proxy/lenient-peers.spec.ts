import { once } from 'node:events';
import http from 'node:http';
import { type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';
import { rawExchange, rawServer, register, Upstream } from './upstream.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
let org: TestOrganization;
let admin: ApiClient;
let key: string;
let upstream: Upstream;

beforeAll(async () => {
  org = await newOrganization(app);
  admin = await org.member('admin');
  key = (await org.serviceAccount('runtime')).key;
  upstream = await Upstream.listen();
});
afterAll(async () => {
  await upstream.close();
});

/** Sends a request byte for byte. @returns all bytes that the service sends back */
const exchange = (target: string, headers: readonly string[] = [], host = 'h'): Promise<string> =>
  rawExchange(
    app,
    [
      `GET ${target} HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: Bearer ${key}`,
      'Connection: close',
      ...headers,
      '',
      '',
    ].join('\r\n'),
  );

describe('a request to an upstream that reads headers leniently', () => {
  it.each([
    'X-HTTP-Method-Override',
    'X-HTTP-Method',
    'X-Method-Override',
    'HTTP-Method-Override',
    'X-Original-Method',
    'x_http_method_override',
    'X_Api_Key',
    'x-api_key',
    'X.Api.Key',
    'X~Api~Key',
    'Api-Token',
    'X_Service_Workspace_Id',
    'X_Forwarded_For',
    'X-Forwarded',
    'X-ForwardedFor',
    'X-Forwarded-User',
    'Forwarded',
    'Forwarded-For',
    'X-Client-IP',
    'Client-IP',
    'X-Real-IP',
    'True-Client-IP',
    'CF-Connecting-IP',
    'CF-Connecting-IPv6',
    'X-Cluster-Client-IP',
    'Fastly-Client-IP',
    'X-Originating-IP',
    'X-Remote-Addr',
    'X-Original-Forwarded-For',
    'X-Vercel-Forwarded-For',
    'X-HTTP-Host-Override',
    'X-Host',
  ])('does not have the header %s of the client', async (name) => {
    const path = await register(admin, org.workspaceId, {
      base_url: upstream.url,
      // an upstream that reads `Api-Token` in the same way
      auth: { type: 'header', name: 'Api_Token', value: 'stored' },
    });
    await exchange(`${path}/x`, [`${name}: of-the-client`, 'X-Kept: 1']);
    expect(JSON.stringify(upstream.last.rawHeaders)).not.toContain('of-the-client');
    expect(upstream.last.headers).toMatchObject({ 'x-kept': '1', api_token: 'stored' });
  });

  it.each(['api_key', 'api-key', 'api.key', 'API_KEY', 'api%5Fkey', 'api%20key'])(
    'is rejected with the query parameter %s, which could replace the credential',
    async (name) => {
      const auth = { type: 'query', name: 'api_key', value: 'stored' };
      const path = await register(admin, org.workspaceId, { base_url: upstream.url, auth });
      expect(await exchange(`${path}/x?a=1&${name}=mine`)).toMatch(/^HTTP\/1\.1 400 [^]*"invalid_query"/);
      await exchange(`${path}/x?keys=1`);
      expect(upstream.last.url).toBe('/x?keys=1&api_key=stored');
    },
  );

  it.each([
    ['', '/'],
    ['?q=1', '/?q=1'],
    ['?', '/?'],
    ['?/../x', '/?/../x'],
    ['/?q=1', '/?q=1'],
    ['/', '/'],
  ])('keeps its query without a path: %j', async (target, expected) => {
    const path = await register(admin, org.workspaceId, { base_url: upstream.url });
    expect(await exchange(path + target)).toMatch(/^HTTP\/1\.1 200 /);
    expect(upstream.last.url).toBe(expected);
  });

  it.each([
    ['127.0.0.1:99', '127.0.0.1:99'],
    ['localhost', 'localhost'],
    ['evil.example', undefined],
    ['10.255.255.254', undefined],
    ['127.0.0.1.evil.example', undefined],
    ['localhost.evil.example', undefined],
  ])('has the X-Forwarded-Host of this service only: %s', async (host, expected) => {
    const path = await register(admin, org.workspaceId, { base_url: upstream.url });
    await exchange(`${path}/x`, ['X-Forwarded-Host: evil.example'], host);
    expect(upstream.last.headers['x-forwarded-host']).toBe(expected);
  });
});

/** Lets an upstream respond with raw bytes, in one write each. @returns the response that the service makes of them */
async function forwarded(...writes: string[]): Promise<string> {
  const raw = await rawServer((socket) => {
    const [first, ...rest] = writes;
    socket.write(first!, 'latin1');
    // The client has the headers before the next bytes arrive.
    setTimeout(() => socket.end(rest.join(''), 'latin1'), rest.length > 0 ? 100 : 0);
  });
  try {
    const path = await register(admin, org.workspaceId, { base_url: raw.url });
    return await exchange(`${path}/x`);
  } finally {
    await raw.close();
  }
}

describe('a response that is not valid HTTP', () => {
  it.each(['042', '000', '099', '99', '600', '999', '1000', '20', '2000', '-200', 'abc', '101'])(
    'becomes 503 with Proxy-Status: status %s',
    async (status) => {
      const answer = await forwarded(`HTTP/1.1 ${status} X\r\nContent-Length: 2\r\n\r\nok`);
      expect(answer).toMatch(
        /^HTTP\/1\.1 503 [^]*Proxy-Status: agent-registry; error=[^]*"service_unavailable"/i,
      );
    },
  );

  const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

  it.each([
    'zz\r\nbody\r\n0\r\n\r\n',
    '-4\r\nbody\r\n0\r\n\r\n',
    '0x4\r\nbody\r\n0\r\n\r\n',
    '4\r\nbodybody\r\n0\r\n\r\n',
    '4\r\nbody\r\nzz\r\n',
    `1388\r\n${'x'.repeat(5_000)}\r\nzz\r\n`,
    'ffffffffffffffffff\r\nbody',
  ])('becomes 503 if its chunks are malformed from the start: %#', async (chunks) => {
    const answer = await forwarded(CHUNKED + chunks);
    expect(answer).toMatch(/^HTTP\/1\.1 503 [^]*error=http_protocol_error[^]*"service_unavailable"/);
  });

  it.each([
    [`${CHUNKED}4\r\nbody\r\n`, 'zz\r\nmore\r\n0\r\n\r\n'],
    [`${CHUNKED}4\r\nbody\r\n`, '4\r\nmore'],
    [`${CHUNKED}4\r\nbody\r\n`, '4\r\nmore\r\n0\r\nX: \0\r\n\r\n'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody', 'more'],
  ])('is broken off if a later part is malformed: %#', async (...writes) => {
    const answer = await forwarded(...writes);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*body/);
    expect(answer).not.toMatch(/\r\n0\r\n\r\n$|503/);
  });
});

describe('Retry-After of an upstream', () => {
  it.each([
    ['120', true],
    ['0', true],
    ['Fri, 31 Dec 1999 23:59:59 GMT', true],
    ['Infinity', false],
    ['-5', false],
    ['NaN', false],
    ['1e9', false],
    ['soon', false],
    ['9'.repeat(30), false],
    ['Fri, 31 Dec 9999 23:59:59 GMT', false],
  ])('is forwarded if clients can wait for it: %s', async (value, isForwarded) => {
    upstream.answer = (_request, response) => response.writeHead(429, { 'retry-after': value }).end('theirs');
    const path = await register(admin, org.workspaceId, { base_url: upstream.url });
    const sending = http.get(`${app.url}${path}/x`, {
      agent: false,
      headers: { authorization: `Bearer ${key}` },
    });
    const [answer] = (await once(sending, 'response')) as [http.IncomingMessage];
    answer.resume();
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([
      429,
      isForwarded ? value : undefined,
    ]);
    upstream.answer = (_request, response) => response.end('ok');
  });
});

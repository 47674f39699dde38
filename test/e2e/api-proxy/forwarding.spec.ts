import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { gzipSync } from 'node:zlib';
import { type ApiClient, sharedApp, newOrganization, type TestOrganization, until } from '#testing';
import { rawExchange, rawServer, register, Upstream } from './upstream.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
let org: TestOrganization;
let admin: ApiClient;
let agent: ApiClient;
let upstream: Upstream;

beforeAll(async () => {
  org = await newOrganization(app);
  admin = await org.member('admin');
  agent = app.api((await org.serviceAccount('runtime')).key);
});
beforeEach(async () => {
  upstream = await Upstream.listen();
});
afterEach(() => upstream.close());

const api = (body: object = {}): Promise<string> =>
  register(admin, org.workspaceId, { base_url: `${upstream.url}/base`, ...body });

/** Sends a request with Node's client, which exposes raw headers and trailers. */
async function send(
  path: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: http.OutgoingHttpHeaders; body?: string | Buffer } = {},
): Promise<http.IncomingMessage & { text: string }> {
  const key = (await org.serviceAccount('runtime')).key;
  const sending = http.request(app.url + path, {
    method,
    agent: false,
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  sending.end(body);
  const [answer] = (await once(sending, 'response')) as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Object.assign(answer, { text: Buffer.concat(chunks).toString() });
}

const valuesOf = (raw: readonly string[], name: string): string[] =>
  raw.filter((_, at) => at % 2 === 1 && raw[at - 1]!.toLowerCase() === name);

describe('a forwarded request', () => {
  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'keeps the path, the query and the body of a %s as sent',
    async (method) => {
      const path = await api();
      const body = method === 'GET' || method === 'OPTIONS' ? undefined : '{"a": 1.0}';
      const answer = await send(`${path}/a%20b/c;v=1/%E2%82%AC//d/?x=%2F..%2F&y=a+b&y=`, {
        method,
        body,
        headers: body ? { 'content-type': 'application/json', 'content-length': body.length } : {},
      });
      expect(answer.statusCode).toBe(200);
      expect(upstream.last.method).toBe(method);
      expect(upstream.last.url).toBe('/base/a%20b/c;v=1/%E2%82%AC//d/?x=%2F..%2F&y=a+b&y=');
      expect(upstream.last.body.toString()).toBe(body ?? '');
    },
  );

  it('may be a HEAD, whose response has the headers of the body but no body', async () => {
    upstream.answer = (_request, response) => response.setHeader('Content-Length', 1234).end();
    const answer = await send(`${await api()}/x`, { method: 'HEAD' });
    expect([answer.statusCode, answer.headers['content-length'], answer.text]).toEqual([200, '1234', '']);
    expect(upstream.last.method).toBe('HEAD');
  });

  it('goes to the base URL itself if it has no path', async () => {
    const path = await api();
    await send(path);
    expect(upstream.last.url).toBe('/base');
    await send(`${path}/`);
    expect(upstream.last.url).toBe('/base/');
    await send(`${path}?q=1`);
    expect(upstream.last.url).toBe('/base?q=1');
    const root = await register(admin, org.workspaceId, { base_url: upstream.url });
    await send(root);
    expect(upstream.last.url).toBe('/');
  });

  it('keeps end-to-end headers as sent, and drops headers for the service or this hop', async () => {
    await send(`${await api()}/x`, {
      headers: {
        'X-Custom-Case': 'Kept',
        'X-Many': ['1', '2'],
        Accept: 'text/plain;q=0.5',
        'Accept-Encoding': 'br',
        'User-Agent': 'agent/1',
        'X-Request-Id': 'abc',
        Cookie: 'session=secret',
        'X-Service-Workspace-Id': org.workspaceId,
        Connection: 'keep-alive, X-Hop',
        'X-Hop': 'hop',
        'Keep-Alive': 'timeout=5',
        'Proxy-Authorization': 'Basic c2VjcmV0',
        TE: 'trailers, deflate',
        Forwarded: 'for=1.2.3.4',
        'X-Forwarded-For': '1.2.3.4',
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Host': 'evil.example',
        'X-Forwarded-Port': '1',
        'X-Real-IP': '1.2.3.4',
      },
    });
    const { rawHeaders, headers } = upstream.last;
    expect(rawHeaders).toContain('X-Custom-Case');
    expect(valuesOf(rawHeaders, 'x-many')).toEqual(['1', '2']);
    expect(headers).toMatchObject({
      accept: 'text/plain;q=0.5',
      'accept-encoding': 'br',
      'user-agent': 'agent/1',
      'x-request-id': 'abc',
      te: 'trailers',
      via: '1.1 agent-registry',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': new URL(app.url).host,
      host: new URL(upstream.url).host,
    });
    for (const name of [
      'authorization',
      'cookie',
      'x-service-workspace-id',
      'x-hop',
      'keep-alive',
      'proxy-authorization',
      'forwarded',
      'x-forwarded-port',
      'x-real-ip',
    ]) {
      expect([name, headers[name]]).toEqual([name, undefined]);
    }
    expect(JSON.stringify(rawHeaders)).not.toContain('1.2.3.4');
  });

  it('continues the trace of the caller, or starts one', async () => {
    const path = await api();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await send(`${path}/x`, { headers: { traceparent, tracestate: 'a=1' } });
    expect(upstream.last.headers).toMatchObject({ traceparent, tracestate: 'a=1' });
    await send(`${path}/x`, { headers: { traceparent: 'invalid' } });
    expect(upstream.last.headers.traceparent).toMatch(/^00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });

  it.each([
    ['bearer', { type: 'bearer', value: 'tok' }, { authorization: 'Bearer tok' }],
    [
      'basic',
      { type: 'basic', value: 'üser:pass:word' },
      { authorization: `Basic ${Buffer.from('üser:pass:word').toString('base64')}` },
    ],
    ['header', { type: 'header', name: 'X-Api-Key', value: 'k1' }, { 'x-api-key': 'k1' }],
  ])(
    'carries the stored credential (%s) instead of the header that the client sent',
    async (_, auth, expected) => {
      await send(`${await api({ auth })}/x`, { headers: { 'x-api-key': 'from the client' } });
      expect(upstream.last.headers).toMatchObject(expected);
    },
  );

  it('carries the stored credential in the query, and is rejected if the client sends that parameter', async () => {
    const path = await api({ auth: { type: 'query', name: 'api[key]', value: 'a&b=c' } });
    await send(`${path}/x`);
    expect(upstream.last.url).toBe('/base/x?api%5Bkey%5D=a%26b%3Dc');
    await send(`${path}/x?q=1`);
    expect(upstream.last.url).toBe('/base/x?q=1&api%5Bkey%5D=a%26b%3Dc');
    const refused = await agent.get(`${path}/x?q=1&api%5bkey]=mine`);
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_query']);
    expect(upstream.received).toHaveLength(2);
  });

  it('carries the registered headers instead of the headers that the client sent', async () => {
    await send(`${await api({ headers: { 'X-Version': '2' } })}/x`, { headers: { 'x-version': '1' } });
    expect(valuesOf(upstream.last.rawHeaders, 'x-version')).toEqual(['2']);
  });

  it('keeps the body framing that the client chose', async () => {
    const path = await api();
    await send(`${path}/x`, { method: 'POST', body: 'four', headers: { 'content-length': 4 } });
    expect(upstream.last.headers).toMatchObject({ 'content-length': '4' });
    await send(`${path}/x`, { method: 'POST', body: 'chunks', headers: { 'transfer-encoding': 'chunked' } });
    expect(upstream.last.headers).toMatchObject({ 'transfer-encoding': 'chunked' });
    expect(upstream.last.body.toString()).toBe('chunks');
    await send(`${path}/x`, { method: 'POST', headers: { 'content-length': 0 } });
    expect(upstream.last.headers).toMatchObject({ 'content-length': '0' });
    await send(`${path}/x`, { method: 'GET', body: 'body of a GET', headers: { 'content-length': 13 } });
    expect(upstream.last.body.toString()).toBe('body of a GET');
  });

  it('keeps an encoded body unchanged', async () => {
    const body = gzipSync('x'.repeat(1000));
    await send(`${await api()}/x`, {
      method: 'POST',
      body,
      headers: { 'content-encoding': 'gzip', 'content-length': body.length },
    });
    expect(upstream.last.body.equals(body)).toBe(true);
    expect(upstream.last.headers['content-encoding']).toBe('gzip');
  });

  it('reuses a connection', async () => {
    const path = await api();
    for (let sent = 0; sent < 5; sent++) await send(`${path}/${sent}`);
    expect(upstream.connections).toBe(1);
  });
});

describe('a forwarded response', () => {
  it('keeps the status, the reason, the headers and the bytes of the upstream', async () => {
    const body = gzipSync('hello');
    upstream.answer = (_request, response) =>
      response
        .writeHead(418, 'Short And Stout', [
          'Content-Type',
          'text/x-custom',
          'Content-Encoding',
          'gzip',
          'Content-Length',
          String(body.length),
          'Set-Cookie',
          'a=1',
          'Set-Cookie',
          'b=2',
          'ETag',
          'W/"x"',
          'Cache-Control',
          'public, max-age=60',
          'X-Custom-Case',
          'é',
          'X-Request-Id',
          'of-the-upstream',
          'Connection',
          'keep-alive, X-Hop',
          'X-Hop',
          '1',
          'Proxy-Authenticate',
          'Basic',
          'Via',
          '1.0 cdn',
          'Proxy-Status',
          'cdn; received-status=418',
        ])
        .end(body);
    const answer = await send(`${await api()}/x`);
    expect([answer.statusCode, answer.statusMessage]).toEqual([418, 'Short And Stout']);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/x-custom',
      'content-encoding': 'gzip',
      'content-length': String(body.length),
      'set-cookie': ['a=1', 'b=2'],
      etag: 'W/"x"',
      'cache-control': 'public, max-age=60',
      'x-request-id': 'of-the-upstream',
      via: '1.0 cdn, 1.1 agent-registry',
      'proxy-status': 'cdn; received-status=418, agent-registry; received-status=418',
    });
    expect(answer.rawHeaders).toContain('X-Custom-Case');
    expect(answer.headers).not.toHaveProperty('x-hop');
    expect(answer.headers).not.toHaveProperty('proxy-authenticate');
    expect(answer.headers).not.toHaveProperty('x-content-type-options');
  });

  it.each([204, 304, 205])('has no body if its status is %i', async (status) => {
    upstream.answer = (_request, response) => response.writeHead(status, { etag: '"1"' }).end();
    const answer = await send(`${await api()}/x`);
    expect([answer.statusCode, answer.text, answer.headers.etag]).toEqual([status, '', '"1"']);
  });

  it('may be a redirect, which is not followed', async () => {
    upstream.answer = (_request, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    const answer = await send(`${await api()}/x`);
    expect([answer.statusCode, answer.headers.location]).toEqual([302, 'http://169.254.169.254/']);
    expect(upstream.received).toHaveLength(1);
  });

  it('keeps the trailers of the upstream', async () => {
    upstream.answer = (_request, response) => {
      response.writeHead(200, { trailer: 'X-Checksum' });
      response.write('body');
      response.addTrailers({ 'X-Checksum': 'abc' });
      response.end();
    };
    const answer = await send(`${await api()}/x`);
    expect(answer.text).toBe('body');
    expect(answer.headers.trailer).toBe('X-Checksum');
    expect(answer.trailers).toEqual({ 'x-checksum': 'abc' });
  });

  it('leaves out informational responses', async () => {
    upstream.answer = (_request, response) => {
      response.writeContinue();
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.end('final');
    };
    const path = `${await api()}/x`;
    for (const answer of [await send(path), await send(path, { method: 'POST', body: 'x' })]) {
      expect([answer.statusCode, answer.text]).toEqual([200, 'final']);
    }
  });

  it('streams as it arrives, headers first', async () => {
    let push!: (text: string) => void;
    let end!: () => void;
    upstream.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      push = (text) => response.write(text);
      end = () => response.end();
    };
    const { key } = await org.serviceAccount('runtime');
    const sending = http.get(`${app.url}${await api()}/x`, {
      agent: false,
      headers: { authorization: `Bearer ${key}` },
    });
    const [answer] = (await once(sending, 'response')) as [http.IncomingMessage];
    const next = async (): Promise<string> => String(((await once(answer, 'data')) as [Buffer])[0]);
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      const arriving = next();
      push(text);
      expect(await arriving).toBe(text);
    }
    const ending = once(answer, 'end');
    end();
    answer.resume();
    await ending;
  });

  it('reaches the client even before the request body has been sent', async () => {
    upstream.isEarly = true;
    upstream.answer = (request, response) => {
      request.pause();
      response.writeHead(413, { connection: 'close' }).end('too large for me');
    };
    const { key } = await org.serviceAccount('runtime');
    const sending = http.request(`${app.url}${await api()}/x`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'transfer-encoding': 'chunked' },
    });
    sending.on('error', () => undefined).write('begin');
    const [answer] = (await once(sending, 'response')) as [http.IncomingMessage];
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    expect([answer.statusCode, text]).toEqual([413, 'too large for me']);
    sending.destroy();
  });

  it('ends when the upstream closes the connection if it has no framing', async () => {
    const raw = await rawServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil closed'),
    );
    try {
      const path = await register(admin, org.workspaceId, { base_url: raw.url });
      const answer = await send(`${path}/x`);
      expect([answer.statusCode, answer.text]).toEqual([200, 'until closed']);
    } finally {
      await raw.close();
    }
  });
});

describe('Expect: 100-continue', () => {
  const request = async (path: string, key?: string): Promise<string> =>
    [
      `POST ${path}/x HTTP/1.1`,
      'Host: h',
      `Authorization: Bearer ${key ?? (await org.serviceAccount('runtime')).key}`,
      'Content-Length: 5',
      'Expect: 100-continue',
      '',
      '',
    ].join('\r\n');

  it('requests the body once the request may be forwarded', async () => {
    const head = await request(await api());
    const { port } = new URL(app.url);
    const socket = net.connect(Number(port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk)));
    socket.write(head);
    await until(() => text.includes('100 Continue'));
    expect(upstream.received).toEqual([]);
    socket.write('hello');
    await until(() => text.includes('200 OK'));
    expect(upstream.last.body.toString()).toBe('hello');
    expect(upstream.last.headers).not.toHaveProperty('expect');
    socket.destroy();
  });

  it('does not request the body of a rejected request, and closes the connection', async () => {
    const answer = await rawExchange(app, await request(await api(), 'rsk_wrong'));
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toMatch(/connection: close/i);
    expect(answer).not.toContain('100 Continue');
  });
});

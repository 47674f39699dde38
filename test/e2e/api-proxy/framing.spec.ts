import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { type ApiClient, sharedApp, newOrganization, type TestOrganization, until } from '#testing';
import { rawExchange, rawServer, register, Upstream } from './upstream.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
let org: TestOrganization;
let admin: ApiClient;
let key: string;
let upstream: Upstream;
let path: string;

beforeAll(async () => {
  org = await newOrganization(app);
  admin = await org.member('admin');
  key = (await org.serviceAccount('runtime')).key;
  upstream = await Upstream.listen();
  path = await register(admin, org.workspaceId, { base_url: upstream.url });
});
afterAll(async () => {
  await upstream.close();
});
beforeEach(() => {
  upstream.isEarly = false;
  upstream.received.splice(0);
});

/** Sends a request byte for byte. @returns all bytes that the service sends back */
const exchange = (
  start: string,
  headers: readonly string[] = ['Connection: close'],
  body = '',
): Promise<string> =>
  rawExchange(
    app,
    Buffer.from(
      [start, 'Host: h', `Authorization: Bearer ${key}`, ...headers, '', body].join('\r\n'),
      'latin1',
    ),
  );

/** Lets an upstream respond with raw bytes. @returns the response that the service makes of them */
async function forwardedResponse(bytes: string, method = 'GET', version = '1.1'): Promise<string> {
  const raw = await rawServer((socket) => socket.end(bytes, 'latin1'));
  try {
    const target = await register(admin, org.workspaceId, { base_url: raw.url });
    return await exchange(`${method} ${target}/x HTTP/${version}`);
  } finally {
    await raw.close();
  }
}

const CHUNKS = '4\r\nbody\r\n0\r\n';

describe('an upstream response', () => {
  it.each([
    ['ASCII', 'Short And Stout', 'Short And Stout'],
    ['no characters', '', ''],
    ['UTF-8 of latin1', 'Tr\xc3\xa8s bien', 'Tr\xe8s bien'],
    ['other UTF-8', '\xe5\xa5\xbd', 'OK'],
    ['bytes that are not UTF-8', 'Tr\xe8s bien', 'OK'],
  ])('is forwarded with a reason phrase of %s', async (_, sent, received) => {
    const answer = await forwardedResponse(`HTTP/1.1 200 ${sent}\r\nContent-Length: 2\r\n\r\nok`);
    expect(answer.split('\r\n')[0]).toBe(`HTTP/1.1 200 ${received}`);
    expect(answer).toMatch(/\r\n\r\nok$/);
  });

  it.each([
    ['answers a HEAD request', 'Transfer-Encoding: chunked', '', 'HEAD', '1.1'],
    ['has a known length', 'Content-Length: 4', 'body', 'GET', '1.1'],
    ['goes to an HTTP/1.0 client', 'Transfer-Encoding: chunked', `${CHUNKS}\r\n`, 'GET', '1.0'],
  ])(
    'loses its Trailer header if it %s, because no trailers can follow',
    async (_, framing, body, method, version) => {
      const head = `HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\n${framing}\r\n\r\n`;
      const answer = await forwardedResponse(head + body, method, version);
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(answer).not.toMatch(/^trailer:/im);
    },
  );

  it.each([204, 304])('loses its Trailer header if its status is %i', async (status) => {
    const answer = await forwardedResponse(`HTTP/1.1 ${status} X\r\nTrailer: X-Sum\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} X\r\n`));
    expect(answer).not.toMatch(/^trailer:/im);
  });

  it('keeps its trailers byte for byte, except fields that are not allowed in trailers', async () => {
    const trailers = 'X-Sum: \xe8\r\nSet-Cookie: a=1\r\nContent-Type: x\r\n';
    const answer = await forwardedResponse(
      `HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}${trailers}\r\n`,
    );
    expect(answer).toMatch(/\r\n4\r\nbody\r\n0\r\nX-Sum: \xe8\r\n\r\n$/);
  });

  it('cannot smuggle in a second response: bytes after its end are dropped', async () => {
    const second = 'HTTP/1.1 200 OK\r\nX-Second: 1\r\nContent-Length: 2\r\n\r\nno';
    const answer = await forwardedResponse(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok${second}`);
    expect(answer).toMatch(/\r\n\r\nok$/);
    expect(answer).not.toContain('X-Second');
  });

  it('has no body with status 204, whatever its Content-Length', async () => {
    const answer = await forwardedResponse('HTTP/1.1 204 X\r\nContent-Length: 5\r\n\r\nextra');
    expect(answer).toMatch(/^HTTP\/1\.1 204 X\r\n/);
    expect(answer).not.toContain('extra');
  });
});

describe('a response before the end of the request body', () => {
  const begin = async (): Promise<[http.ClientRequest, http.IncomingMessage]> => {
    upstream.isEarly = true;
    const sending = http.request(`${app.url}${path}/x`, {
      method: 'POST',
      agent: new http.Agent({ keepAlive: true }),
      headers: { authorization: `Bearer ${key}`, 'transfer-encoding': 'chunked' },
    });
    sending.on('error', () => undefined).write('begin');
    const [answer] = (await once(sending, 'response')) as [http.IncomingMessage];
    return [sending, answer];
  };

  it('closes the connection, because the client may never send the rest', async () => {
    upstream.answer = (_request, response) => response.writeHead(401).end('no');
    const [sending, answer] = await begin();
    expect([answer.statusCode, answer.headers.connection]).toEqual([401, 'close']);
    answer.resume();
    await once(answer, 'end');
    sending.destroy();
  });

  it('streams while the body is still being sent', async () => {
    upstream.answer = (request, response) => {
      response.writeHead(200).flushHeaders();
      request.pipe(response);
    };
    const [sending, answer] = await begin();
    let text = '';
    answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await until(() => text === 'begin');
    sending.end(' and end');
    await once(answer, 'end');
    expect(text).toBe('begin and end');
  });

  it('does not turn the rest of the body into another request', async () => {
    upstream.answer = (_request, response) => response.writeHead(413).end('no');
    upstream.isEarly = true;
    const { port } = new URL(app.url);
    const socket = net.connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    const closed = once(socket, 'close');
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk))).on('error', () => undefined);
    const head = `POST ${path}/x HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${key}\r\nContent-Length: 1000\r\n\r\nbegin`;
    socket.write(head);
    await until(() => text.includes('\r\n\r\n'));
    socket.write(`GET ${path}/hidden HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    socket.end();
    await closed;
    expect(text.split('HTTP/1.1 ')).toEqual(['', expect.stringMatching(/^413 /)]);
  });
});

it('rejects a request in a forwarding loop', async () => {
  const via = Array.from({ length: 3 }, () => '1.1 agent-registry');
  const answer = await exchange(`GET ${path}/x HTTP/1.1`, [`Via: ${via.join(', ')}`, 'Connection: close']);
  expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*proxy_loop_detected[^]*"code":"invalid_request"/);
  expect(upstream.received).toEqual([]);
  // an API whose base URL is the proxy itself
  const base_url = `${app.url}${path}`;
  const auth = { type: 'bearer', value: key };
  const loop = await register(admin, org.workspaceId, { base_url: 'http://127.0.0.1:1', auth });
  const id = loop.split('/').at(-1)!;
  const patched = await admin.patch(`/registry/v1/apis/${id}`, {
    base_url: base_url.replace(/api_\w+$/, id),
    auth: { value: key },
  });
  expect(patched.status).toBe(200);
  const looped = await exchange(`GET ${loop}/x HTTP/1.1`);
  expect(looped).toMatch(/^HTTP\/1\.1 400 [^]*proxy_loop_detected/);
});

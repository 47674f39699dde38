import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import { Environment } from '#platform/config';
import { sharedApp, until } from '#testing';
import { FakeMcpServer, type FakeKind, fakeTool } from './fake-mcp-server.fixture';
import { selfSigned } from './self-signed.fixture';
import { namesIn, SERVERS, ServersFixture } from './servers.fixture';

const SECRET = 'tok-3f9a7c51d2';

describe('test and refresh fail if the server', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let on: ServersFixture;
  let remote: FakeMcpServer;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });
  afterEach(async () => {
    app.get(Environment).MCP_TIMEOUT_MS = 20_000;
    await remote.close();
  });

  const shortenDeadline = (): void => void (app.get(Environment).MCP_TIMEOUT_MS = 500);

  const start = async (kind: FakeKind = 'current'): Promise<void> => {
    remote = await FakeMcpServer.start(kind);
    remote.offer([fakeTool('a')]);
  };
  const registered = async (body: object = {}): Promise<string> => {
    const transport = remote.kind === 'sse' ? 'sse' : 'streamable_http';
    const answer = await on.register({ url: remote.url, transport, ...body });
    return `${SERVERS}/${answer.body.server_id}`;
  };
  const test = async (path: string): Promise<any> => (await on.editor.post(`${path}/test`)).body;

  /** Expects `test` and `refresh` to fail, and to change nothing but the health. */
  async function expectFailure(path: string, kind: string, message: string | RegExp): Promise<void> {
    const before = await on.editor.get(`${path}/tools?include_archived=true`);
    const { updated_at, generation } = (await on.editor.get(path)).body;
    const body = await test(path);
    expect(body).toEqual({ ok: false, error: { kind, message: expect.stringMatching(message) as string } });
    const refreshed = await on.editor.post(`${path}/refresh`);
    const expected = kind === 'timeout' ? [504, 'request_timeout'] : [503, 'service_unavailable'];
    expect([refreshed.status, refreshed.body.code]).toEqual(expected);
    expect(refreshed.body.detail).toMatch(message);
    const after = await on.editor.get(`${path}/tools?include_archived=true`);
    expect(after.body).toEqual(before.body);
    expect((await on.editor.get(path)).body).toMatchObject({
      updated_at,
      generation,
      health: { status: 'unhealthy', latency_ms: null, error: body.error },
    });
  }

  it.each<FakeKind>(['current', 'sessions', 'sse'])('hangs: %s', async (kind) => {
    await start(kind);
    const path = await registered();
    await test(path);
    remote.intercept = () => true;
    shortenDeadline();
    await expectFailure(path, 'timeout', 'did not respond within 0.5 s');
    expect(namesIn(await on.editor.get(`${path}/tools`))).toEqual(['a']);
  });

  it('hangs in the middle of the list', async () => {
    await start();
    const path = await registered();
    await test(path);
    remote.offerPages((cursor) =>
      cursor === undefined
        ? { tools: [fakeTool('b')], nextCursor: 'more' }
        : new Promise<never>(() => undefined),
    );
    shortenDeadline();
    await expectFailure(path, 'timeout', 'did not respond within 0.5 s');
  });

  it('sends one byte at a time for longer than the deadline', async () => {
    await start();
    const path = await registered();
    remote.intercept = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 50);
      response.once('close', () => clearInterval(timer));
      return true;
    };
    shortenDeadline();
    await expectFailure(path, 'timeout', 'did not respond within 0.5 s');
  });

  /** Ends the connection in the second page of the list. */
  const breakListing = (cut: (response: ServerResponse) => void): void => {
    remote.offerPages(() => ({ tools: [fakeTool('b')], nextCursor: 'more' }));
    remote.intercept = (_request, response, body) => {
      if (!body.includes('"cursor":"more"')) return false;
      cut(response);
      return true;
    };
  };

  it.each<FakeKind>(['current', 'sessions'])(
    'closes the connection in the middle of the list: %s',
    async (kind) => {
      await start(kind);
      const path = await registered();
      await test(path);
      breakListing((response) => {
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.write('{"jsonrpc": "2.0", "id": 1, "result": {"tools": [');
        setImmediate(() => response.destroy());
      });
      await expectFailure(path, 'unreachable', 'The server closed the connection');
      expect(namesIn(await on.editor.get(`${path}/tools`))).toEqual(['a']);
    },
  );

  it('ends an event stream without a response', async () => {
    await start();
    const path = await registered();
    breakListing((response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end(': nothing\n\n');
    });
    await expectFailure(path, 'unreachable', 'closed the connection before it responded');
  });

  it('closes the stream of the SSE transport in the middle of the list', async () => {
    await start('sse');
    const path = await registered();
    await test(path);
    const requests = remote.requests.length;
    remote.offerPages(async () => {
      await remote.endStreams();
      return { tools: [], nextCursor: 'more' };
    });
    await expectFailure(path, 'unreachable', 'closed the connection before it responded');
    // the event source of the SDK would reconnect
    const opened = remote.requests.slice(requests).filter(({ method }) => method === 'GET');
    expect(opened).toHaveLength(2);
  });

  it('redirects to a private address, which is never called', async () => {
    await start();
    const other = await FakeMcpServer.start();
    try {
      const path = await registered();
      for (const status of [301, 302, 303, 307, 308]) {
        remote.intercept = (_, response) => {
          response.writeHead(status, { Location: other.url.replace('127.0.0.1', 'localhost') }).end();
          return true;
        };
        await expectFailure(path, 'protocol', 'returned a redirect, which is not followed');
      }
      expect(other.requests).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it.each([200, 404, 500, 502])('returns HTML with the status %d', async (status) => {
    await start();
    const path = await registered();
    remote.intercept = (_, response) => {
      response.writeHead(status, { 'Content-Type': 'text/html' }).end('<html>internal 10.1.2.3</html>');
      return true;
    };
    const message = status === 200 ? 'returned text/html instead of JSON' : `returned HTTP ${status}`;
    await expectFailure(path, 'protocol', message);
    expect(JSON.stringify(await test(path))).not.toContain('10.1.2.3');
  });

  it('returns HTML to clients of the SSE transport', async () => {
    await start('sse');
    const path = await registered();
    remote.intercept = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html></html>');
      return true;
    };
    await expectFailure(path, 'protocol', 'did not return an event stream');
  });

  it('returns broken JSON', async () => {
    await start();
    const path = await registered();
    remote.intercept = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"jsonrpc": "2.0", ');
      return true;
    };
    await expectFailure(path, 'protocol', 'did not return valid JSON');
  });

  it('returns a protocol error, which is shown on one line without the secret', async () => {
    await start('sessions');
    const path = await registered({ auth: { type: 'bearer', value: SECRET } });
    remote.offerPages(() => {
      throw new Error(`no\n\u202etools for ${SECRET} ${'x'.repeat(5_000)}`);
    });
    await expectFailure(
      path,
      'protocol',
      /^The server returned the error -32603: .*no tools for \[secret\] x{9,200}…$/,
    );
    expect(JSON.stringify((await on.editor.get(`${path}/checks`)).body)).not.toContain(SECRET);
  });

  it.each<[string, FakeKind, object, [string, string]]>([
    ['bearer token', 'current', { type: 'bearer', value: SECRET }, ['authorization', `Bearer ${SECRET}`]],
    ['header', 'sessions', { type: 'header', header: 'X-Key', value: SECRET }, ['x-key', SECRET]],
    ['bearer token', 'sse', { type: 'bearer', value: SECRET }, ['authorization', `Bearer ${SECRET}`]],
  ])('requires a %s and does not get the right one: %s', async (_, kind, auth, [header, value]) => {
    await start(kind);
    remote.demand(header, value);
    expect(await test(await registered({ auth }))).toMatchObject({ ok: true, tools: { added: ['a'] } });
    const without = await registered();
    await expectFailure(without, 'unauthorized', 'It requires credentials. Send them in `auth`');
    const wrong = await registered({ auth: { ...auth, value: 'wrong' } });
    await expectFailure(wrong, 'unauthorized', /refused access \(HTTP 401\)\. Check the secret in `auth`/);
  });

  it('sends clients of the SSE transport to another origin, which is never called', async () => {
    await start('sse');
    const other = await FakeMcpServer.start();
    try {
      remote.intercept = (_, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write(`event: endpoint\ndata: ${other.url}\n\n`);
        return true;
      };
      const path = await registered({ auth: { type: 'bearer', value: SECRET } });
      await expectFailure(path, 'protocol', 'do not follow the Model Context Protocol');
      expect(other.requests).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it('refuses connections', async () => {
    await start();
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    const path = await registered({ url: `http://127.0.0.1:${port}/mcp` });
    await expectFailure(path, 'unreachable', 'refused the connection');
  });

  it('has a host name that does not exist', async () => {
    await start();
    const path = await registered({ url: 'https://nobody.invalid/mcp' });
    await expectFailure(path, 'unreachable', 'host name of the server cannot be resolved');
  });

  it('has an untrusted TLS certificate', async () => {
    remote = await FakeMcpServer.start('current', selfSigned());
    const path = await registered({ auth: { type: 'bearer', value: SECRET } });
    await expectFailure(path, 'tls', 'The TLS connection failed');
    expect(remote.requests).toEqual([]);
  });

  it('has a port that the Fetch standard blocks', async () => {
    await start();
    await expectFailure(
      await registered({ url: 'http://127.0.0.1:25/' }),
      'blocked_address',
      'Use another port',
    );
  });

  it('does not use TLS at an https URL', async () => {
    await start();
    const path = await registered({ url: remote.url.replace('http:', 'https:') });
    await expectFailure(path, 'tls', 'does not use TLS on this port. Register its URL with http');
  });

  it('returns 404', async () => {
    await start();
    const path = await registered();
    remote.intercept = (_, response) => {
      response.writeHead(404).end();
      return true;
    };
    await expectFailure(path, 'protocol', 'HTTP 404. Check the path of `url`, and `transport`.');
  });

  it('does not speak HTTP', async () => {
    await start();
    const odd = createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')).listen(0, '127.0.0.1');
    await once(odd, 'listening');
    const { port } = odd.address() as AddressInfo;
    try {
      const path = await registered({ url: `http://127.0.0.1:${port}/mcp` });
      await expectFailure(path, 'protocol', 'did not return valid HTTP');
    } finally {
      odd.close();
    }
  });
});

describe('a server at a private address', () => {
  const app = sharedApp();
  let remote: FakeMcpServer;

  beforeEach(async () => {
    remote = await FakeMcpServer.start();
  });

  afterEach(() => remote.close());

  it('is not called without OUTBOUND_ALLOW', async () => {
    const on = await ServersFixture.create(app);
    for (const url of [
      remote.url,
      'http://[::1]:8081/mcp',
      'http://169.254.169.254/latest',
      'http://localhost:8081/mcp',
    ]) {
      const path = `${SERVERS}/${(await on.register({ url })).body.server_id}`;
      const message =
        'The address of the server is not public. Use a public address, or ask the operator to add it to OUTBOUND_ALLOW.';
      const tested = await on.editor.post(`${path}/test`);
      expect([url, tested.body]).toEqual([url, { ok: false, error: { kind: 'blocked_address', message } }]);
      expect([url, (await on.editor.post(`${path}/refresh`)).status]).toEqual([url, 503]);
    }
    expect(remote.requests).toEqual([]);
  });
});

describe('a connection', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let on: ServersFixture;
  let remote: FakeMcpServer;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });
  afterEach(() => remote.close());

  const registered = async (): Promise<string> => {
    const transport = remote.kind === 'sse' ? 'sse' : 'streamable_http';
    const { body } = await on.register({ url: remote.url, transport });
    return `${SERVERS}/${body.server_id}`;
  };

  it('ends its session, and opens no stream for server messages', async () => {
    remote = await FakeMcpServer.start('sessions');
    remote.offer([fakeTool('a')]);
    await on.editor.post(`${await registered()}/refresh`);
    await until(() => remote.openSessions === 0);
    expect(remote.endedSessions).toHaveLength(1);
    expect(remote.requests.filter(({ method }) => method === 'GET')).toEqual([]);
  });

  it('does not wait long for a server that hangs when the session ends', async () => {
    remote = await FakeMcpServer.start('sessions');
    remote.offer([fakeTool('a')]);
    remote.intercept = ({ method }) => method === 'DELETE';
    const { body } = await on.editor.post(`${await registered()}/test`);
    expect(body).toMatchObject({ ok: true, tools: { added: ['a'] } });
  });

  it('closes the stream of the SSE transport after the tools are read', async () => {
    remote = await FakeMcpServer.start('sse');
    remote.offer([fakeTool('a')]);
    await on.editor.post(`${await registered()}/refresh`);
    // a closed stream closes its connection; the connections of other requests may be reused
    while (remote.openStreams > 0) await new Promise(setImmediate);
    expect(remote.openStreams).toBe(0);
  });
});

import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import ipaddr from 'ipaddr.js';
import { request } from 'undici';
import { outboundFailure, type OutboundFailure } from './outbound-errors';
import { OutboundHttp } from './outbound-http';

const MIB = 1024 * 1024;
const NEVER = new AbortController().signal;
const ipv4 = (address: string): LookupAddress => ({ address, family: 4 });

/** Allows only 127.0.0.1, so that other loopback addresses stand for private ones. */
const ALLOWED = [ipaddr.parseCIDR('127.0.0.1/32')];

describe('OutboundHttp', () => {
  const servers: (Server | TcpServer)[] = [];
  const clients: OutboundHttp[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.onApplicationShutdown();
    for (const server of servers.splice(0)) {
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  });

  const listen = async (server: Server | TcpServer, host = '127.0.0.1'): Promise<number> => {
    servers.push(server);
    server.listen(0, host);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const serve = async (listener: RequestListener): Promise<string> =>
    `http://127.0.0.1:${await listen(createServer(listener))}`;
  const client = (...args: ConstructorParameters<typeof OutboundHttp>): OutboundHttp => {
    const created = new OutboundHttp(...args);
    clients.push(created);
    return created;
  };
  const fetcher = (maxBytes = MIB, signal: AbortSignal = NEVER): typeof fetch =>
    client(ALLOWED).fetcher({ signal, maxBytes });
  const failureOf = async (work: Promise<unknown>): Promise<OutboundFailure | null | 'none'> =>
    work.then(
      () => 'none',
      (error: unknown) => outboundFailure(error),
    );

  describe('with address checks', () => {
    it.each([
      ['decimal', 'http://2130706433'],
      ['octal', 'http://0177.0.0.1'],
      ['hexadecimal', 'http://0x7f000001'],
      ['mixed', 'http://0x7f.0.1'],
      ['short', 'http://127.1'],
      ['percent-encoded', 'http://%31%32%37.0.0.1'],
      ['full-width digits', 'http://１２７.０.０.１'],
      ['a trailing dot', 'http://127.0.0.1.'],
      ['IPv6', 'http://[::1]'],
      ['IPv4-mapped', 'http://[::ffff:127.0.0.1]'],
      ['NAT64', 'http://[64:ff9b::7f00:1]'],
      ['unspecified', 'http://0'],
      ['unspecified IPv6', 'http://[::]'],
      ['localhost', 'http://localhost'],
      ['localhost in capitals', 'http://LOCALHOST'],
    ])('rejects loopback that is written as %s: %s', async (_, origin) => {
      let hits = 0;
      const port = await listen(
        createServer((_request, response) => {
          hits++;
          response.end();
        }),
        '0.0.0.0',
      );
      const http = client([]);
      const { signal } = new AbortController();
      expect(await failureOf(http.fetcher({ signal, maxBytes: 1 })(`${origin}:${port}/`))).toBe(
        'blocked_address',
      );
      const direct = request(`${origin}:${port}/`, { dispatcher: http.dispatcher });
      expect(await failureOf(direct)).toBe('blocked_address');
      expect(hits).toBe(0);
    });

    it.each(['localhost.', 'tools.localhost', 'intranet.example.'])(
      'rejects the name %s when it resolves to loopback',
      async (name) => {
        const resolve = () => Promise.resolve([ipv4('127.0.0.1'), { address: '::1', family: 6 }]);
        const call = client([], resolve).fetcher({ signal: NEVER, maxBytes: 1 });
        expect(await failureOf(call(`http://${name}/`))).toBe('blocked_address');
      },
    );

    it('rejects a zone id', async () => {
      await expect(fetcher()('http://[fe80::1%25lo]/')).rejects.toThrow('Invalid URL');
    });

    it.each(['ftp://127.0.0.1/', 'file:///etc/passwd', 'data:text/plain,x', 'blob:http://127.0.0.1/x'])(
      'rejects the scheme of %s',
      async (url) => {
        expect(await failureOf(fetcher()(url))).toBe('blocked_address');
      },
    );

    it.each(['http://user@127.0.0.1/', 'http://:secret@127.0.0.1/'])(
      'rejects the credentials in %s',
      async (url) => {
        const error = await fetcher()(url).catch((caught: unknown) => caught);
        expect(outboundFailure(error)).toBe('blocked_address');
        expect(String(error)).not.toContain('secret');
      },
    );

    it('rejects a name that resolves to a private address, and does not show the address', async () => {
      const http = client([], () => Promise.resolve([ipv4('10.11.12.13')]));
      const call = http.fetcher({ signal: NEVER, maxBytes: 1 })('http://intranet.example/');
      const error: unknown = await call.catch((caught: unknown) => caught);
      expect(outboundFailure(error)).toBe('blocked_address');
      const text = inspect(error);
      expect(text).toContain('intranet.example');
      expect(text).not.toContain('10.11');
    });

    /** A server that closes each connection, and the local addresses at which it was reached. */
    const reached = async () => {
      const at: (string | undefined)[] = [];
      const server = createServer((incoming, response) => {
        at.push(incoming.socket.localAddress);
        response.setHeader('connection', 'close').end();
      });
      return { at, port: await listen(server, '0.0.0.0') };
    };

    it('rejects the second answer of a name server when it names a private address (DNS rebinding)', async () => {
      const { at, port } = await reached();
      let answers = 0;
      const resolve = () => Promise.resolve([ipv4(++answers === 1 ? '127.0.0.1' : '127.0.0.2')]);
      const call = client(ALLOWED, resolve).fetcher({ signal: NEVER, maxBytes: MIB });
      const url = `http://rebind.example:${port}/`;
      await (await call(url)).text();
      expect(await failureOf(call(url))).toBe('blocked_address');
      expect(at).toEqual(['127.0.0.1']);
    });

    it('connects to the address that it checked, even if the name resolves differently afterwards', async () => {
      const { at, port } = await reached();
      let answers = 0;
      const resolve = () => Promise.resolve([ipv4(++answers === 1 ? '127.0.0.1' : '127.0.0.2')]);
      const call = client(ALLOWED, resolve).fetcher({ signal: NEVER, maxBytes: MIB });
      expect((await call(`http://rebind.example:${port}/`)).status).toBe(200);
      expect([at, answers]).toEqual([['127.0.0.1'], 1]);
    });

    it('uses only the allowed addresses of a name', async () => {
      const { at, port } = await reached();
      const resolve = () =>
        Promise.resolve([ipv4('127.0.0.2'), { address: '::1', family: 6 }, ipv4('127.0.0.1')]);
      const call = client(ALLOWED, resolve).fetcher({ signal: NEVER, maxBytes: MIB });
      expect((await call(`http://mixed.example:${port}/`)).status).toBe(200);
      expect(at).toEqual(['127.0.0.1']);
    });

    it('resolves a name once for all connections that wait for it, and other names at the same time', async () => {
      const resolvedNames: string[] = [];
      let answer!: (error: Error) => void;
      const answered = new Promise<never>((_, reject) => (answer = reject));
      const resolve = (name: string) => {
        resolvedNames.push(name);
        return answered;
      };
      const call = client([], resolve).fetcher({ signal: NEVER, maxBytes: 1 });
      const names = ['a.slow.example', 'b.slow.example', 'a.slow.example', 'other.example'];
      const calls = names.map((name) => failureOf(call(`http://${name}/`)));
      while (resolvedNames.length < 3) await setImmediate();
      answer(Object.assign(new Error('none'), { code: 'ENOTFOUND' }));
      expect(await Promise.all(calls)).toEqual(names.map(() => 'unreachable'));
      expect(resolvedNames).toEqual(['a.slow.example', 'b.slow.example', 'other.example']);
    });

    it('ignores the proxies of the environment', async () => {
      let proxied = 0;
      const proxy = createServer((_request, response) => {
        proxied++;
        response.end();
      });
      proxy.on('connect', (_request, socket) => {
        proxied++;
        socket.end();
      });
      const address = `http://127.0.0.1:${await listen(proxy)}`;
      const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'];
      const before = process.env;
      process.env = { ...before, ...Object.fromEntries(names.map((name) => [name, address])) };
      try {
        const url = await serve((_request, response) => response.end('direct'));
        expect(await (await fetcher()(url)).text()).toBe('direct');
        const http = client([]);
        expect(await failureOf(http.fetcher({ signal: NEVER, maxBytes: 1 })('https://localhost/'))).toBe(
          'blocked_address',
        );
      } finally {
        process.env = before;
      }
      expect(proxied).toBe(0);
    });
  });

  it.each([301, 302, 303, 307, 308])('follows no redirect (%i)', async (status) => {
    let hits = 0;
    const target = await serve((_request, response) => {
      hits++;
      response.end();
    });
    const url = await serve((_request, response) => response.writeHead(status, { location: target }).end());
    expect(await failureOf(fetcher()(url, { redirect: 'follow' }))).toBe('redirect');
    expect(hits).toBe(0);
  });

  describe('with a size limit', () => {
    /** Sends chunks until the client disconnects, and resolves to the bytes that were sent. */
    const flood = (response: ServerResponse, chunk: Buffer, onClose: (bytes: number) => void): void => {
      let sent = 0;
      const send = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
        sent += chunk.length;
      };
      response.on('drain', send).on('close', () => onClose(sent));
      send();
    };

    it('aborts an endless body', async () => {
      let closed!: (bytes: number) => void;
      const sent = new Promise<number>((resolve) => (closed = resolve));
      const url = await serve((_request, response) => flood(response, Buffer.alloc(64 * 1024), closed));
      const response = await fetcher()(url);
      expect(await failureOf(response.text())).toBe('too_large');
      expect(await sent).toBeLessThan(32 * MIB);
    });

    it('aborts an endless event stream while it is read', async () => {
      let closed!: (bytes: number) => void;
      const sent = new Promise<number>((resolve) => (closed = resolve));
      const event = Buffer.from(`data: ${'x'.repeat(10_000)}\n\n`);
      const url = await serve((_request, response) => {
        response.setHeader('content-type', 'text/event-stream');
        flood(response, event, closed);
      });
      const { body } = await fetcher()(url);
      let received = 0;
      const read = async (): Promise<void> => {
        for await (const chunk of body!) received += chunk.length;
      };
      expect(await failureOf(read())).toBe('too_large');
      expect(received).toBeGreaterThan(0);
      expect(received).toBeLessThanOrEqual(MIB);
      expect(await sent).toBeLessThan(32 * MIB);
    });

    it('counts the decoded bytes of a gzip bomb', async () => {
      const bomb = gzipSync(Buffer.alloc(64 * MIB));
      expect(bomb.length).toBeLessThan(MIB);
      const url = await serve((_request, response) =>
        response.setHeader('content-encoding', 'gzip').end(bomb),
      );
      expect(await failureOf(fetcher()(url).then((response) => response.arrayBuffer()))).toBe('too_large');
    });

    it('counts all responses of an operation together', async () => {
      const url = await serve((_request, response) => response.end('x'.repeat(400)));
      const call = fetcher(1_000);
      expect((await (await call(url)).text()).length).toBe(400);
      expect((await (await call(url)).text()).length).toBe(400);
      expect(await failureOf(call(url).then((response) => response.text()))).toBe('too_large');
    });

    it('reads a body of exactly the limit', async () => {
      const url = await serve((_request, response) => response.end('x'.repeat(1_000)));
      expect((await (await fetcher(1_000)(url)).text()).length).toBe(1_000);
    });

    it('rejects headers over 16 KiB', async () => {
      const url = await serve((_request, response) =>
        response.setHeader('x-large', 'x'.repeat(17 * 1024)).end(),
      );
      expect(await failureOf(fetcher()(url))).toBe('too_large');
    });
  });

  describe('with a deadline', () => {
    it.each<[string, RequestListener]>([
      ['that never answers', () => undefined],
      ['that never ends its body', (_request, response) => response.write('x')],
    ])('times out for a server %s', async (_, listener) => {
      const url = await serve(listener);
      const call = fetcher(MIB, AbortSignal.timeout(200));
      expect(await failureOf(call(url).then((response) => response.text()))).toBe('timeout');
    });

    it('is also aborted by the signal of a request', async () => {
      const url = await serve(() => undefined);
      const request = new AbortController();
      const call = fetcher()(url, { signal: request.signal });
      request.abort(new Error('left'));
      await expect(call).rejects.toThrow('left');
    });

    it('times out for a name server that never answers', async () => {
      const http = client(ALLOWED, () => new Promise(() => undefined));
      const call = http.fetcher({ signal: AbortSignal.timeout(200), maxBytes: 1 });
      expect(await failureOf(call('http://slow.example/'))).toBe('timeout');
    });
  });

  it('reports why a server cannot be used', async () => {
    const closed = await listen(createServer());
    const [server] = servers.splice(0);
    server!.close();
    await once(server!, 'close');
    const tcp = createTcpServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end('220 mail.example\r\n'),
    );
    const noHttp = await listen(tcp);
    const noTls = new URL(await serve((_request, response) => response.end())).port;
    const noCertificate = await listen(createHttpsServer(() => undefined) as Server);
    const corrupt = await serve((_request, response) =>
      response.setHeader('content-encoding', 'gzip').end('no gzip'),
    );
    const status = await serve((_request, response) => response.writeHead(999).end());
    const broken = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': 10 }).write('x', () => response.destroy());
    });
    const read = (url: string) => failureOf(fetcher()(url).then((response) => response.text()));
    expect(await read(`http://127.0.0.1:${closed}`)).toBe('unreachable');
    expect(await read(broken)).toBe('unreachable');
    expect(await read(`http://127.0.0.1:${noHttp}`)).toBe('protocol');
    expect(await read(corrupt)).toBe('protocol');
    expect(await read(status)).toBe('protocol');
    expect(await read(`https://127.0.0.1:${noTls}`)).toBe('tls');
    expect(await read(`https://127.0.0.1:${noCertificate}`)).toBe('tls');
  });

  it('sends requests like fetch, and reuses connections', async () => {
    const ports = new Set<number | undefined>();
    const url = await serve((incoming, response) => {
      ports.add(incoming.socket.remotePort);
      const { method, headers } = incoming;
      void incoming.toArray().then((chunks: Buffer[]) => {
        response.setHeader('set-cookie', ['a=1', 'b=2']);
        response.end(
          JSON.stringify({ method, key: headers['x-key'], body: Buffer.concat(chunks).toString() }),
        );
      });
    });
    const call = fetcher();
    const init = { method: 'POST', headers: new Headers({ 'x-key': 'k' }), body: '{"a":1}' };
    for (const input of [new URL(url), url, new Request(url, init), url, url, url]) {
      const response = await call(input, input instanceof Request ? undefined : init);
      expect(response).toBeInstanceOf(Response);
      expect([response.ok, response.url]).toEqual([true, `${url}/`]);
      expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
      expect(await response.json()).toEqual({ method: 'POST', key: 'k', body: '{"a":1}' });
    }
    expect(ports.size).toBeLessThan(4);
  });

  it.each(['GET', 'HEAD', 'POST'])('ignores 100 Continue before the response to %s', async (method) => {
    const url = await serve((incoming, response) => {
      incoming.socket.write('HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\n');
      response.writeContinue();
      incoming.resume().on('end', () => response.setHeader('x-b', '2').end('done'));
    });
    const http = client(ALLOWED);
    const call = http.fetcher({ signal: NEVER, maxBytes: MIB });
    const init = { method, ...(method === 'POST' && { body: 'x'.repeat(100_000) }) };
    const expected = method === 'HEAD' ? '' : 'done';
    for (let one = 0; one < 2; one++) {
      const fetched = await call(url, init);
      expect([fetched.status, fetched.headers.get('x-a'), fetched.headers.get('x-b')]).toEqual([
        200,
        null,
        '2',
      ]);
      expect(await fetched.text()).toBe(expected);
      const requested = await request(url, { ...init, method: method as 'GET', dispatcher: http.dispatcher });
      expect([requested.statusCode, await requested.body.text()]).toEqual([200, expected]);
    }
  });

  it('reads responses without a body', async () => {
    const url = await serve((_request, response) => response.writeHead(204).end());
    const response = await fetcher()(url);
    expect([response.status, response.body]).toEqual([204, null]);
  });

  it('reports failures that a client hides', async () => {
    const failures: unknown[] = [];
    const onFailure = (error: unknown): void => void failures.push(outboundFailure(error));
    const call = client(ALLOWED).fetcher({ signal: NEVER, maxBytes: 10, onFailure });
    const url = await serve((_request, response) => response.end('x'.repeat(11)));
    await (await call(url)).text().catch(() => undefined);
    await call('http://127.0.0.2/').catch(() => undefined);
    expect(failures).toEqual(['too_large', 'blocked_address']);
  });
});

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { Client } from '#client';
import { observe, startTracing, type Tracing, type TracingOptions } from '#client/otel';
import { newOrganization, sharedApp, until } from '#testing';

/** Answers of the stub, in order. The last one repeats. */
type Reply = { status: number; headers?: Record<string, string>; body?: object } | 'reset';

describe('the queue of spans', () => {
  const app = sharedApp();
  let tracing: Tracing | undefined;
  let warnings: string[];
  /** Names of the spans in each body, and whether the body was compressed. */
  let bodies: { names: string[]; isZipped: boolean }[];
  let replies: Reply[];

  const server = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const bytes = Buffer.concat(await request.toArray());
    const isZipped = request.headers['content-encoding'] === 'gzip';
    const { resourceSpans } = JSON.parse(String(isZipped ? gunzipSync(bytes) : bytes));
    const scopes = resourceSpans.flatMap(({ scopeSpans }: any) => scopeSpans);
    bodies.push({ isZipped, names: scopes.flatMap(({ spans }: any) => spans.map(({ name }: any) => name)) });
    const reply = replies.length > 1 ? replies.shift()! : replies[0]!;
    if (reply === 'reset') return void request.socket.destroy();
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(JSON.stringify(reply.body ?? {}));
  };
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  beforeEach(() => {
    [warnings, bodies, replies] = [[], [], [{ status: 200 }]];
  });
  afterEach(async () => {
    replies = [{ status: 200 }];
    await tracing?.shutdown();
  });

  const start = (options: TracingOptions = {}): Tracing => {
    const { port } = server.address() as AddressInfo;
    const client = new Client({ url: `http://127.0.0.1:${port}`, apiKey: 'key', workspaceId: 'wsp_1' });
    tracing = startTracing({ client, warn: (message) => warnings.push(message), ...options });
    return tracing;
  };
  const record = (...names: string[]): void => {
    for (const name of names) observe(name, () => 1)();
  };

  it.each<[string, Reply[]]>([
    ['a connection that breaks', ['reset', { status: 200 }]],
    ['503', [{ status: 503 }, { status: 200 }]],
    ['429 with Retry-After', [{ status: 429, headers: { 'retry-after': '1' } }, { status: 200 }]],
  ])('sends spans again after %s', async (_, scripted) => {
    replies = scripted;
    const { forceFlush, stats } = start();
    record('a', 'b');
    await forceFlush();
    expect(bodies.map(({ names }) => names)).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    expect(stats()).toEqual({ sent: 2, dropped: 0, queued: 0 });
    expect(warnings).toEqual([
      expect.stringMatching(/^agent-registry: The service cannot take spans .* 2 wait/),
    ]);
  });

  it.each<[string, Reply, { sent: number; dropped: number }]>([
    [
      'refuses the key',
      { status: 403, body: { code: 'forbidden', detail: 'Needs the role runtime.' } },
      { sent: 0, dropped: 3 },
    ],
    [
      'stores only a part',
      {
        status: 200,
        body: { partialSuccess: { rejectedSpans: '2', errorMessage: 'Needs the role runtime.' } },
      },
      { sent: 1, dropped: 2 },
    ],
  ])('counts what is lost when the service %s, and says why once', async (_, reply, counts) => {
    replies = [reply];
    const { forceFlush, stats } = start();
    record('a', 'b', 'c');
    await expect(forceFlush()).rejects.toThrow(`${counts.dropped} spans were dropped.`);
    record('d');
    await expect(forceFlush()).rejects.toThrow();
    expect(stats()).toMatchObject({ queued: 0 });
    expect(bodies).toHaveLength(2);
    expect(warnings).toEqual([
      expect.stringMatching(new RegExp(`${counts.dropped} spans were dropped: .*Needs the role runtime`)),
    ]);
  });

  it('sends smaller bodies if one is too large, and loses only the span that is', async () => {
    replies = [{ status: 413 }, { status: 200 }, { status: 413 }, { status: 200 }, { status: 413 }];
    const { forceFlush, stats } = start();
    record('a', 'b', 'c', 'd');
    await expect(forceFlush()).rejects.toThrow('1 span was dropped.');
    expect(bodies.map(({ names }) => names.join(''))).toEqual(['abcd', 'ab', 'cd', 'c', 'd']);
    expect(stats()).toEqual({ sent: 3, dropped: 1, queued: 0 });
  });

  it('compresses a body when that pays', async () => {
    const { forceFlush } = start();
    record('a');
    await forceFlush();
    record('a', 'b', 'c', 'd');
    await forceFlush();
    expect(bodies).toEqual([
      { names: ['a'], isZipped: false },
      { names: ['a', 'b', 'c', 'd'], isZipped: true },
    ]);
  });

  it('keeps a bounded number of spans while the service is away, counts the others, and sends later', async () => {
    const organization = await newOrganization(app);
    const apiKey = await organization.token('runtime');
    let isAway = true;
    const away = (...args: Parameters<typeof fetch>): Promise<Response> =>
      isAway ? Promise.reject(new TypeError('fetch failed')) : fetch(...args);
    const client = new Client({ url: app.url, apiKey, workspaceId: organization.workspaceId, fetch: away });
    const { forceFlush, stats } = start({ client, maxQueueCharacters: 10_000, delayMs: 1 });
    record(...Array.from({ length: 100 }, (_, n) => `span ${n}`));
    const { dropped, queued } = stats();
    expect(dropped + queued).toBe(100);
    expect(dropped).toBeGreaterThan(50);
    expect(queued).toBeGreaterThan(5);
    await until(() => warnings.length > 0);
    isAway = false;
    await forceFlush();
    expect(stats()).toEqual({ sent: queued, dropped, queued: 0 });
    const { body } = await (await organization.as('viewer')).get('/telemetry/v1/traces?limit=100');
    expect(body.items).toHaveLength(queued);
    expect(warnings).toHaveLength(1);
  });

  it('drops what waits when it ends while the service is away', async () => {
    replies = [{ status: 400 }];
    const { shutdown, stats } = start();
    record('a', 'b');
    await shutdown();
    expect(stats()).toEqual({ sent: 0, dropped: 2, queued: 0 });
    record('c');
    expect(stats()).toEqual({ sent: 0, dropped: 2, queued: 0 });
  });
});

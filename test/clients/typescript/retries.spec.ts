import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, type ClientOptions, ConnectionError, ServiceError, TimeoutError } from '#client';
import { type Fault, FaultServer } from '../fault-server';

/** Calls of each kind, by whether a repeat is safe. */
const CALLS = {
  'a GET': (client: Client) => client.api.getDataset({ dataset_id: 'ds_1' }),
  'a list': (client: Client) => client.api.listDatasets(),
  'a POST that reads': (client: Client) => client.api.searchDatasets({ body: {} }),
  'a POST with a key': (client: Client) => client.api.createDataset({ body: { name: 'a' } }),
  'a PATCH with a key': (client: Client) => client.api.updateDataset({ dataset_id: 'ds_1', body: {} }),
  'a POST without a key': (client: Client) =>
    client.api.createApiKey({ service_account_id: 'sva_1', body: { name: 'a' } }),
  'a PUT': (client: Client) =>
    client.api.setSkillLabel({ skill_id: 's', label: 'l', body: { version_ordinal: 1 } }),
  'a DELETE': (client: Client) => client.api.deleteDataset({ dataset_id: 'ds_1' }),
};
type Call = keyof typeof CALLS;
const SAFE: Call[] = ['a GET', 'a list', 'a POST that reads', 'a POST with a key', 'a PATCH with a key'];
const UNSAFE: Call[] = ['a POST without a key', 'a PUT', 'a DELETE'];

const status = (number: number, headers: Record<string, string> = {}): Fault => ({
  action: 'status',
  status: number,
  headers,
});

describe('a call of the client', () => {
  let server: FaultServer;

  beforeAll(async () => {
    server = await FaultServer.start();
  });
  afterAll(() => server.close());
  beforeEach(() => jest.spyOn(Math, 'random').mockReturnValue(0)); // does not wait between attempts
  afterEach(() => jest.restoreAllMocks());

  const client = (options: ClientOptions = {}): Client =>
    new Client({ url: server.url, apiKey: 'key', workspaceId: 'wsp_1', ...options });
  const attempt = (call: Call, script: Fault[], options: ClientOptions = {}): Promise<unknown> => {
    server.play(script);
    return CALLS[call](client(options)).then(
      () => 'succeeded',
      (error: unknown) => error,
    );
  };

  const TRANSIENT: [string, Fault, ClientOptions][] = [
    ['408', status(408), {}],
    ['500', status(500), {}],
    ['503 with Retry-After', status(503, { 'retry-after': '0' }), {}],
    ['a broken connection', { action: 'reset' }, {}],
    ['a lost answer', { action: 'lose' }, {}],
    ['an answer that ends early', { action: 'cut' }, {}],
    ['a slow answer', { action: 'slow', delayMs: 400 }, { timeoutMs: 200 }],
  ];

  it.each(TRANSIENT)('is repeated after %s if that is safe', async (_, fault, options) => {
    for (const call of SAFE) {
      expect([call, await attempt(call, [fault], options)]).toEqual([call, 'succeeded']);
      expect([call, server.seen.length]).toEqual([call, 2]);
    }
    for (const call of UNSAFE) {
      expect(await attempt(call, [fault], options)).toBeInstanceOf(Error);
      expect([call, server.seen.length]).toEqual([call, 1]);
    }
  });

  it('is repeated after 429, whatever it does, because nothing was done', async () => {
    for (const call of [...SAFE, ...UNSAFE]) {
      expect(await attempt(call, [status(429, { 'retry-after': '0' })])).toBe('succeeded');
      expect(server.seen.length).toBe(2);
    }
  });

  it.each([304, 400, 401, 403, 404, 409, 412, 413, 422])('is not repeated after %s', async (code) => {
    expect(await attempt('a GET', [status(code)])).toMatchObject({ name: 'ServiceError', status: code });
    expect(server.seen.length).toBe(1);
  });

  it('is repeated after 409 only with Retry-After: the first one is still being processed', async () => {
    const busy = status(409, { 'retry-after': '0' });
    expect(await attempt('a POST with a key', [busy])).toBe('succeeded');
    expect(await attempt('a POST with a key', [status(409)])).toMatchObject({
      status: 409,
      retryAfter: null,
    });
  });

  it('has one idempotency key for all its attempts, and another than the next call', async () => {
    await attempt('a POST with a key', [{ action: 'lose' }, status(503), { action: 'reset' }]);
    const keys = server.seen.map(({ headers }) => headers['idempotency-key']);
    expect([keys.length, new Set(keys).size]).toEqual([4, 1]);
    await CALLS['a POST with a key'](client());
    expect(server.seen[4]!.headers['idempotency-key']).not.toBe(keys[0]);
    await client().api.createDataset({ body: { name: 'a' } }, { idempotencyKey: 'mine' });
    expect(server.seen[5]!.headers['idempotency-key']).toBe('mine');
    await attempt('a POST without a key', []);
    expect(server.seen[0]!.headers).not.toHaveProperty('idempotency-key');
  });

  it('gives up after four retries, or as many as it is allowed', async () => {
    const away: Fault[] = [{ action: 'status', status: 503, times: 100 }];
    expect(await attempt('a GET', away)).toMatchObject({ status: 503 });
    expect(server.seen.length).toBe(5);
    expect(await attempt('a GET', away, { maxRetries: 0 })).toMatchObject({ status: 503 });
    expect(server.seen.length).toBe(1);
    server.play(away);
    await expect(client().api.getMe({}, { maxRetries: 2 })).rejects.toMatchObject({ status: 503 });
    expect(server.seen.length).toBe(3);
  });

  it('lasts as long as retryForMs instead, if that is set', async () => {
    const away: Fault = { action: 'status', status: 503, times: 30 };
    expect(await attempt('a GET', [away], { retryForMs: 60_000 })).toBe('succeeded');
    const later = status(503, { 'retry-after': '61' });
    expect(await attempt('a GET', [later], { retryForMs: 60_000 })).toMatchObject({ retryAfter: 61 });
    expect(server.seen.length).toBe(1);
  });

  it('does not repeat a body that is a stream', async () => {
    server.play([status(503)]);
    const body = new Blob(['bytes']).stream();
    await expect(client().api.createFile({ body })).rejects.toMatchObject({ status: 503 });
    expect(server.seen).toEqual([expect.objectContaining({ body: 'bytes' })]);
  });

  it('rejects with a TimeoutError, or a ConnectionError that says why', async () => {
    const slow = await attempt('a PUT', [{ action: 'slow', delayMs: 400 }], { timeoutMs: 100 });
    expect(slow).toBeInstanceOf(TimeoutError);
    expect(slow).toMatchObject({ message: `${server.url} did not answer within 100 ms` });
    const closed = http.createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    const refused = await attempt('a PUT', [], { url: `http://127.0.0.1:${port}` });
    expect(refused).toBeInstanceOf(ConnectionError);
    expect(refused).not.toBeInstanceOf(TimeoutError);
    expect((refused as Error).message).toContain(`connect ECONNREFUSED 127.0.0.1:${port}`);
  });

  it('rejects with the reason of an aborted signal: before, during and between attempts', async () => {
    const reason = new Error('enough');
    const aborted = client().api.getMe({}, { signal: AbortSignal.abort(reason) });
    await expect(aborted).rejects.toBe(reason);

    server.play([{ action: 'slow', delayMs: 300 }]);
    const during = new AbortController();
    const call = client().api.getMe({}, { signal: during.signal });
    while (server.seen.length === 0) await new Promise(setImmediate);
    during.abort(reason);
    await expect(call).rejects.toBe(reason);

    server.play([status(503, { 'retry-after': '100' })]);
    const between = new AbortController();
    const waiting = client().api.getMe({}, { signal: between.signal });
    while (server.seen.length === 0) await new Promise(setImmediate);
    setTimeout(() => between.abort(reason), 50);
    await expect(waiting).rejects.toBe(reason);
    expect(server.seen.length).toBe(1);
  });

  it('ends a stream whose signal aborts while it is read, and a wait for a token', async () => {
    const reason = new Error('enough');
    const reading = new AbortController();
    let sent: AbortSignal | null | undefined;
    const streaming = client({
      fetch: (_, init) => {
        sent = init?.signal;
        return Promise.resolve(
          new Response('data: 1\n\n', { headers: { 'content-type': 'text/event-stream' } }),
        );
      },
    });
    const body = { model: 'm', messages: [], stream: true };
    await streaming.api.createChatCompletion({ body }, { signal: reading.signal }).asResponse();
    reading.abort(reason);
    expect(sent?.reason).toBe(reason);

    const waiting = new AbortController();
    const call = client({ apiKey: () => new Promise(() => undefined) }).api.getMe({}, waiting);
    waiting.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it.each(['..', 'a/../b', './a', 'a/..'])('never leaves its path: %s', async (path) => {
    server.play([]);
    await expect(client().api.forwardDelete({ api_id: 'api_1', path })).rejects.toThrow(TypeError);
    expect(server.seen).toEqual([]);
  });

  it('asks a function for another token once after a 401, for all calls together', async () => {
    let count = 0;
    const apiKey = jest.fn(() => Promise.resolve(`token-${++count}`));
    server.play([status(401), status(401), status(401)]);
    const three = client({ apiKey });
    await Promise.all([1, 2, 3].map(() => three.api.createDataset({ body: { name: 'a' } })));
    expect(apiKey).toHaveBeenCalledTimes(2);
    const sent = server.seen.map(({ headers }) => headers.authorization);
    expect(sent.sort()).toEqual([...Array(3).fill('Bearer token-1'), ...Array(3).fill('Bearer token-2')]);

    server.play([status(401), status(401)]);
    await expect(three.api.getMe()).rejects.toMatchObject({ status: 401 });
    expect(server.seen.length).toBe(2);
    apiKey.mockRejectedValueOnce(new Error('no token'));
    server.play([status(401)]);
    await expect(three.api.getMe()).rejects.toThrow('no token');
    await expect(three.api.getMe()).resolves.toEqual({});
  });
});

describe('ServiceError', () => {
  let server: FaultServer;

  beforeAll(async () => {
    server = await FaultServer.start();
  });
  afterAll(() => server.close());

  const errorOf = async (fault: Omit<Fault, 'action'>): Promise<unknown> => {
    server.play([{ action: 'status', ...fault }]);
    const client = new Client({ url: server.url, apiKey: 'key', maxRetries: 0 });
    return client.api.getMe().catch((error: unknown) => error);
  };

  it('has what the problem and the headers say', async () => {
    const errors = [{ pointer: '/name', detail: 'is required' }];
    const error = await errorOf({
      status: 429,
      headers: { 'retry-after': '7', 'x-request-id': 'req-1' },
      body: { title: 'T', status: 429, code: 'rate_limited', detail: 'Slow down.', trace_id: 't', errors },
    });
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({
      message: '429 rate_limited: Slow down.',
      status: 429,
      code: 'rate_limited',
      detail: 'Slow down.',
      title: 'T',
      errors,
      requestId: 'req-1',
      retryAfter: 7,
      traceId: 't',
    });
  });

  it.each([
    ["a model provider's error", { error: { message: 'No.', code: null, type: 'bad' } }, 'bad', 'No.'],
    ['an OAuth error', { error: 'invalid_client', error_description: 'Who?' }, 'invalid_client', 'Who?'],
    ['a text of a proxy', 'Bad gateway', 'http_502', '"Bad gateway"'],
  ])('understands %s', async (_, body, code, detail) => {
    expect(await errorOf({ status: 502, body })).toMatchObject({ status: 502, code, detail, errors: [] });
  });

  it('reads a Retry-After that is a date', async () => {
    const headers = { 'retry-after': new Date(Date.now() + 60_000).toUTCString() };
    const { retryAfter } = (await errorOf({ status: 400, headers })) as ServiceError;
    expect(retryAfter).toBeGreaterThan(50);
    expect(retryAfter).toBeLessThanOrEqual(60);
  });
});

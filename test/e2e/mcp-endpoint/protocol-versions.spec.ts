import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { type Answer, sharedApp, newOrganization, type TestOrganization } from '#testing';
import { connect } from './clients.fixture';

const EARLIER = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const CURRENT = '2026-07-28';
const ACCEPT = 'application/json, text/event-stream';
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const OPEN = { name: 'mcp__initialise', arguments: {} };

const initialize = (protocolVersion: string): object => ({
  jsonrpc: '2.0',
  id: 'first',
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'by hand', version: '1.0.0' } },
});

const current = (method: string, params: object = {}, version = CURRENT): object => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: {
    ...params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'by hand', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
});

/** Sends requests like the clients of every revision. */
describe('a client of the MCP endpoint', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let token: string;

  beforeAll(async () => {
    org = await newOrganization(app);
    token = await org.token('viewer');
  });

  const send = (body: unknown, headers: Record<string, string> = {}, method = 'POST'): Promise<Answer> =>
    app.api(token).request(method, '/mcp', { body, headers: { accept: ACCEPT, ...headers } });

  describe.each(EARLIER)('with revision %s', (revision) => {
    const headers: Record<string, string> =
      revision < '2025-06-18' ? {} : { 'mcp-protocol-version': revision };

    it('starts with the handshake, and calls a tool', async () => {
      const opened = await send(initialize(revision));
      expect([opened.status, opened.headers.get('mcp-session-id')]).toEqual([200, null]);
      expect(opened.body).toMatchObject({
        jsonrpc: '2.0',
        id: 'first',
        result: {
          protocolVersion: revision,
          capabilities: { tools: {} },
          serverInfo: { name: expect.any(String) },
        },
      });
      const noted = await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
      expect([noted.status, noted.body]).toEqual([202, undefined]);
      expect((await send({ jsonrpc: '2.0', id: 2, method: 'ping' }, headers)).body).toEqual({
        jsonrpc: '2.0',
        id: 2,
        result: {},
      });
      const listed = await send(LIST, headers);
      expect(listed.body.result.tools[0].name).toBe('mcp__initialise');
      const called = await send({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: OPEN }, headers);
      const [{ text }] = called.body.result.content;
      expect(JSON.parse(text)).toMatchObject({
        workspace_id: org.workspaceId,
        session_handle: expect.any(String),
      });
      expect(called.body.result.structuredContent).toEqual(JSON.parse(text));
    });

    it('gets an error for an unknown method', async () => {
      const { body } = await send({ jsonrpc: '2.0', id: 1, method: 'tools/guess' }, headers);
      expect(body).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'Method not found' } });
    });
  });

  describe('with revision 2025-03-26, which has batches,', () => {
    const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
    const noted = { jsonrpc: '2.0', method: 'notifications/initialized' };

    it('gets the responses of a batch together', async () => {
      const { status, body } = await send([ping(1), noted, { ...LIST, id: 2 }]);
      expect(status).toBe(200);
      expect(body.map(({ id }: any) => id).sort()).toEqual([1, 2]);
      expect(body.find(({ id }: any) => id === 2).result.tools[0].name).toBe('mcp__initialise');
    });

    it('gets no body for a batch of notifications', async () => {
      const { status, body } = await send([noted, noted]);
      expect([status, body]).toEqual([202, undefined]);
    });

    it.each([
      ['an empty batch', []],
      ['a batch of 101 messages', Array.from({ length: 101 }, (_, n) => ping(n))],
      ['a batch with an invalid message', [ping(1), 7]],
      ['a handshake within a batch', [initialize('2025-03-26'), ping(1)]],
    ])('cannot send %s', async (_, batch) => {
      const { status, body } = await send(batch);
      expect([status, body.id, body.error.code]).toEqual([400, null, -32600]);
      expect(body.error.message).not.toBe('');
    });
  });

  describe('with revision 2026-07-28', () => {
    const headersFor = (method: string, name?: string): Record<string, string> => ({
      'mcp-protocol-version': CURRENT,
      'mcp-method': method,
      ...(name && { 'mcp-name': name }),
    });

    it('discovers the server and calls a tool without a handshake', async () => {
      const discovery = await send(current('server/discover'), headersFor('server/discover'));
      expect([discovery.status, discovery.body.result.supportedVersions]).toEqual([200, [CURRENT]]);
      const listed = await send(current('tools/list'), headersFor('tools/list'));
      expect(listed.body.result).toMatchObject({ resultType: 'complete', cacheScope: 'private' });
      const called = await send(current('tools/call', OPEN), headersFor('tools/call', OPEN.name));
      expect(called.body.result.structuredContent).toMatchObject({ workspace_id: org.workspaceId });
    });

    it.each([
      ['that does not describe itself', LIST, {}, -32602, /_meta/],
      [
        'whose header names another method',
        current('tools/list'),
        { 'mcp-method': 'ping' },
        -32020,
        /method/i,
      ],
      [
        'whose header names another tool',
        current('tools/call', OPEN),
        { 'mcp-name': 'other' },
        -32020,
        /name/i,
      ],
      ['of a removed method', current('ping'), {}, -32601, /not found/i],
    ] as const)('cannot send a request %s', async (_, message, headers, code, hint) => {
      const { method, params } = message as unknown as { method: string; params?: { name?: string } };
      const { status, body } = await send(message, { ...headersFor(method, params?.name), ...headers });
      expect([status, body.error.code]).toEqual([code === -32601 ? 404 : 400, code]);
      expect(body.error.message).toMatch(hint);
    });
  });

  it.each(['1999-01-01', CURRENT, 'latest'])(
    'gets 2025-11-25 if its handshake requests %s',
    async (revision) => {
      const { status, body } = await send(initialize(revision));
      expect([status, body.result.protocolVersion]).toEqual([200, '2025-11-25']);
    },
  );

  it('gets the supported revisions if its header names an unknown one', async () => {
    const earlier = await send(LIST, { 'mcp-protocol-version': '1999-01-01' });
    expect([earlier.status, earlier.body.error.code]).toEqual([400, -32000]);
    expect(earlier.body.error.message).toContain('2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05');
    const later = await send(current('tools/list', {}, '2099-01-01'), {
      'mcp-protocol-version': '2099-01-01',
      'mcp-method': 'tools/list',
    });
    expect([later.status, later.body.error]).toMatchObject([
      400,
      { code: -32022, data: { supported: [CURRENT], requested: '2099-01-01' } },
    ]);
  });

  it('can omit the header of its revision, and send the session id of another server', async () => {
    const { status, body } = await send(LIST, { 'mcp-session-id': 'of another server' });
    expect([status, body.result.tools[0].name]).toEqual([200, 'mcp__initialise']);
  });

  it.each([
    ['accepts only HTML', { accept: 'text/html' }, LIST, 406, 'application/json'],
    ['accepts only event streams', { accept: 'text/event-stream' }, LIST, 406, 'application/json'],
    ['excludes JSON', { accept: 'application/json;q=0, text/html' }, LIST, 406, 'application/json'],
    ['sends JSON as text', { 'content-type': 'text/plain' }, LIST, 415, 'application/json'],
    ['sends a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=b', 415, 'application/json'],
    ['sends broken JSON', {}, '{"jsonrpc": "2.0", "id": 1,', 400, 'line 1'],
    ['sends nothing', {}, '', 400, 'empty'],
    ['sends JSON that is not a message', {}, { hello: 'world' }, 400, 'JSON-RPC'],
    ['sends a message of JSON-RPC 1.0', {}, { id: 1, method: 'tools/list', params: [] }, 400, 'JSON-RPC'],
    ['sends an unknown encoding', { 'content-encoding': 'br' }, LIST, 415, 'gzip'],
  ])('gets a hint if it %s', async (_, headers, body, status, hint) => {
    const answer = await send(typeof body === 'string' ? body : JSON.stringify(body), {
      'content-type': 'application/json',
      ...headers,
    });
    expect(answer.status).toBe(status);
    expect(answer.body.detail ?? answer.body.error.message).toContain(hint);
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;q=0.9',
    'text/plain, application/json',
    'application/*',
    '*/*',
    '*/*;q=0.1',
    '',
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
    'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
    'text/event-stream, application/json',
  ])('gets JSON with `Accept: %s`, in every revision', async (accept) => {
    for (const revision of EARLIER) {
      const { status, headers, body } = await send(initialize(revision), { accept });
      expect([status, headers.get('content-type'), body.result.protocolVersion]).toEqual([
        200,
        'application/json',
        revision,
      ]);
    }
    const listed = await send(LIST, { accept });
    expect([listed.status, listed.body.result.tools[0].name]).toEqual([200, 'mcp__initialise']);
    const headers = { accept, 'mcp-protocol-version': CURRENT, 'mcp-method': 'tools/list' };
    expect((await send(current('tools/list'), headers)).status).toBe(200);
  });

  it('gets JSON without an `Accept`', async () => {
    const { hostname, port } = new URL(app.url);
    const body = JSON.stringify(LIST);
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    const sent = request({ hostname, port, path: '/mcp', method: 'POST', headers });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect([response.statusCode, await json(response)]).toMatchObject([
      200,
      { result: { tools: expect.any(Array) } },
    ]);
  });

  it.each(['GET', 'DELETE', 'PUT', 'PATCH'])('gets 405 that allows POST if it sends %s', async (method) => {
    const { status, headers, body } = await send(undefined, {}, method);
    expect([status, headers.get('allow'), body.code]).toEqual([405, 'POST', 'method_not_allowed']);
  });

  it('gets 401 with the URL of the metadata if it sends no token', async () => {
    const { status, headers, body } = await app.api().post('/mcp', LIST, { accept: ACCEPT });
    expect([status, body.code]).toEqual([401, 'token_missing']);
    expect(headers.get('www-authenticate')).toMatch(/^Bearer .*resource_metadata="http/);
  });

  it('can use version 1 of the SDK', async () => {
    const client = await connect(app.url, token, 'v1', { 'x-service-workspace-id': org.workspaceId });
    try {
      expect(client.getInstructions()).toContain('mcp__initialise');
      const { tools } = await client.listTools();
      expect(tools.map(({ name }: any) => name)).toContain('search_registry');
      const search = await client.callTool({ name: 'search_registry', arguments: { query: 'refunds' } });
      expect(search.structuredContent).toEqual({ items: [], next_offset: null });
    } finally {
      await client.close();
    }
  });
});

import { sharedApp, until } from '#testing';
import { ServerRefresher } from '../../../src/mcp-servers/servers/checks/server-refresher';
import { FakeMcpServer, type FakeKind, fakeTool, fakeTools } from './fake-mcp-server.fixture';
import { namesIn, SERVERS, ServersFixture } from './servers.fixture';

const withSchema = (schema: object) => fakeTool('x', { inputSchema: { type: 'object', ...schema } });

describe('the tools of a server', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let on: ServersFixture;
  let remote: FakeMcpServer;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });
  afterEach(() => remote.close());

  /** Registers the remote server. @returns its path */
  const registered = async (body: object = {}): Promise<string> => {
    const transport = remote.kind === 'sse' ? 'sse' : 'streamable_http';
    const answer = await on.register({ url: remote.url, transport, ...body });
    return `${SERVERS}/${answer.body.server_id}`;
  };
  const refresh = async (path: string): Promise<any> => {
    const { status, body } = await on.editor.post(`${path}/refresh`);
    return status === 200 ? body : { status, ...body };
  };
  const toolsOf = async (path: string, more = ''): Promise<any[]> =>
    (await on.editor.get(`${path}/tools?limit=500${more}`)).body.items;

  it.each<[string, FakeKind, string]>([
    ['2026-07-28', 'current', '2026-07-28'],
    ['2025 with sessions', 'sessions', '2025-11-25'],
    ['2025 over SSE', 'sse', '2025-11-25'],
  ])('are read from a server of %s', async (_, kind, version) => {
    remote = await FakeMcpServer.start(kind);
    remote.offer([fakeTool('a'), fakeTool('b', { title: 'B', description: 'Does b.' })]);
    const path = await registered();
    const { status, body } = await on.editor.post(`${path}/test`);
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        protocol_version: version,
        server_info: { name: 'fake', version: '1.2.3', title: null },
        latency_ms: expect.any(Number),
        tools: { added: ['a', 'b'], updated: [], archived: [], unchanged_count: 0 },
      },
    ]);
    expect(namesIn(await on.editor.get(`${path}/tools`))).toEqual(['a', 'b']);
  });

  it.each<FakeKind>(['current', 'sessions'])(
    'are archived if the server drops the `tools` capability: %s',
    async (kind) => {
      remote = await FakeMcpServer.start(kind);
      remote.offer([fakeTool('a')]);
      const path = await registered();
      expect((await refresh(path)).added).toEqual(['a']);
      remote.hasTools = false;
      expect(await refresh(path)).toEqual({ added: [], updated: [], archived: ['a'], unchanged_count: 0 });
    },
  );

  it('are read from all pages, even after an empty cursor', async () => {
    remote = await FakeMcpServer.start();
    const pages: Record<string, any> = {
      first: { tools: [fakeTool('a')], nextCursor: '' },
      '': { tools: [], nextCursor: 'last' },
      last: { tools: [fakeTool('b')] },
    };
    remote.offerPages((cursor) => pages[cursor ?? 'first']);
    const path = await registered();
    expect(await refresh(path)).toEqual({ added: ['a', 'b'], updated: [], archived: [], unchanged_count: 0 });
  });

  it('do not change if the list repeats a cursor', async () => {
    remote = await FakeMcpServer.start();
    remote.offer([fakeTool('a')]);
    const path = await registered();
    await refresh(path);
    remote.offerPages((cursor) => ({
      tools: [fakeTool(`of ${cursor}`)],
      nextCursor: cursor === 'x' ? 'y' : 'x',
    }));
    expect((await on.editor.post(`${path}/test`)).body).toEqual({
      ok: false,
      error: {
        kind: 'protocol',
        message: 'The tool list of the server cannot be used: it repeats a cursor, so it would never end.',
      },
    });
    expect(remote.count('tools/list')).toBeLessThan(10);
    expect(namesIn(await on.editor.get(`${path}/tools`))).toEqual(['a']);
  });

  it('are rejected if there are more than 10,000', async () => {
    remote = await FakeMcpServer.start();
    remote.offer(fakeTools(10_001), 5_000);
    expect(await refresh(await registered())).toMatchObject({
      status: 503,
      code: 'service_unavailable',
      detail: 'The tool list of the server cannot be used: it has more than 10000 tools.',
    });
  });

  it('are added, updated, archived and counted, and keep their ids when they reappear', async () => {
    remote = await FakeMcpServer.start();
    remote.offer([fakeTool('a'), fakeTool('b'), fakeTool('c')]);
    const path = await registered();
    await refresh(path);
    const [before] = [await toolsOf(path)];
    remote.offer([fakeTool('a'), fakeTool('b', { description: 'New.' }), fakeTool('d')]);
    expect(await refresh(path)).toEqual({
      added: ['d'],
      updated: ['b'],
      archived: ['c'],
      unchanged_count: 1,
    });
    expect(namesIn(await on.editor.get(`${path}/tools`))).toEqual(['a', 'b', 'd']);
    remote.offer([fakeTool('c'), fakeTool('b', { description: 'New.' }), fakeTool('a')]);
    expect(await refresh(path)).toEqual({ added: ['c'], updated: [], archived: ['d'], unchanged_count: 2 });
    const after = await toolsOf(path);
    expect(after.map(({ tool_id }) => tool_id)).toEqual(before.map(({ tool_id }) => tool_id));
  });

  it('are not written if only the order of members and tools differs', async () => {
    remote = await FakeMcpServer.start();
    const schema = { type: 'object', properties: { x: { type: 'string', minLength: 1 } } };
    remote.offer([
      fakeTool('a', { inputSchema: schema }),
      fakeTool('b', { annotations: { readOnlyHint: true } }),
    ]);
    const path = await registered();
    await refresh(path);
    const before = await toolsOf(path);
    const server = (await on.editor.get(path)).body;
    const reordered = { properties: { x: { minLength: 1, type: 'string' } }, type: 'object' };
    remote.offer([
      fakeTool('b', { _meta: { hits: 7 }, annotations: { readOnlyHint: true } }),
      fakeTool('a', { inputSchema: reordered }),
    ]);
    expect(await refresh(path)).toEqual({ added: [], updated: [], archived: [], unchanged_count: 2 });
    expect(await toolsOf(path)).toEqual(before);
    const { generation, updated_at, sync_state } = (await on.editor.get(path)).body;
    expect([generation, updated_at, sync_state]).toEqual([
      server.generation,
      server.updated_at,
      server.sync_state,
    ]);
    const audited = await on.admin.get(
      `/registry/v1/audit-log?resource_id=${server.server_id}&action=update`,
    );
    expect(audited.body.items.map(({ changes }: any) => changes)).toEqual([[{ member: 'tools' }]]);
  });

  it('can be refreshed between the read and the edit of a server without a conflict', async () => {
    remote = await FakeMcpServer.start();
    const path = await registered();
    const { headers } = await on.editor.get(path);
    remote.offer([fakeTool('a')]);
    await refresh(path);
    const ifMatch = { 'If-Match': headers.get('etag')! };
    const { status } = await on.editor.patch(path, { description: 'New' }, ifMatch);
    expect(status).toBe(200);
  });

  it('are found by search after a refresh', async () => {
    remote = await FakeMcpServer.start();
    remote.offer([fakeTool('weather', { description: 'Zephyrquake forecasts.' })]);
    await refresh(await registered());
    const { body } = await on.editor.post('/registry/v1/search', { query: 'zephyrquake' });
    expect(body.items).toMatchObject([{ type: 'tool', name: 'weather' }]);
  });

  it.each<[string, unknown, string]>([
    ['has no schema', { name: 'x' }, 'inputSchema is required'],
    ['has null as its schema', { name: 'x', inputSchema: null }, 'inputSchema is required'],
    ['has a list as its schema', { name: 'x', inputSchema: [] }, 'inputSchema must be an object'],
    ['has a text as its schema', { name: 'x', inputSchema: '{}' }, 'inputSchema must be an object'],
    ['has a boolean as its schema', { name: 'x', inputSchema: true }, 'inputSchema must be an object'],
    ['has a schema of a list', withSchema({ type: 'array' }), 'inputSchema/type must be "object"'],
    ['has a schema of types', withSchema({ type: ['object'] }), 'inputSchema/type must be "object"'],
    [
      'has a list of properties',
      withSchema({ properties: [] }),
      'inputSchema/properties must be an object of schemas',
    ],
    [
      'has a text as a property',
      withSchema({ properties: { 'a/b': 'string' } }),
      'inputSchema/properties/a~1b must be a schema: an object or a boolean',
    ],
    [
      'has an unknown type',
      withSchema({ properties: { a: { items: { type: 'strng' } } } }),
      'inputSchema/properties/a/items/type must be one or several of null, boolean, object, array, number, integer, string',
    ],
    [
      'has a text of required',
      withSchema({ required: 'a' }),
      'inputSchema/required must be a list of strings',
    ],
    [
      'has a list as its output schema',
      { ...fakeTool('x'), outputSchema: [] },
      'outputSchema must be an object',
    ],
    ['has the name of another', fakeTool('good'), 'name repeats the name of an earlier tool'],
    ['contains a NUL character', fakeTool('x', { description: 'x\0y' }), 'NUL character'],
    ['contains half a surrogate pair', withSchema({ x: '\ud800' }), 'surrogate'],
    ['is nested too deeply', fakeTool('x', { inputSchema: nested(70) }), 'nested more than 64'],
  ])('are used without one that %s, which is named with the reason', async (_, tool, reason) => {
    remote = await FakeMcpServer.start('sessions');
    remote.offerPages(() => ({ tools: [fakeTool('good'), tool, fakeTool('last')] as never }));
    const { name } = tool as { name: string };
    const path = await registered();
    const { body } = await on.editor.post(`${path}/test`);
    expect(body).toMatchObject({ ok: true, tools: { added: ['good', 'last'] } });
    expect(body.tools.skipped).toEqual([{ name, reason: expect.stringContaining(reason) }]);
    expect(await refresh(path)).toMatchObject({ unchanged_count: 2, skipped: body.tools.skipped });
    expect((await toolsOf(path)).map((one) => one.name)).toEqual(['good', 'last']);
  });

  it('are archived if they can no longer be used, and return with their ids', async () => {
    remote = await FakeMcpServer.start('sessions');
    remote.offer([fakeTool('a'), fakeTool('b')]);
    const path = await registered();
    await refresh(path);
    const before = await toolsOf(path);
    remote.offer([fakeTool('a', { inputSchema: null }), fakeTool('b')]);
    expect(await refresh(path)).toEqual({
      added: [],
      updated: [],
      archived: ['a'],
      unchanged_count: 1,
      skipped: [{ name: 'a', reason: 'inputSchema is required' }],
    });
    remote.offer([fakeTool('a'), fakeTool('b')]);
    expect(await refresh(path)).toEqual({ added: ['a'], updated: [], archived: [], unchanged_count: 1 });
    expect((await toolsOf(path)).map((one) => one.tool_id)).toEqual(before.map((one) => one.tool_id));
  });

  it('may have schemas of every draft, with members that are null', async () => {
    remote = await FakeMcpServer.start('sessions');
    const schemas = [
      {},
      { type: 'object' },
      { type: null, properties: { a: { type: ['string', 'null'], default: null, enum: [null] } } },
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        properties: { a: { items: [{ type: 'string' }], additionalItems: false }, b: true },
        definitions: { c: { pattern: '(?<=a)b' } },
        dependencies: { a: ['b'], b: { required: ['a'] } },
        required: null,
      },
      {
        $schema: 'http://json-schema.org/draft-04/schema#',
        properties: { a: { type: 'number', minimum: 0, exclusiveMinimum: true, required: true } },
        'x-own': { properties: 7 },
      },
      { anyOf: [{ required: ['a'] }, { $ref: 'https://elsewhere.example/schema' }], $defs: { d: false } },
    ];
    remote.offer(schemas.map((inputSchema, index) => fakeTool(`t${index}`, { inputSchema })));
    expect(await refresh(await registered())).toEqual({
      added: schemas.map((_, index) => `t${index}`),
      updated: [],
      archived: [],
      unchanged_count: 0,
    });
  });

  it('are left out by their place if they have no valid name', async () => {
    remote = await FakeMcpServer.start('sessions');
    const names = ['', 7, null, undefined, 'n'.repeat(300), 'a\u0000', '\ud800'];
    remote.offer([...names.map((name) => fakeTool(name as never)), null, 'a', fakeTool('a')] as never);
    const path = await registered();
    const refreshed = await refresh(path);
    const skipped = [
      'name must have 1 to 255 characters',
      'name must be a string',
      'name must be a string',
      'name must be a string',
      'name must have 1 to 255 characters',
      'name must not contain control characters',
      'name must not contain half of a surrogate pair',
      'must be an object',
      'must be an object',
    ].map((reason, index) => ({ name: `#${index + 1}`, reason }));
    expect(refreshed).toMatchObject({ added: ['a'], skipped });
    const [check] = (await on.editor.get(`${path}/checks`)).body.items;
    expect(check.skipped).toEqual(skipped);
  });

  it('that are left out are named by checks, the first 20 of them', async () => {
    remote = await FakeMcpServer.start();
    const path = await registered();
    await refresh(path);
    remote.offer(Array.from({ length: 21 }, (_, index) => fakeTool(`t${index}`, { inputSchema: null })));
    await refresh(path);
    remote.offerPages(() => ({ tools: 7 }) as never);
    await on.editor.post(`${path}/test`);
    const { items } = (await on.editor.get(`${path}/checks`)).body;
    expect(items.map((one: any) => one.skipped?.length ?? null)).toEqual([null, 20, 0]);
  });

  it('are read once for concurrent refreshes', async () => {
    remote = await FakeMcpServer.start();
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    remote.offerPages(async () => {
      await released;
      return { tools: [fakeTool('a')] };
    });
    const path = await registered();
    const joined = jest.spyOn(app.get(ServerRefresher), 'refresh');
    const both = [refresh(path), on.editor.post(`${path}/test`)];
    await until(() => joined.mock.calls.length === 2);
    joined.mockRestore();
    release();
    const [refreshed, tested] = await Promise.all(both);
    expect([refreshed.added, tested.body.tools.added, remote.count('tools/list')]).toEqual([['a'], ['a'], 1]);
  });

  it('are not stored if the URL changes while they are read', async () => {
    remote = await FakeMcpServer.start();
    const path = await registered();
    remote.offerPages(async () => {
      await on.editor.patch(path, { url: `${remote.url}?other` });
      return { tools: [fakeTool('a')] };
    });
    expect(await refresh(path)).toMatchObject({ status: 409, code: 'conflict' });
    expect(await toolsOf(path)).toEqual([]);
    expect((await on.editor.get(path)).body).toMatchObject({
      tools_listed_at: null,
      health: { status: 'unknown' },
    });
  });

  it('can no longer be sent once the server has listed them', async () => {
    remote = await FakeMcpServer.start();
    remote.offer([fakeTool('a')]);
    const path = await registered({ tools: [{ name: 'guess', input_schema: {} }] });
    expect(await refresh(path)).toMatchObject({ added: ['a'], archived: ['guess'] });
    expect((await on.editor.patch(path, { tools: [] })).status).toBe(409);
    expect((await on.editor.get(path)).body.tools_listed_at).not.toBeNull();
  });

  it('can be refreshed only by editors, and only for live servers', async () => {
    remote = await FakeMcpServer.start();
    const path = await registered();
    const viewer = await on.org.member('viewer');
    for (const action of ['test', 'refresh']) {
      expect((await viewer.post(`${path}/${action}`)).status).toBe(403);
      expect((await on.editor.post(`${SERVERS}/mcps_none/${action}`)).status).toBe(404);
      expect((await on.editor.post(`${path}/${action}`, {})).status).toBe(200);
    }
    await on.admin.post(`${path}/archive`);
    for (const action of ['test', 'refresh'])
      expect((await on.editor.post(`${path}/${action}`)).status).toBe(409);
    const system = await on.register({ url: remote.url, is_system: true }, on.admin);
    expect((await on.editor.post(`${SERVERS}/${system.body.server_id}/refresh`)).status).toBe(403);
  });
});

/** Returns a schema with this many levels. */
function nested(levels: number): object {
  let schema: object = { type: 'object' };
  for (let i = 1; i < levels; i++) schema = { not: schema };
  return { ...schema, type: 'object' };
}

import { Ajv2020 } from 'ajv/dist/2020';
import { type Answer, ownApp } from '#testing';
import { SERVERS, ServersFixture } from './servers.fixture';

const REGISTRY = '/mcp/v1/registry/v0.1/servers';
const OFFICIAL = 'io.modelcontextprotocol.registry/official';
const PROVIDED = 'io.modelcontextprotocol.registry/publisher-provided';

/** The rules of the public registry's schema (2025-12-11) for a server. */
const SERVER_SCHEMA = {
  type: 'object',
  required: ['name', 'description', 'version', 'remotes'],
  properties: {
    name: { type: 'string', minLength: 3, maxLength: 200, pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$' },
    description: { type: 'string', minLength: 1, maxLength: 100 },
    title: { type: 'string', minLength: 1, maxLength: 100 },
    version: { type: 'string', maxLength: 255 },
    remotes: {
      type: 'array',
      items: {
        type: 'object',
        required: ['type', 'url'],
        properties: {
          type: { enum: ['streamable-http', 'sse'] },
          url: { type: 'string', pattern: '^https?://[^\\s]+$' },
          headers: { type: 'array', items: { type: 'object', required: ['name'] } },
        },
      },
    },
  },
};

describe('the listing in the format of the public MCP registry', () => {
  const app = ownApp({ env: { PUBLIC_URL: 'https://registry.example.com/base' } });
  let on: ServersFixture;

  beforeEach(async () => {
    on = await ServersFixture.create(app);
  });

  const listed = async (query = ''): Promise<any[]> =>
    (await on.editor.get(`${REGISTRY}${query}`)).body.servers;
  const titlesOf = (entries: any[]): string[] => entries.map(({ server }) => server.title);
  const nameOf = ({ body }: Answer): string => `com.example.registry/${body.server_id}`;
  const versionOf = (server: Answer, version: string, query = ''): Promise<Answer> =>
    on.editor.get(`${REGISTRY}/${encodeURIComponent(nameOf(server))}/versions/${version}${query}`);

  it('describes servers as the schema of the registry requires', async () => {
    const isValid = new Ajv2020({ strict: false }).compile(SERVER_SCHEMA);
    const plain = await on.register({ name: 'Tïckets & more', description: '  ' });
    await on.register({ name: 'x'.repeat(255), description: 'y'.repeat(1_000), transport: 'sse' });
    const entries = await listed();
    expect(entries.map(({ server }) => [isValid(server), isValid.errors])).toEqual([
      [true, null],
      [true, null],
    ]);
    expect(entries[1]).toEqual({
      server: {
        $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
        name: nameOf(plain),
        title: 'Tïckets & more',
        description: 'Tïckets & more',
        version: '1.0.1',
        remotes: [{ type: 'streamable-http', url: 'https://mcp.example.com/mcp' }],
        _meta: {
          [PROVIDED]: {
            server_id: plain.body.server_id,
            workspace_id: on.org.workspaceId,
            version_id: plain.body.version_id,
            imported_from: null,
          },
        },
      },
      _meta: {
        [OFFICIAL]: {
          status: 'active',
          statusChangedAt: plain.body.created_at,
          publishedAt: plain.body.created_at,
          updatedAt: plain.body.updated_at,
          isLatest: true,
        },
      },
    });
    expect((await on.editor.get(REGISTRY.replace('v0.1', 'v0'))).body.servers).toEqual(entries);
  });

  it('lists the headers that a server requires, and no secret', async () => {
    const url = 'https://mcp.example.com/mcp?api_key=k9-not-to-be-told';
    await on.register({ name: 'a', url, auth: { type: 'bearer', value: 'tok-not-to-be-told' } });
    await on.register({ name: 'b', auth: { type: 'header', header: 'X-Key', value: 'tok-not-to-be-told' } });
    const entries = await listed();
    const required = { isRequired: true, isSecret: true };
    expect(entries.map(({ server }) => server.remotes[0])).toEqual([
      {
        type: 'streamable-http',
        url: 'https://mcp.example.com/mcp',
        headers: [{ name: 'X-Key', ...required }],
      },
      {
        type: 'streamable-http',
        url: 'https://mcp.example.com/mcp?{query}',
        variables: { query: { description: 'A part of the query of the URL.', ...required } },
        headers: [
          { name: 'Authorization', value: 'Bearer {token}', variables: { token: required }, ...required },
        ],
      },
    ]);
    expect(JSON.stringify(entries)).not.toContain('not-to-be-told');
  });

  it('returns servers that can be imported', async () => {
    const url = 'https://mcp.example.com/mcp?api_key=k9';
    await on.register({ name: 'a', url, auth: { type: 'bearer', value: 'tok' } });
    const [{ server }] = await listed();
    const answer = await on.editor.post(`${SERVERS}/import`, {
      workspace_id: on.org.workspaceId,
      server,
      variables: { query: 'api_key=k9', token: 'tok' },
    });
    const shown = 'https://mcp.example.com/mcp?{query}';
    expect([answer.status, answer.body.url, answer.body.auth.type]).toEqual([201, shown, 'bearer']);
  });

  it('returns the origin of an imported server in the public registry', async () => {
    const server = {
      name: 'io.github.user/weather',
      description: 'Forecasts',
      version: '3.1.0',
      websiteUrl: 'https://weather.example.com',
      repository: { url: 'https://github.com/user/weather', source: 'github', id: '1' },
      remotes: [{ type: 'sse', url: 'https://weather.example.com/sse' }],
    };
    const { body } = await on.editor.post(`${SERVERS}/import`, { workspace_id: on.org.workspaceId, server });
    const [entry] = await listed();
    expect(entry.server).toMatchObject({
      title: 'weather',
      websiteUrl: 'https://weather.example.com',
      repository: { url: 'https://github.com/user/weather', source: 'github' },
      remotes: server.remotes,
      _meta: { [PROVIDED]: { imported_from: { name: 'io.github.user/weather', version: '3.1.0' } } },
    });
    for (const mcp_registry of [
      7,
      [],
      { name: 'x' },
      { name: 'a/b', version: '1', websiteUrl: 'javascript:1' },
    ]) {
      await on.editor.patch(`${SERVERS}/${body.server_id}`, { metadata: { mcp_registry: null } });
      await on.editor.patch(`${SERVERS}/${body.server_id}`, { metadata: { mcp_registry } });
      const [changed] = await listed();
      expect(changed.server.websiteUrl).toBeUndefined();
    }
  });

  it('is paged by cursor, newest first', async () => {
    for (const name of ['a', 'b', 'c']) await on.register({ name });
    const first = await on.editor.get(`${REGISTRY}?limit=2`);
    const { nextCursor, count } = first.body.metadata;
    const rest = await on.editor.get(`${REGISTRY}?limit=2&cursor=${encodeURIComponent(nextCursor)}`);
    expect([titlesOf(first.body.servers), count]).toEqual([['c', 'b'], 2]);
    expect([titlesOf(rest.body.servers), rest.body.metadata]).toEqual([['a'], { count: 1 }]);
  });

  it('can be searched by words, and narrowed to a workspace', async () => {
    const workspace_id = await on.org.newWorkspace();
    await on.register({ name: 'Tickets', description: 'Support desk' });
    await on.register({ name: 'Weather', workspace_id });
    expect(titlesOf(await listed('?search=tick'))).toEqual(['Tickets']);
    expect(titlesOf(await listed('?search=desk&version=latest'))).toEqual(['Tickets']);
    expect(titlesOf(await listed('?search=nothing'))).toEqual([]);
    const admin = await on.org.member('owner');
    const { body } = await admin.get(`${REGISTRY}?workspace_id=${workspace_id}`);
    expect(titlesOf(body.servers)).toEqual(['Weather']);
  });

  it('reports the servers that changed since a time, archived ones as deleted', async () => {
    const [old, changed, archived] = [
      await on.register({ name: 'old' }),
      await on.register({ name: 'changed' }),
      await on.register({ name: 'archived' }),
    ];
    const at = '2001-02-03T00:00:00.000Z';
    await app.database.query('UPDATE mcp_servers SET updated_at = $1 WHERE server_id = $2', [
      at,
      old.body.server_id,
    ]);
    await on.admin.post(`${SERVERS}/${archived.body.server_id}/archive`);
    await on.editor.patch(`${SERVERS}/${changed.body.server_id}`, { description: 'new' });
    const since = `?updated_since=${encodeURIComponent('2001-02-04T00:00:00Z')}`;
    const entries = await listed(since);
    expect(
      entries.map(({ server, _meta }) => [server.title, server.version, _meta[OFFICIAL].status]),
    ).toEqual([
      ['archived', '1.0.1', 'deleted'],
      ['changed', '1.0.2', 'active'],
    ]);
    // as the public registry requires, so that clients that follow changes learn of deletions
    expect(titlesOf(await listed(`${since}&include_deleted=false`))).toEqual(['archived', 'changed']);
    expect(titlesOf(await listed('?include_deleted=true'))).toEqual(['archived', 'changed', 'old']);
    expect(titlesOf(await listed())).toEqual(['changed', 'old']);
    expect(titlesOf(await listed(`?updated_since=${at}`))).toEqual(['old', 'archived', 'changed']);
  });

  it('finds a server by its name in the listing, by its id, and by its version', async () => {
    const server = await on.register({ name: 'found' });
    await on.register({ name: 'other' });
    for (const search of [nameOf(server), server.body.server_id as string]) {
      expect(titlesOf(await listed(`?search=${encodeURIComponent(search)}`))).toEqual(['found']);
    }
    await on.editor.patch(`${SERVERS}/${server.body.server_id}`, { description: 'new' });
    expect(titlesOf(await listed('?version=1.0.2'))).toEqual(['found']);
    expect(titlesOf(await listed('?version=2'))).toEqual([]);
    expect(titlesOf(await listed('?version=latest'))).toHaveLength(2);
  });

  it('lists every version of a server', async () => {
    const server = await on.register({ name: 'tickets' });
    await on.editor.patch(`${SERVERS}/${server.body.server_id}`, { url: 'https://mcp.example.com/v2' });
    const { body } = await on.editor.get(`${REGISTRY}/${encodeURIComponent(nameOf(server))}/versions`);
    expect(
      body.servers.map(({ server: one, _meta }: any) => [
        one.name,
        one.version,
        one.remotes[0].url,
        _meta[OFFICIAL].isLatest,
      ]),
    ).toEqual([
      [nameOf(server), '1.0.2', 'https://mcp.example.com/v2', true],
      [nameOf(server), '1.0.1', 'https://mcp.example.com/mcp', false],
    ]);
    expect((await versionOf(server, 'latest')).body).toEqual(body.servers[0]);
    expect((await versionOf(server, '1.0.2')).body).toEqual(body.servers[0]);
    expect((await versionOf(server, '1.0.1')).body).toEqual(body.servers[1]);
    expect((await listed())[0]).toEqual(body.servers[0]);
  });

  it('keeps the listed name of a renamed server', async () => {
    const server = await on.register({ name: 'tickets' });
    await on.editor.patch(`${SERVERS}/${server.body.server_id}`, { name: 'orders' });
    const { body } = await versionOf(server, 'latest');
    expect([body.server.name, body.server.title]).toEqual([nameOf(server), 'orders']);
  });

  it('returns 404 for unknown names and versions, and for archived servers', async () => {
    const server = await on.register();
    const paths = [
      ...['1.0.2', '1.0.0', '1.0.01', '1.0', '2.0.1', 'newest'].map(
        (version) => `${nameOf(server)} ${version}`,
      ),
      `org.example.registry/${server.body.server_id} latest`,
      `com.example.registry/${server.body.server_id}/x latest`,
      'com.example.registry/mcps_nope latest',
      'com.example.registry latest',
    ];
    for (const path of paths) {
      const [name, version] = path.split(' ');
      const answer = await on.editor.get(`${REGISTRY}/${encodeURIComponent(name!)}/versions/${version}`);
      expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'not_found']);
    }
    await on.admin.post(`${SERVERS}/${server.body.server_id}/archive`);
    expect((await versionOf(server, 'latest')).status).toBe(404);
    const deleted = await versionOf(server, 'latest', '?include_deleted=true');
    expect(deleted.body._meta[OFFICIAL].status).toBe('deleted');
  });

  it('rejects parameters that the format does not have', async () => {
    for (const [query, status] of [
      ['limit=0', 400],
      ['limit=101', 400],
      ['offset=1', 400],
      ['cursor=nope', 400],
      ['updated_since=yesterday', 400],
    ] as const) {
      expect([query, (await on.editor.get(`${REGISTRY}?${query}`)).status]).toEqual([query, status]);
    }
  });

  it('never shows the system server named registry', async () => {
    const hidden = await on.register({ name: 'registry', is_system: true }, on.admin);
    await on.register({ name: 'files', is_system: true }, on.admin);
    expect(titlesOf(await listed())).toEqual(['files']);
    expect(titlesOf(await listed('?search=registry&include_deleted=true'))).toEqual([]);
    expect((await versionOf(hidden, 'latest')).status).toBe(404);
    const versions = `${REGISTRY}/${encodeURIComponent(nameOf(hidden))}/versions`;
    expect((await on.editor.get(versions)).status).toBe(404);
  });

  it('shows viewers and deployed agents only what they may read', async () => {
    const server = await on.register({ name: 'tickets' });
    const runtime = await on.org.as('runtime');
    expect(titlesOf((await runtime.get(REGISTRY)).body.servers)).toEqual(['tickets']);
    const strangers = await ServersFixture.create(app);
    expect((await strangers.admin.get(REGISTRY)).body.servers).toEqual([]);
    const path = `${REGISTRY}/${encodeURIComponent(nameOf(server))}/versions/latest`;
    expect((await strangers.admin.get(path)).status).toBe(404);
    expect((await app.api().get(REGISTRY)).status).toBe(401);
  });
});

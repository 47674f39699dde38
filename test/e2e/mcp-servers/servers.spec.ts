import { sharedApp } from '#testing';
import { namesIn, pointersIn, SERVERS, ServersFixture } from './servers.fixture';

describe('MCP servers', () => {
  const app = sharedApp();
  let on: ServersFixture;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });

  it('are registered with 201, a Location and an ETag', async () => {
    const made = await on.register({
      name: 'tickets',
      description: 'Tickets of support',
      url: 'https://tickets.example.com/mcp?region=eu',
      transport: 'sse',
      metadata: { owner: 'care' },
    });
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`${SERVERS}/${made.body.server_id}`);
    expect(made.headers.get('etag')).toBe('"1"');
    expect(made.body).toMatchObject({
      server_id: expect.stringMatching(/^mcps_[0-9a-z]{26}$/) as string,
      org_id: on.org.orgId,
      workspace_id: on.org.workspaceId,
      name: 'tickets',
      description: 'Tickets of support',
      url: 'https://tickets.example.com/mcp?{query}',
      transport: 'sse',
      auth: { type: 'none', header: null, has_value: false },
      is_system: false,
      metadata: { owner: 'care' },
      app_id: null,
      app: null,
      sync_state: 'unmanaged',
      tools_listed_at: null,
      version_ordinal: 1,
      generation: 1,
      archived_at: null,
    });
    expect((await on.editor.get(made.headers.get('location')!)).body).toEqual(made.body);
    expect((await on.register()).body).toMatchObject({ transport: 'streamable_http', description: null });
  });

  it.each([
    ['ftp://mcp.example.com/mcp'],
    ['mcp.example.com'],
    ['http:mcp.example.com'],
    ['https://'],
    ['https://ada@mcp.example.com/'],
    ['https://ada:secret@mcp.example.com/'],
    ['https://@mcp.example.com/'],
    ['https://mcp.example.com/mcp#tools'],
    ['https://mcp.example.com\\@evil.example'],
    ['https://mcp.example.com/a b'],
    ['https://mcp.example.com/\n'],
    ['javascript:alert(1)'],
    [`https://mcp.example.com/${'a'.repeat(2_048)}`],
    [''],
  ])('are rejected with the URL %j', async (url) => {
    const answer = await on.register({ url });
    expect([answer.status, pointersIn(answer)]).toEqual([400, ['/url']]);
    const { body: server } = await on.register();
    const patched = await on.editor.patch(`${SERVERS}/${server.server_id}`, { url });
    expect([patched.status, pointersIn(patched)]).toEqual([400, ['/url']]);
  });

  it('are rejected with 422 for an unknown transport or authentication type', async () => {
    for (const body of [{ transport: 'stdio' }, { auth: { type: 'basic' } }]) {
      const answer = await on.register(body);
      expect([answer.status, answer.body.code]).toEqual([422, 'validation_failed']);
    }
    const { body: server } = await on.register();
    const patched = await on.editor.patch(`${SERVERS}/${server.server_id}`, { auth: { type: 'basic' } });
    expect([patched.status, pointersIn(patched)]).toEqual([422, ['/auth/type']]);
  });

  it('are rejected with 400 for missing or malformed members', async () => {
    const answers = [
      await on.register({ name: undefined }),
      await on.register({ name: '' }),
      await on.register({ name: 'a\nb' }),
      await on.register({ url: undefined }),
      await on.register({ url: 5 }),
      await on.register({ is_system: 'yes' }),
      await on.register({ auth: [] }),
      await on.register({ auth: {} }),
      await on.register({ metadata: [] }),
      await on.register({ metadata: { a: 'x'.repeat(17_000) } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
    expect(answers.flatMap(pointersIn)).toEqual([
      '/name',
      '/name',
      '/name',
      '/url',
      '/url',
      '/is_system',
      '/auth',
      '/auth/type',
      '/metadata',
      '/metadata',
    ]);
  });

  it('cannot be renamed to the name of another', async () => {
    const { body: server } = await on.register();
    const { body: other } = await on.register();
    const renamed = await on.editor.patch(`${SERVERS}/${other.server_id}`, { name: server.name });
    expect([renamed.status, renamed.body.detail]).toEqual([
      409,
      `The workspace already has a server with this name: ${server.server_id}.`,
    ]);
  });

  it('get a version for each change of versioned members', async () => {
    const { body: server } = await on.register({ name: 'first', metadata: { a: 1 } });
    const path = `${SERVERS}/${server.server_id}`;
    const renamed = await on.editor.patch(path, { name: 'second', url: 'https://other.example.com/mcp' });
    expect(renamed.body).toMatchObject({ name: 'second', version_ordinal: 2, generation: 2 });
    const noted = await on.editor.patch(path, { metadata: { b: 2 } });
    expect(noted.body).toMatchObject({ metadata: { a: 1, b: 2 }, version_ordinal: 2, generation: 3 });
    const same = await on.editor.patch(path, { name: 'second' });
    expect(same.headers.get('etag')).toBe('"3"');
    const { body: versions } = await on.editor.get(`${path}/versions`);
    expect(versions.items.map((one: any) => [one.version_ordinal, one.name])).toEqual([
      [2, 'second'],
      [1, 'first'],
    ]);
    // ids have no order within a millisecond
    await app.database.query(
      `UPDATE mcp_server_versions SET version_id = 'ver_' || (9 - version_ordinal) WHERE server_id = $1`,
      [server.server_id],
    );
    const pages = [];
    for (let cursor = ''; pages.length < 2;) {
      const { body } = await on.editor.get(`${path}/versions?limit=1${cursor}`);
      pages.push(...body.items.map((one: any) => one.version_ordinal));
      cursor = `&cursor=${body.page.next_cursor}`;
    }
    expect(pages).toEqual([2, 1]);
    const first = await on.editor.get(`${path}/versions/1`);
    expect(first.body).toMatchObject({ name: 'first', url: server.url });
    expect(first.body).not.toHaveProperty('auth.has_value');
    for (const ordinal of ['0', '3', '01', 'x', '99999999999']) {
      expect((await on.editor.get(`${path}/versions/${ordinal}`)).status).toBe(404);
    }
  });

  it('cannot move, change their id or become system servers', async () => {
    const { body: server } = await on.register();
    const path = `${SERVERS}/${server.server_id}`;
    const answers = [
      await on.editor.patch(path, { workspace_id: await on.org.newWorkspace() }),
      await on.editor.patch(path, { server_id: 'mcps_other' }),
      await on.editor.patch(path, { is_system: true }),
      await on.editor.patch(path, {
        workspace_id: on.org.workspaceId,
        server_id: server.server_id,
        is_system: false,
      }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [422, 'validation_failed'],
      [422, 'immutable_field'],
      [422, 'immutable_field'],
      [200, undefined],
    ]);
  });

  it('keep their tools when archived and restored, and are not found while archived', async () => {
    const tool = (name: string) => ({ name, input_schema: {} });
    const { body: server } = await on.register({ tools: [tool('search'), tool('old')] });
    const path = `${SERVERS}/${server.server_id}`;
    const toolNames = async () => namesIn(await on.editor.get(`${path}/tools`));
    const inSearch = async () => {
      const { body } = await on.editor.get(`${path}/tools?include_archived=true`);
      const ids = [server.server_id, ...body.items.map((one: any) => one.tool_id)];
      const rows = await app.database.query<{ name: string }>(
        'SELECT name FROM search_documents WHERE resource_id = ANY ($1) ORDER BY name',
        [ids],
      );
      return rows.map(({ name }) => name);
    };
    await on.editor.patch(path, { tools: [tool('search')] });
    expect(await inSearch()).toEqual(['search', server.name]);
    await on.admin.post(`${path}/archive`);
    expect([await toolNames(), await inSearch()]).toEqual([[], []]);
    expect((await on.admin.post(`${path}/restore`)).status).toBe(200);
    expect([await toolNames(), await inSearch()]).toEqual([['search'], ['search', server.name]]);
  });

  it('are filtered, searched, sorted and paged', async () => {
    const workspace_id = await on.org.newWorkspace();
    const servers = [
      { name: 'zeta', transport: 'sse', description: 'finds parcels' },
      { name: 'alpha', url: 'https://parcels.example.com/' },
      { name: 'mid', description: 'nothing of it' },
    ];
    for (const one of servers) await on.register({ workspace_id, ...one });
    const list = async (query: string) =>
      namesIn(await on.editor.get(`${SERVERS}?workspace_id=${workspace_id}${query}`));
    expect(await list('')).toEqual(['mid', 'alpha', 'zeta']);
    expect(await list('&sort=name')).toEqual(['alpha', 'mid', 'zeta']);
    expect(await list('&q=parc&sort=name')).toEqual(['alpha', 'zeta']);
    expect(await list('&name=mid')).toEqual(['mid']);
    expect(await list('&transport=sse')).toEqual(['zeta']);
    expect(await list('&sync_state=unmanaged&sort=-name')).toEqual(['zeta', 'mid', 'alpha']);
    expect(await list('&sync_state=synced')).toEqual([]);
    expect(await list('&app=nope')).toEqual([]);
    const first = await on.editor.get(`${SERVERS}?workspace_id=${workspace_id}&sort=name&limit=2`);
    expect(first.body.page.total).toBe(3);
    expect(await list(`&sort=name&limit=2&cursor=${first.body.page.next_cursor}`)).toEqual(['zeta']);
    expect((await on.editor.get(`${SERVERS}?transport=stdio`)).status).toBe(422);
    expect((await on.editor.get(`${SERVERS}?adress=x`)).status).toBe(400);
  });

  it('are audited', async () => {
    const { body: server } = await on.register({ name: 'told' });
    const path = `${SERVERS}/${server.server_id}`;
    await on.editor.patch(path, { name: 'told again', description: 'secret-looking' });
    await on.admin.post(`${path}/archive`);
    const log = await on.admin.get(`/registry/v1/audit-log?resource_id=${server.server_id}`);
    expect(log.body.items.map((one: any) => [one.action, one.resource_type, one.changes])).toEqual([
      ['archive', 'mcp_server', []],
      [
        'update',
        'mcp_server',
        [{ member: 'name', before: 'told', after: 'told again' }, { member: 'description' }],
      ],
      ['create', 'mcp_server', [{ member: 'name', after: 'told' }]],
    ]);
  });
});

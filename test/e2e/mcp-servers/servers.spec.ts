import {
  type Answer,
  type ApiClient,
  createTestApp,
  newOrganization,
  type TestApp,
  type TestOrganization,
} from '#testing';

const SERVERS = '/mcp/v1/servers';

describe('MCP servers', () => {
  let app: TestApp;
  let org: TestOrganization;
  let editor: ApiClient;
  let admin: ApiClient;

  beforeAll(async () => {
    app = await createTestApp();
    org = await newOrganization(app);
    editor = await org.member('editor');
    admin = await org.member('admin');
  });
  afterAll(() => app.close());

  let made = 0;
  const register = (body: Record<string, unknown> = {}, by: ApiClient = editor): Promise<Answer> => {
    const name = `server ${(made += 1)}`;
    return by.post(SERVERS, {
      workspace_id: org.workspaceId,
      name,
      url: 'https://mcp.example.com/mcp',
      ...body,
    });
  };
  const names = (answer: Answer): string[] => answer.body.items.map((one: any) => one.name);
  const pointers = ({ body }: Answer): string[] => (body.errors ?? []).map((one: any) => one.pointer);

  it('are registered with 201, an address and an ETag, and come back as they were sent', async () => {
    const made = await register({
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
      org_id: org.orgId,
      workspace_id: org.workspaceId,
      name: 'tickets',
      description: 'Tickets of support',
      url: 'https://tickets.example.com/mcp?region=eu',
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
    expect((await editor.get(made.headers.get('location')!)).body).toEqual(made.body);
    expect((await register()).body).toMatchObject({ transport: 'streamable_http', description: null });
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
  ])('are not at %j', async (url) => {
    const answer = await register({ url });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/url']]);
    const { body: server } = await register();
    const patched = await editor.patch(`${SERVERS}/${server.server_id}`, { url });
    expect([patched.status, pointers(patched)]).toEqual([400, ['/url']]);
  });

  it('answer 422 for a transport and a type of authentication that are none', async () => {
    for (const body of [{ transport: 'stdio' }, { auth: { type: 'basic' } }]) {
      const answer = await register(body);
      expect([answer.status, answer.body.code]).toEqual([422, 'validation_failed']);
    }
    const { body: server } = await register();
    const patched = await editor.patch(`${SERVERS}/${server.server_id}`, { auth: { type: 'basic' } });
    expect([patched.status, pointers(patched)]).toEqual([422, ['/auth/type']]);
  });

  it('answer 400 for members that are missing or of the wrong form', async () => {
    const answers = [
      await register({ name: undefined }),
      await register({ name: '' }),
      await register({ name: 'a\nb' }),
      await register({ url: undefined }),
      await register({ url: 5 }),
      await register({ is_system: 'yes' }),
      await register({ auth: [] }),
      await register({ auth: {} }),
      await register({ metadata: [] }),
      await register({ metadata: { a: 'x'.repeat(17_000) } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
    expect(answers.flatMap(pointers)).toEqual([
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

  it('have names that no other live one of the workspace has', async () => {
    const { body: server } = await register();
    const { body: other } = await register();
    const taken = await register({ name: server.name });
    expect([taken.status, taken.body.code]).toEqual([409, 'conflict']);
    expect((await editor.patch(`${SERVERS}/${other.server_id}`, { name: server.name })).status).toBe(409);
    expect((await register({ name: server.name, workspace_id: await org.newWorkspace() })).status).toBe(201);
    await admin.post(`${SERVERS}/${server.server_id}/archive`);
    expect((await register({ name: server.name })).status).toBe(201);
  });

  it('make a version of each change of what is versioned, and keep the others', async () => {
    const { body: server } = await register({ name: 'first', metadata: { a: 1 } });
    const path = `${SERVERS}/${server.server_id}`;
    const renamed = await editor.patch(path, { name: 'second', url: 'https://other.example.com/mcp' });
    expect(renamed.body).toMatchObject({ name: 'second', version_ordinal: 2, generation: 2 });
    const noted = await editor.patch(path, { metadata: { b: 2 } });
    expect(noted.body).toMatchObject({ metadata: { a: 1, b: 2 }, version_ordinal: 2, generation: 3 });
    const same = await editor.patch(path, { name: 'second' });
    expect(same.headers.get('etag')).toBe('"3"');
    const { body: versions } = await editor.get(`${path}/versions`);
    expect(versions.items.map((one: any) => [one.version_ordinal, one.name])).toEqual([
      [2, 'second'],
      [1, 'first'],
    ]);
    const first = await editor.get(`${path}/versions/1`);
    expect(first.body).toMatchObject({ name: 'first', url: server.url, version_id: server.version_id });
    expect(first.body).not.toHaveProperty('auth.has_value');
    for (const ordinal of ['0', '3', '01', 'x', '99999999999']) {
      expect((await editor.get(`${path}/versions/${ordinal}`)).status).toBe(404);
    }
  });

  it('are changed by those alone who have seen them', async () => {
    const { body: server } = await register();
    const path = `${SERVERS}/${server.server_id}`;
    expect((await editor.patch(path, { name: 'renamed' }, { 'if-match': '"1"' })).status).toBe(200);
    expect((await editor.patch(path, { name: 'again' }, { 'if-match': '"1"' })).status).toBe(412);
    expect((await editor.get(path, { 'if-none-match': '"2"' })).status).toBe(304);
  });

  it('refuse another workspace, another id, and to become a system server', async () => {
    const { body: server } = await register();
    const path = `${SERVERS}/${server.server_id}`;
    const answers = [
      await editor.patch(path, { workspace_id: await org.newWorkspace() }),
      await editor.patch(path, { server_id: 'mcps_other' }),
      await editor.patch(path, { is_system: true }),
      await editor.patch(path, {
        workspace_id: org.workspaceId,
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

  it('are archived once and for all, with their tools', async () => {
    const tools = [{ name: 'search', input_schema: {} }];
    const { body: server } = await register({ tools });
    const path = `${SERVERS}/${server.server_id}`;
    expect((await editor.post(`${path}/archive`)).status).toBe(403);
    const archived = await admin.post(`${path}/archive`);
    expect([archived.status, archived.body.archived_at === null]).toEqual([200, false]);
    expect((await admin.post(`${path}/archive`)).body).toEqual(archived.body);
    expect((await editor.patch(path, { name: 'x' })).status).toBe(409);
    expect((await editor.get(path)).status).toBe(200);
    expect((await editor.get(`${path}/tools`)).body.page.total).toBe(0);
    const kept = await editor.get(`${path}/tools?include_archived=true`);
    expect(kept.body.items[0].archived_at).not.toBeNull();
    const found = await app.database.query(
      `SELECT resource_id FROM search_documents WHERE resource_id = ANY ($1)`,
      [[server.server_id, kept.body.items[0].tool_id]],
    );
    expect(found).toEqual([]);
  });

  it('are filtered, found by words and sorted by name, page by page', async () => {
    const workspace_id = await org.newWorkspace();
    const given = [
      { name: 'zeta', transport: 'sse', description: 'finds parcels' },
      { name: 'alpha', url: 'https://parcels.example.com/' },
      { name: 'mid', description: 'nothing of it' },
    ];
    for (const one of given) await register({ workspace_id, ...one });
    const list = async (query: string) =>
      names(await editor.get(`${SERVERS}?workspace_id=${workspace_id}${query}`));
    expect(await list('')).toEqual(['mid', 'alpha', 'zeta']);
    expect(await list('&sort=name')).toEqual(['alpha', 'mid', 'zeta']);
    expect(await list('&q=parc&sort=name')).toEqual(['alpha', 'zeta']);
    expect(await list('&name=mid')).toEqual(['mid']);
    expect(await list('&transport=sse')).toEqual(['zeta']);
    expect(await list('&sync_state=unmanaged&sort=-name')).toEqual(['zeta', 'mid', 'alpha']);
    expect(await list('&sync_state=synced')).toEqual([]);
    expect(await list('&app=nope')).toEqual([]);
    const first = await editor.get(`${SERVERS}?workspace_id=${workspace_id}&sort=name&limit=2`);
    expect(first.body.page.total).toBe(3);
    expect(await list(`&sort=name&limit=2&cursor=${first.body.page.next_cursor}`)).toEqual(['zeta']);
    expect((await editor.get(`${SERVERS}?transport=stdio`)).status).toBe(422);
    expect((await editor.get(`${SERVERS}?adress=x`)).status).toBe(400);
  });

  describe('of the platform', () => {
    it('are listed and counted, but for the one that is called registry', async () => {
      const workspace_id = await org.newWorkspace();
      const registry = {
        workspace_id,
        name: 'registry',
        is_system: true,
        tools: [{ name: 'search', input_schema: {} }],
      };
      expect((await register(registry)).status).toBe(403);
      const hidden = await register(registry, admin);
      await register({ workspace_id, name: 'files', is_system: true }, admin);
      for (const query of ['', '&include_archived=true', '&name=registry', '&q=registry']) {
        const { body } = await editor.get(`${SERVERS}?workspace_id=${workspace_id}${query}`);
        const expected = query.includes('registry') ? [] : ['files'];
        expect([body.items.map((one: any) => one.name), body.page.total]).toEqual([
          expected,
          expected.length,
        ]);
      }
      const documents = await app.database.query<{ name: string }>(
        'SELECT name FROM search_documents WHERE workspace_id = $1',
        [workspace_id],
      );
      expect(documents).toEqual([{ name: 'files' }]);
      // it is one of its kind by its name alone
      const path = `${SERVERS}/${hidden.body.server_id}`;
      await editor.patch(path, { name: 'other' });
      const listed = await editor.get(`${SERVERS}?workspace_id=${workspace_id}&sort=name`);
      expect(names(listed)).toEqual(['files', 'other']);
      const shown = await app.database.query<{ name: string }>(
        'SELECT name FROM search_documents WHERE workspace_id = $1 ORDER BY name',
        [workspace_id],
      );
      expect(shown).toEqual([{ name: 'files' }, { name: 'other' }, { name: 'search' }]);
    });

    it('are not confused with a team’s own of that name', async () => {
      const workspace_id = await org.newWorkspace();
      await register({ workspace_id, name: 'registry' });
      const listed = await editor.get(`${SERVERS}?workspace_id=${workspace_id}`);
      expect(names(listed)).toEqual(['registry']);
    });

    it('are none in a new organization', async () => {
      const other = await newOrganization(app);
      const [{ count }] = (await app.database.query(
        'SELECT count(*) AS count FROM mcp_servers WHERE org_id = $1',
        [other.orgId],
      )) as [{ count: number }];
      expect(count).toBe(0);
    });
  });

  describe('of workspaces', () => {
    it('that are not there or not reached are refused (400), archived ones too (409)', async () => {
      const stranger = await newOrganization(app);
      const bound = app.api((await org.serviceAccount('editor')).key);
      const elsewhere = await org.newWorkspace();
      const archived = await org.newWorkspace();
      await admin.post(`/registry/v1/workspaces/${archived}/archive`);
      const answers = [
        await register({ workspace_id: 'wsp_nope' }),
        await register({ workspace_id: stranger.workspaceId }),
        await register({ workspace_id: elsewhere }, bound),
        await register({ workspace_id: elsewhere }, editor.in(org.workspaceId)),
        await register({ workspace_id: archived }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 409]);
    });

    it('that are archived keep theirs readable, and unchanged', async () => {
      const workspace_id = await org.newWorkspace();
      const { body: server } = await register({ workspace_id });
      await admin.post(`/registry/v1/workspaces/${workspace_id}/archive`);
      const path = `${SERVERS}/${server.server_id}`;
      expect((await editor.get(path)).status).toBe(200);
      expect((await editor.patch(path, { name: 'x' })).status).toBe(409);
      expect((await admin.post(`${path}/archive`)).status).toBe(409);
    });

    it('show theirs, their versions and their tools to those who reach them alone', async () => {
      const elsewhere = await org.newWorkspace();
      const { body: server } = await register({
        workspace_id: elsewhere,
        tools: [{ name: 'search', input_schema: {} }],
      });
      const path = `${SERVERS}/${server.server_id}`;
      const tool = (await editor.get(`${path}/tools`)).body.items[0];
      const bound = app.api((await org.serviceAccount('admin')).key);
      const stranger = await (await newOrganization(app)).member('owner');
      for (const outsider of [bound, stranger, (await org.member('owner')).in(org.workspaceId)]) {
        const answers = [
          await outsider.get(path),
          await outsider.get(`${path}/versions`),
          await outsider.get(`${path}/versions/1`),
          await outsider.get(`${path}/tools`),
          await outsider.get(`${path}/tools/${tool.tool_id}`),
          await outsider.patch(path, { name: 'x' }),
          await outsider.post(`${path}/archive`),
        ];
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
        for (const query of ['', `?workspace_id=${elsewhere}`, `?name=${encodeURIComponent(server.name)}`]) {
          expect(names(await outsider.get(SERVERS + query))).not.toContain(server.name);
        }
      }
    });
  });

  it('need the role editor to be changed, and viewer to be read', async () => {
    const viewer = await org.member('viewer');
    const { body: server } = await register();
    const path = `${SERVERS}/${server.server_id}`;
    expect((await register({}, viewer)).status).toBe(403);
    expect((await viewer.patch(path, { name: 'x' })).status).toBe(403);
    expect((await viewer.get(path)).status).toBe(200);
    const runtime = await org.member('runtime');
    const answers = [await runtime.get(SERVERS), await runtime.get(path), await runtime.get(`${path}/tools`)];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
  });

  it('tell the audit log who made, changed and archived them', async () => {
    const { body: server } = await register({ name: 'told' });
    const path = `${SERVERS}/${server.server_id}`;
    await editor.patch(path, { name: 'told again', description: 'secret-looking' });
    await admin.post(`${path}/archive`);
    const log = await admin.get(`/registry/v1/audit-log?resource_id=${server.server_id}`);
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

import { type Answer, sharedApp, newOrganization } from '#testing';
import { APPS, AppsFixture, server } from './apps.fixture';

const skill = (spec: object) => ({
  kind: 'skill',
  name: 'a',
  spec: { description: 'd', instructions: 'i', ...spec },
});

describe('apps', () => {
  const app = sharedApp();
  let on: AppsFixture;

  beforeAll(async () => {
    on = await AppsFixture.create(app);
  });

  const pointers = ({ body }: Answer): string[] => (body.errors ?? []).map((one: any) => one.pointer);
  const slugs = ({ body }: Answer): string[] => body.items.map((one: any) => one.app);

  it('are created with 201, a Location and an ETag', async () => {
    const resources = [
      server('tickets', { metadata: { zeta: 1, alpha: 2 } }),
      { ...skill({ metadata: { any: ['thing'] } }), name: 'replies' },
    ];
    const made = await on.declare({
      app: 'support',
      display_name: 'Support',
      description: 'What support needs',
      metadata: { owner: 'care' },
      resources,
    });
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`${APPS}/support`);
    expect(made.headers.get('etag')).toBe('"1"');
    expect(made.body).toMatchObject({
      app_id: expect.stringMatching(/^app_[0-9a-z]{26}$/) as string,
      org_id: on.org.orgId,
      workspace_id: on.org.workspaceId,
      app: 'support',
      display_name: 'Support',
      resource_count: 2,
      metadata: { owner: 'care' },
      sync_state: 'pending',
      sync_error: null,
      last_reconciled_at: null,
      generation: 1,
      archived_at: null,
    });
    const declared = resources.map(({ kind, name, spec }) => ({ kind, name, spec }));
    expect(JSON.stringify(made.body.resources)).toBe(JSON.stringify(declared));
    expect(await on.read('support')).toEqual(made.body);
    expect(await on.read(made.body.app_id)).toEqual(made.body);
    const reported = await on.admin.get(`/registry/v1/audit-log?resource_id=${made.body.app_id}`);
    expect(reported.body.items).toMatchObject([
      {
        action: 'create',
        changes: [
          { member: 'app', after: 'support' },
          { member: 'display_name', after: 'Support' },
        ],
      },
    ]);
    // nothing is created before the app is reconciled
    expect(await on.serversOf('support')).toEqual([]);
  });

  it.each(['', '-a', 'a-', 'A', 'a_b', 'app_0', 'a.b', 'a/b', 'ä', 'a\n', 'a'.repeat(65), 7, null])(
    'cannot have the slug %j',
    async (slug) => {
      const answer = await on.declare({ app: slug });
      expect([answer.status, pointers(answer)]).toEqual([400, ['/app']]);
    },
  );

  it.each(['a', '0', 'a-b', 'a--b', 'a'.repeat(64)])('may have the slug %s', async (slug) => {
    expect((await on.declare({ app: slug })).status).toBe(201);
  });

  it('have slugs that are unique in the organization', async () => {
    const workspace_id = await on.org.newWorkspace();
    const { body } = await on.declare();
    const duplicate = await on.declare({ app: body.app, workspace_id });
    expect([duplicate.status, duplicate.body.code]).toEqual([409, 'conflict']);
    const other = await AppsFixture.create(app);
    expect((await other.declare({ app: body.app })).status).toBe(201);
    await on.admin.post(`${APPS}/${body.app}/archive`);
    const again = await on.declare({ app: body.app, workspace_id });
    expect(again.status).toBe(201);
    expect((await on.read(body.app)).app_id).toBe(again.body.app_id);
    expect((await on.read(body.app_id)).archived_at).not.toBeNull();
  });

  it('have ETags that are never reused for a slug', async () => {
    const { body, headers } = await on.declare();
    const path = `${APPS}/${body.app}`;
    const archived = await on.admin.post(`${path}/archive`);
    await on.declare({ app: body.app });
    for (const before of [headers, archived.headers]) {
      const etag = before.get('etag')!;
      expect((await on.editor.get(path, { 'if-none-match': etag })).status).toBe(200);
      expect((await on.editor.patch(path, { display_name: 'x' }, { 'if-match': etag })).status).toBe(412);
    }
  });

  it('limit names as the declared resources do', async () => {
    const name = '\u{1f916}'.repeat(200);
    expect((await on.reconciled(server(name))).length).toBeGreaterThan(0);
    const refused = await on.declare({ resources: [server('\u{1f916}'.repeat(256))] });
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([400, '/resources/0/name']);
  });

  it('are archived with If-Match, idempotently', async () => {
    const workspace_id = await on.org.newWorkspace();
    const { body } = await on.declare({ workspace_id });
    const path = `${APPS}/${body.app_id}/archive`;
    expect((await on.admin.post(path, undefined, { 'if-match': '"7"' })).status).toBe(412);
    const archived = await on.admin.post(path, undefined, { 'if-match': '"1"' });
    expect(archived.status).toBe(200);
    await on.admin.post(`/registry/v1/workspaces/${workspace_id}/archive`);
    expect((await on.admin.post(path, undefined, { 'if-match': '"1"' })).body).toEqual(archived.body);
  });

  it.each([
    [undefined, '/resources'],
    [null, '/resources'],
    ['x', '/resources'],
    [{}, '/resources'],
    [[null], '/resources/0'],
    [[['mcp_server']], '/resources/0'],
    [[{ name: 'a', spec: {} }], '/resources/0/kind'],
    [[{ kind: 5, name: 'a', spec: {} }], '/resources/0/kind'],
    [[{ kind: 'skill', spec: {} }], '/resources/0/name'],
    [[{ kind: 'skill', name: 'a', spec: {}, enabled: false }], '/resources/0/enabled'],
    [[{ kind: 'skill', name: '', spec: {} }], '/resources/0/name'],
    [[{ kind: 'skill', name: 'a\u0007', spec: {} }], '/resources/0/name'],
    [[{ kind: 'skill', name: 'x'.repeat(256), spec: {} }], '/resources/0/name'],
    [[{ kind: 'skill', name: 'a' }], '/resources/0/spec'],
    [[{ kind: 'skill', name: 'a', spec: [] }], '/resources/0/spec'],
    [[server('a'), server('b'), server('a')], '/resources/2/name'],
    [[server('a', { url: undefined })], '/resources/0/spec/url'],
    [[server('a'), server('b', { url: 'ftp://x' })], '/resources/1/spec/url'],
    [[server('a', { url: 'https://ada:pw@x/' })], '/resources/0/spec/url'],
    [[server('a', { transport: 'stdio' })], '/resources/0/spec/transport'],
    [[server('a', { auth: { type: 'header' } })], '/resources/0/spec/auth/header'],
    [[server('a', { auth: { type: 'bearer', token: 'x' } })], '/resources/0/spec/auth/token'],
    [[server('a', { auth: { type: 'header', header: 'Host' } })], '/resources/0/spec/auth/header'],
    [[server('a', { tools: [{ name: 'x' }] })], '/resources/0/spec/tools/0/input_schema'],
    [[server('a', { metadata: { a: 'x'.repeat(17_000) } })], '/resources/0/spec/metadata'],
    [[server('a', { description: 5 })], '/resources/0/spec/description'],
    [[server('a', { is_system: true })], '/resources/0/spec/is_system'],
    [[server('a', { workspace_id: 'ws' })], '/resources/0/spec/workspace_id'],
    [[skill({ workspace_id: 'ws' })], '/resources/0/spec/workspace_id'],
    [[skill({ files: [{ path: 'a', content: '', mode: 7 }] })], '/resources/0/spec/files/0/mode'],
    [[{ kind: 'agent', name: 'a', spec: { workspace_id: 'ws' } }], '/resources/0/spec/workspace_id'],
  ])('refuse malformed declarations: %#', async (resources, pointer) => {
    const { body } = await on.declare();
    const answers = [await on.declare({ resources })];
    if (resources !== undefined) answers.push(await on.editor.patch(`${APPS}/${body.app}`, { resources }));
    for (const answer of answers) expect([answer.status, pointers(answer)]).toEqual([400, [pointer]]);
  });

  it('refuse unknown kinds (422)', async () => {
    const resources = [server('a'), { kind: 'dataset', name: 'a', spec: {} }];
    const { body } = await on.declare();
    const answers = [
      await on.declare({ resources }),
      await on.editor.patch(`${APPS}/${body.app}`, { resources }),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.body.code, pointers(answer)]).toEqual([
        422,
        'validation_failed',
        ['/resources/1/kind'],
      ]);
    }
  });

  it('refuse secrets, and store none', async () => {
    const resources = [server('a', { auth: { type: 'bearer', value: 's3cr3t-of-a' } })];
    const answer = await on.declare({ resources });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/resources/0/spec/auth/value']]);
    expect(answer.body.detail).toContain('PATCH /mcp/v1/servers/{server_id}');
    expect(JSON.stringify(answer.body)).not.toContain('s3cr3t');
  });

  it('limit the number of reported faults and of declared resources', async () => {
    const faulty = await on.declare({ resources: Array.from({ length: 10_000 }, () => ({})) });
    expect([faulty.status, faulty.body.errors.length]).toEqual([400, 50]);
    const many = Array.from({ length: 10_001 }, (_, i) => server(`s${i}`));
    const answer = await on.declare({ resources: many });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/resources']]);
    expect((await on.declare({ resources: many.slice(1) })).body.resource_count).toBe(10_000);
  });

  it('are changed with If-Match; resources are replaced as a whole', async () => {
    const { body } = await on.declare({ resources: [server('a'), server('b')], metadata: { a: 1 } });
    const path = `${APPS}/${body.app}`;
    const patched = await on.editor.patch(
      path,
      { resources: [server('c')], metadata: { b: 2 }, display_name: 'C' },
      { 'if-match': '"1"' },
    );
    expect(patched.body).toMatchObject({
      resources: [server('c')],
      resource_count: 1,
      metadata: { a: 1, b: 2 },
      display_name: 'C',
      generation: 2,
    });
    expect((await on.editor.patch(path, { display_name: 'D' }, { 'if-match': '"1"' })).status).toBe(412);
    expect((await on.editor.get(path, { 'if-none-match': '"2"' })).status).toBe(304);
    expect((await on.editor.patch(path, { display_name: 'C' })).headers.get('etag')).toBe('"2"');
  });

  it('refuse another slug, id and workspace', async () => {
    const { body } = await on.declare();
    const path = `${APPS}/${body.app}`;
    const answers = [
      await on.editor.patch(path, { app: 'another' }),
      await on.editor.patch(path, { app_id: 'app_other' }),
      await on.editor.patch(path, { workspace_id: await on.org.newWorkspace() }),
      await on.editor.patch(path, { app: body.app, app_id: body.app_id, workspace_id: body.workspace_id }),
    ];
    expect(answers.map(({ status, body: { code } }) => [status, code])).toEqual([
      [422, 'immutable_field'],
      [422, 'immutable_field'],
      [422, 'validation_failed'],
      [200, undefined],
    ]);
  });

  it('stay archived', async () => {
    const { body } = await on.declare();
    const path = `${APPS}/${body.app_id}`;
    expect((await on.editor.post(`${path}/archive`)).status).toBe(403);
    const archived = await on.admin.post(`${path}/archive`);
    expect([archived.status, archived.body.archived_at === null]).toEqual([200, false]);
    expect((await on.admin.post(`${path}/archive`)).body).toEqual(archived.body);
    expect((await on.editor.patch(path, { display_name: 'x' })).status).toBe(409);
    const reconciled = await on.reconcile(body.app_id);
    expect([reconciled.status, reconciled.body.code]).toEqual([409, 'conflict']);
    expect((await on.editor.get(`${APPS}/${body.app}`)).body.app_id).toBe(body.app_id);
    const documents = await app.database.query('SELECT 1 FROM search_documents WHERE resource_id = $1', [
      body.app_id,
    ]);
    expect(documents).toEqual([]);
  });

  it('are filtered, searched, sorted and paged', async () => {
    const workspace_id = await on.org.newWorkspace();
    for (const slug of ['zeta', 'alpha', 'mid']) {
      await on.declare({ app: slug, workspace_id, description: slug === 'mid' ? null : 'planner' });
    }
    const list = async (query: string) =>
      slugs(await on.editor.get(`${APPS}?workspace_id=${workspace_id}${query}`));
    expect(await list('')).toEqual(['mid', 'alpha', 'zeta']);
    expect(await list('&sort=app')).toEqual(['alpha', 'mid', 'zeta']);
    expect(await list('&q=plan&sort=-app')).toEqual(['zeta', 'alpha']);
    expect(await list('&app=mid')).toEqual(['mid']);
    expect(await list('&sync_state=pending&sort=app')).toEqual(['alpha', 'mid', 'zeta']);
    expect(await list('&sync_state=synced')).toEqual([]);
    const first = await on.editor.get(`${APPS}?workspace_id=${workspace_id}&sort=app&limit=2`);
    expect(first.body.page.total).toBe(3);
    expect(await list(`&sort=app&limit=2&cursor=${first.body.page.next_cursor}`)).toEqual(['zeta']);
    expect((await on.editor.get(`${APPS}?sync_state=drifted`)).status).toBe(422);
    expect((await on.editor.get(`${APPS}?slug=x`)).status).toBe(400);
  });

  it('are listed in pages of a few MiB if they have many resources', async () => {
    const workspace_id = await on.org.newWorkspace();
    const description = 'x'.repeat(9_900);
    const resources = Array.from({ length: 350 }, (_, i) => server(`s${i}`, { description }));
    for (let i = 0; i < 4; i++) expect((await on.declare({ workspace_id, resources })).status).toBe(201);
    const { body } = await on.editor.get(`${APPS}?workspace_id=${workspace_id}`);
    expect([body.items.length, body.page.total, body.page.next_cursor === null]).toEqual([1, 4, false]);
    const rest = await on.editor.get(`${APPS}?workspace_id=${workspace_id}&cursor=${body.page.next_cursor}`);
    expect([rest.body.items.length, rest.body.page.next_cursor === null]).toEqual([1, false]);
  });

  it('are invisible without access to their workspace', async () => {
    const elsewhere = await on.org.newWorkspace();
    const { body } = await on.declare({ workspace_id: elsewhere, resources: [server('hidden')] });
    const bound = app.api((await on.org.serviceAccount('admin')).key);
    const stranger = await (await newOrganization(app)).member('owner');
    for (const outsider of [bound, stranger]) {
      for (const named of [body.app, body.app_id]) {
        const path = `${APPS}/${named}`;
        const answers = [
          await outsider.get(path),
          await outsider.patch(path, { display_name: 'x' }),
          await outsider.post(`${path}/archive`),
          await outsider.post(`${path}/reconcile`),
        ];
        expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
      }
      for (const query of ['', `?workspace_id=${elsewhere}`, `?app=${body.app}`]) {
        expect(slugs(await outsider.get(APPS + query))).not.toContain(body.app);
      }
    }
  });

  it('require a workspace that is reachable (400) and live (409)', async () => {
    const archived = await on.org.newWorkspace();
    await on.admin.post(`/registry/v1/workspaces/${archived}/archive`);
    const stranger = await newOrganization(app);
    const answers = [
      await on.declare({ workspace_id: 'wsp_nope' }),
      await on.declare({ workspace_id: stranger.workspaceId }),
      await on.declare({ workspace_id: archived }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 409]);
  });

  it('require viewer, editor or admin', async () => {
    const [viewer, runtime] = [await on.org.member('viewer'), await on.org.member('runtime')];
    const { body } = await on.declare();
    const path = `${APPS}/${body.app}`;
    const answers = [
      await viewer.get(path),
      await viewer.patch(path, { display_name: 'x' }),
      await on.declare({}, viewer),
      await on.reconcile(body.app, on.editor),
      await runtime.get(path),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 403, 403, 403]);
    expect((await on.reconcile('nope')).status).toBe(404);
  });
});

import { sharedApp, newOrganization } from '#testing';
import { namesIn, SERVERS, ServersFixture } from './servers.fixture';

describe('MCP servers', () => {
  const app = sharedApp();
  let on: ServersFixture;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });

  describe('of the platform', () => {
    it('are listed and counted, except the one named registry', async () => {
      const workspace_id = await on.org.newWorkspace();
      const tools = [{ name: 'search', input_schema: {} }];
      const registry = { workspace_id, name: 'registry', is_system: true, tools };
      expect((await on.register(registry)).status).toBe(403);
      const hidden = (await on.register(registry, on.admin)).headers.get('location')!;
      await on.register({ workspace_id, name: 'files', is_system: true }, on.admin);
      for (const query of ['', '&include_archived=true', '&name=registry', '&q=registry']) {
        const { body } = await on.editor.get(`${SERVERS}?workspace_id=${workspace_id}${query}`);
        const expected = query.includes('registry') ? [] : ['files'];
        expect([body.items.map((one: any) => one.name), body.page.total]).toEqual([
          expected,
          expected.length,
        ]);
      }
      const documents = () =>
        app.database.query<{ name: string }>(
          'SELECT name FROM search_documents WHERE workspace_id = $1 ORDER BY name',
          [workspace_id],
        );
      expect(await documents()).toEqual([{ name: 'files' }]);
      // only the name hides it
      expect((await on.editor.get(hidden)).body).toMatchObject({ name: 'registry', is_system: true });
      await on.admin.patch(hidden, { description: 'still hidden' });
      expect(await documents()).toEqual([{ name: 'files' }]);
      await on.admin.patch(hidden, { name: 'other' });
      const listed = await on.editor.get(`${SERVERS}?workspace_id=${workspace_id}&sort=name`);
      expect(namesIn(listed)).toEqual(['files', 'other']);
      expect(await documents()).toEqual([{ name: 'files' }, { name: 'other' }, { name: 'search' }]);
    });

    it('are created, changed and archived by admins only', async () => {
      expect((await on.register({ is_system: true })).status).toBe(403);
      const { body: before } = await on.register({ is_system: true }, on.admin);
      const path = `${SERVERS}/${before.server_id}`;
      for (const body of [{ url: 'https://evil.example/mcp' }, { name: 'registry' }, { tools: [] }, {}]) {
        expect((await on.editor.patch(path, body)).status).toBe(403);
      }
      expect((await on.editor.post(`${path}/archive`)).status).toBe(403);
      expect((await on.editor.get(path)).body).toEqual(before);
      const moved = await on.admin.patch(path, { url: 'https://mcp.example.com/v2' });
      expect([moved.status, moved.body.url]).toEqual([200, 'https://mcp.example.com/v2']);
    });

    it('are hidden when admins name them registry', async () => {
      const workspace_id = await on.org.newWorkspace();
      const tools = [{ name: 'search', input_schema: {} }];
      const { body: other } = await on.register({ workspace_id, is_system: true, tools }, on.admin);
      expect((await on.admin.patch(`${SERVERS}/${other.server_id}`, { name: 'registry' })).status).toBe(200);
      const listed = await on.editor.get(`${SERVERS}?workspace_id=${workspace_id}&include_archived=true`);
      expect([namesIn(listed), listed.body.page.total]).toEqual([[], 0]);
      const statement = 'SELECT name FROM search_documents WHERE workspace_id = $1';
      expect(await app.database.query(statement, [workspace_id])).toEqual([]);
    });

    it('do not include a team’s own server named registry', async () => {
      const workspace_id = await on.org.newWorkspace();
      await on.register({ workspace_id, name: 'registry' });
      const listed = await on.editor.get(`${SERVERS}?workspace_id=${workspace_id}`);
      expect(namesIn(listed)).toEqual(['registry']);
    });

    it('do not exist in a new organization', async () => {
      const other = await newOrganization(app);
      const [{ count }] = (await app.database.query(
        'SELECT count(*) AS count FROM mcp_servers WHERE org_id = $1',
        [other.orgId],
      )) as [{ count: number }];
      expect(count).toBe(0);
    });
  });

  describe('of workspaces', () => {
    it('are rejected if the workspace is unknown or out of reach (400) or archived (409)', async () => {
      const stranger = await newOrganization(app);
      const bound = app.api((await on.org.serviceAccount('editor')).key);
      const elsewhere = await on.org.newWorkspace();
      const archived = await on.org.newWorkspace();
      await on.admin.post(`/registry/v1/workspaces/${archived}/archive`);
      const answers = [
        await on.register({ workspace_id: 'wsp_nope' }),
        await on.register({ workspace_id: stranger.workspaceId }),
        await on.register({ workspace_id: elsewhere }, bound),
        await on.register({ workspace_id: archived }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 409]);
    });

    it('stay readable when the workspace is archived', async () => {
      const workspace_id = await on.org.newWorkspace();
      const { body: server } = await on.register({ workspace_id });
      await on.admin.post(`/registry/v1/workspaces/${workspace_id}/archive`);
      const path = `${SERVERS}/${server.server_id}`;
      expect((await on.editor.get(path)).status).toBe(200);
      expect((await on.editor.patch(path, { name: 'x' })).status).toBe(409);
      expect((await on.admin.post(`${path}/archive`)).status).toBe(409);
    });

    it('are shown only to callers with access', async () => {
      const elsewhere = await on.org.newWorkspace();
      const { body: server } = await on.register({
        workspace_id: elsewhere,
        tools: [{ name: 'search', input_schema: {} }],
      });
      const path = `${SERVERS}/${server.server_id}`;
      const tool = (await on.editor.get(`${path}/tools`)).body.items[0];
      const bound = app.api((await on.org.serviceAccount('admin')).key);
      const stranger = await (await newOrganization(app)).member('owner');
      for (const outsider of [bound, stranger]) {
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
          expect(namesIn(await outsider.get(SERVERS + query))).not.toContain(server.name);
        }
      }
    });
  });

  it('require editor for changes, and viewer or runtime for reads', async () => {
    const viewer = await on.org.member('viewer');
    const { body: server } = await on.register();
    const path = `${SERVERS}/${server.server_id}`;
    expect((await on.register({}, viewer)).status).toBe(403);
    expect((await viewer.patch(path, { name: 'x' })).status).toBe(403);
    expect((await viewer.get(path)).status).toBe(200);
    const runtime = await on.org.member('runtime');
    const answers = [await runtime.get(SERVERS), await runtime.get(path), await runtime.get(`${path}/tools`)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await runtime.patch(path, { name: 'x' })).status).toBe(403);
  });
});

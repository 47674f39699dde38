import { type Answer, type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import { expandRoles, workspaceScope } from '#platform/auth';
import { type DeclaredToolDto, ServerDirectory, type ToolChanges, ToolStore } from '../../../src/mcp-servers';

const SERVERS = '/mcp/v1/servers';

describe('the tools of an MCP server', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await org.member('editor');
  });

  let made = 0;
  const register = (tools?: unknown, body: object = {}): Promise<Answer> =>
    editor.post(SERVERS, {
      workspace_id: org.workspaceId,
      name: `server ${(made += 1)}`,
      url: 'https://mcp.example.com/mcp',
      tools,
      ...body,
    });
  const toolsOf = async ({ body }: Answer, query = ''): Promise<any[]> =>
    (await editor.get(`${SERVERS}/${body.server_id}/tools${query}`)).body.items;
  const scope = () => workspaceScope(org.orgId, org.workspaceId, 'test', expandRoles(['editor']));
  const replace = async ({ body }: Answer, tools: DeclaredToolDto[]): Promise<ToolChanges> => {
    const store = app.get(ToolStore);
    const contents = await store.contentsOf(tools);
    return app.database.transaction((tx) => store.replace(tx, scope(), body, contents));
  };

  const SEARCH: DeclaredToolDto = {
    name: 'search',
    title: 'Search tickets',
    description: 'Finds tickets.',
    input_schema: { type: 'object', properties: { zeta: {}, alpha: { const: 0.5 } } },
    output_schema: { type: 'object' },
    annotations: { readOnlyHint: true },
  };
  const CLOSE: DeclaredToolDto = { name: 'close', input_schema: { type: 'object' } };

  it.each(['input_schema', 'output_schema', 'annotations'])(
    'have at most 256 KiB of JSON in %s',
    async (member) => {
      const withBytes = (bytes: number) => ({
        ...CLOSE,
        [member]: { x: 'x'.repeat(bytes - '{"x":""}'.length) },
      });
      expect((await register([withBytes(256 * 1024)])).status).toBe(201);
      const refused = await register([withBytes(256 * 1024 + 1)]);
      expect([refused.status, refused.body.errors]).toEqual([
        400,
        [{ pointer: `/tools/0/${member}`, detail: 'must be an object of at most 256 KiB as JSON' }],
      ]);
    },
  );

  it('are the registered ones, sorted by name', async () => {
    const server = await register([SEARCH, CLOSE]);
    expect(server.status).toBe(201);
    const tools = await toolsOf(server);
    expect(tools.map(({ name }) => name)).toEqual(['close', 'search']);
    expect(tools[1]).toMatchObject({
      ...SEARCH,
      tool_id: expect.stringMatching(/^tool_[0-9a-z]{26}$/) as string,
      server_id: server.body.server_id,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      archived_at: null,
    });
    expect(tools[0]).toMatchObject({ title: null, output_schema: null, annotations: null });
    const one = await editor.get(`${SERVERS}/${server.body.server_id}/tools/${tools[1].tool_id}`);
    expect([one.body, one.headers.get('etag')]).toEqual([tools[1], '"1"']);
    const [{ text }] = (await app.database.query(
      'SELECT input_schema::text AS text FROM mcp_tools WHERE tool_id = $1',
      [tools[1].tool_id],
    )) as [{ text: string }];
    expect(text).toBe(JSON.stringify(SEARCH.input_schema));
  });

  it('can be sent in the format of MCP', async () => {
    const { input_schema: inputSchema, output_schema: outputSchema, ...others } = SEARCH;
    const listed = { ...others, inputSchema, outputSchema, icons: [], _meta: { 'example.com/a': 1 } };
    const [reported] = await toolsOf(await register([SEARCH]));
    const [tool] = await toolsOf(await register([listed]));
    const { input_schema, output_schema, digest } = reported;
    expect(tool).toMatchObject({ ...SEARCH, input_schema, output_schema, digest });
    expect(Object.keys(tool as object).sort()).toEqual(Object.keys(reported as object).sort());
    const spec = { url: 'https://mcp.example.com/mcp', tools: [listed] };
    const { body: declaring } = await editor.post('/registry/v1/apps', {
      workspace_id: org.workspaceId,
      app: 'listing',
      resources: [{ kind: 'mcp_server', name: 'declared', spec }],
    });
    const admin = await org.member('admin');
    expect((await admin.post(`/registry/v1/apps/${declaring.app}/reconcile`)).status).toBe(200);
    const { body } = await editor.get(`${SERVERS}?app=listing`);
    const declared = await editor.get(`${SERVERS}/${body.items[0].server_id}/tools`);
    expect(declared.body.items).toMatchObject([{ digest }]);
  });

  it('are paged by time or by name', async () => {
    const server = await register([CLOSE, SEARCH, { ...CLOSE, name: 'merge' }]);
    const path = `${SERVERS}/${server.body.server_id}/tools`;
    const first = await editor.get(`${path}?limit=2`);
    expect(first.body.page.total).toBe(3);
    const rest = await editor.get(`${path}?limit=2&cursor=${first.body.page.next_cursor}`);
    const names = [...first.body.items, ...rest.body.items].map((tool: any) => tool.name);
    expect(names).toEqual(['close', 'merge', 'search']);
    expect((await toolsOf(server, '?sort=-name')).map(({ name }) => name)).toEqual([
      'search',
      'merge',
      'close',
    ]);
  });

  it('do not include the tools of other servers', async () => {
    const [one, other] = [await register([SEARCH]), await register([SEARCH])];
    const [tool] = await toolsOf(one);
    const answers = [
      await editor.get(`${SERVERS}/${other.body.server_id}/tools/${tool.tool_id}`),
      await editor.get(`${SERVERS}/${one.body.server_id}/tools/tool_nope`),
      await editor.get(`${SERVERS}/mcps_nope/tools`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  });

  it.each([
    ['search', '/tools'],
    [[null], '/tools/0'],
    [[[]], '/tools/0'],
    [[{ input_schema: {} }], '/tools/0/name'],
    [[{ name: 'a' }], '/tools/0/input_schema'],
    [[{ name: 'a', input_schema: [] }], '/tools/0/input_schema'],
    [[{ name: 'a', input_schema: null }], '/tools/0/input_schema'],
    [[{ name: '', input_schema: {} }], '/tools/0/name'],
    [[{ name: 'x'.repeat(256), input_schema: {} }], '/tools/0/name'],
    [[{ name: 'a\u001b[2J', input_schema: {} }], '/tools/0/name'],
    [[{ name: 'a', title: 1, input_schema: {} }], '/tools/0/title'],
    [[{ name: 'a', description: 'x'.repeat(32_769), input_schema: {} }], '/tools/0/description'],
    [[{ name: 'a', input_schema: {}, output_schema: 'x' }], '/tools/0/output_schema'],
    [[{ name: 'a', input_schema: {}, annotations: [] }], '/tools/0/annotations'],
    [[{ name: 'a', inputSchema: [] }], '/tools/0/inputSchema'],
    [[{ name: 'a', inputSchema: null }], '/tools/0/inputSchema'],
    [[{ name: 'a', input_schema: {}, inputSchema: {} }], '/tools/0/inputSchema'],
    [[{ name: 'a', inputSchema: {}, outputSchema: 'x' }], '/tools/0/outputSchema'],
    [[{ name: 'a', inputSchema: {}, output_schema: {}, outputSchema: null }], '/tools/0/outputSchema'],
    [[CLOSE, SEARCH, CLOSE], '/tools/2/name'],
    [Array.from({ length: 1_001 }, (_, i) => ({ ...CLOSE, name: `t${i}` })), '/tools'],
  ])('are rejected: %#', async (tools, pointer) => {
    const answer = await register(tools);
    expect([answer.status, answer.body.errors.map((one: any) => one.pointer)]).toEqual([400, [pointer]]);
  });

  it('are written in one statement, even a thousand of them', async () => {
    const tools = Array.from({ length: 1_000 }, (_, i) => ({ ...SEARCH, name: `tool ${i}` }));
    const server = await register(tools);
    const { body } = await editor.get(`${SERVERS}/${server.body.server_id}/tools?limit=0`);
    expect(body.page.total).toBe(1_000);
  });

  it('are replaced by PATCH', async () => {
    const server = await register([SEARCH, CLOSE]);
    const path = `${SERVERS}/${server.body.server_id}`;
    const patched = await editor.patch(path, { tools: [{ ...SEARCH, title: 'Other' }] });
    expect([patched.status, patched.body.generation, patched.body.version_ordinal]).toEqual([200, 2, 1]);
    expect(await toolsOf(server)).toMatchObject([{ name: 'search', title: 'Other' }]);
    const same = await editor.patch(path, { tools: [{ ...SEARCH, title: 'Other' }] });
    expect(same.body.generation).toBe(2);
    const unfit = await editor.patch(path, { tools: [{ name: 'x' }] });
    expect([unfit.status, unfit.body.errors[0].pointer]).toEqual([400, '/tools/0/input_schema']);
    await app.database.query('UPDATE mcp_servers SET tools_listed_at = now() WHERE server_id = $1', [
      server.body.server_id,
    ]);
    expect((await editor.patch(path, { tools: [] })).status).toBe(409);
    expect(await toolsOf(server)).toHaveLength(1);
  });

  describe('when the server lists them again', () => {
    it('are added, updated by digest, archived or left unchanged', async () => {
      const server = await register([SEARCH, CLOSE, { ...CLOSE, name: 'gone' }]);
      const before = await toolsOf(server);
      const changes = await replace(server, [
        {
          ...SEARCH,
          input_schema: { properties: { alpha: { const: 0.5 }, zeta: {} }, type: 'object' },
        },
        { ...CLOSE, description: 'Closes a ticket.' },
        { ...CLOSE, name: 'new' },
      ]);
      expect(changes).toEqual({ added: ['new'], updated: ['close'], archived: ['gone'], unchangedCount: 1 });
      const after = await toolsOf(server);
      expect(after.map(({ name, generation }) => [name, generation])).toEqual([
        ['close', 2],
        ['new', 1],
        ['search', 1],
      ]);
      expect(after[0].tool_id).toBe(before[0].tool_id);
      expect(after[2]).toEqual(before[2]);
    });

    it('keep their id when they reappear, and are searchable while offered', async () => {
      const server = await register([SEARCH]);
      const [tool] = await toolsOf(server);
      const matches = () =>
        app.database.query('SELECT name FROM search_documents WHERE resource_id = $1', [tool.tool_id]);
      expect(await matches()).toEqual([{ name: 'search' }]);
      await replace(server, []);
      expect(await matches()).toEqual([]);
      expect(await toolsOf(server)).toEqual([]);
      expect(await replace(server, [SEARCH])).toMatchObject({ added: ['search'], updated: [] });
      expect(await toolsOf(server)).toMatchObject([
        { tool_id: tool.tool_id, archived_at: null, generation: 3 },
      ]);
      expect(await matches()).toEqual([{ name: 'search' }]);
    });
  });

  describe('that agents refer to', () => {
    it('must belong to live servers of the workspace', async () => {
      const server = await register([SEARCH, CLOSE]);
      await replace(server, [SEARCH]);
      const archived = await register([SEARCH]);
      await (await org.member('admin')).post(`${SERVERS}/${archived.body.server_id}/archive`);
      const elsewhere = await register([SEARCH], { workspace_id: await org.newWorkspace() });
      const ref = ({ body }: Answer, tool_name: string) => ({
        server_id: body.server_id as string,
        tool_name,
      });
      const refs = [
        ref(server, 'search'),
        ref(server, 'search'),
        ref(server, 'close'),
        ref(server, 'nope'),
        ref(archived, 'search'),
        ref(elsewhere, 'search'),
        { server_id: 'mcps_nope', tool_name: 'search' },
      ];
      const directory = app.get(ServerDirectory);
      expect(await directory.findTools(app.database, scope(), refs)).toEqual([refs[0]]);
      const names = [server, archived, elsewhere].map(({ body }) => body.name as string);
      expect(await directory.idsByName(app.database, scope(), names)).toEqual(
        new Map([[server.body.name, server.body.server_id]]),
      );
    });
  });
});

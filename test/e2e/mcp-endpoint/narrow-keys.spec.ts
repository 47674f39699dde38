import { type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';
import { connect, type TestMcpClient } from './clients.fixture';
import { populate, type Population } from './population.fixture';
import { RegisteredServer } from './registered-server.fixture';

/** Tools of the endpoint that belong to the area `tools`. */
const OF_TOOLS = [
  'call_mcp_tool',
  'get_mcp_tool',
  'list_mcp_servers',
  'list_mcp_tools',
  'mcp__initialise',
  'read_result',
];

describe('a key that is narrower than its account, at the MCP endpoint', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let remote: RegisteredServer;
  let org: TestOrganization;
  let admin: ApiClient;
  let there: Population;
  let keysPath: string;
  let serverId: string;
  let agentId: string;
  const clients: TestMcpClient[] = [];

  beforeAll(async () => {
    remote = await RegisteredServer.start();
    org = await newOrganization(app);
    there = await populate(app, org);
    admin = await org.as('admin');
    const { workspaceId: workspace_id } = org;
    const server = { workspace_id, name: 'remote', url: remote.url };
    serverId = (await admin.post('/mcp/v1/servers', server)).body.server_id as string;
    expect((await admin.post(`/mcp/v1/servers/${serverId}/refresh`)).status).toBe(200);
    const tools = [{ server_id: serverId, tool_name: 'echo' }];
    agentId = (await admin.post('/agent/v1/agents', { workspace_id, name: 'deployed', tools })).body.agent_id;
    const account = { name: 'deployed', roles: ['evaluator', 'runtime'], workspace_ids: [workspace_id] };
    keysPath = `${(await admin.post('/registry/v1/service-accounts', account)).headers.get('location')}/keys`;
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await remote.close();
  });

  const keyFor = async (allow: object): Promise<string> => {
    const { status, body } = await admin.post(keysPath, { name: 'k', allow });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body.key as string;
  };

  /** Returns an official client with a key that allows only this. */
  const withKey = async (allow: object, mode: 'v1' | 'auto' = 'auto'): Promise<TestMcpClient> => {
    const client = await connect(app.url, await keyFor(allow), mode);
    clients.push(client);
    return client;
  };

  const use = (client: TestMcpClient, name: string, args: object = {}): Promise<any> =>
    client.callTool({ name, arguments: { workspace_id: org.workspaceId, ...args } });

  const run = (client: TestMcpClient, tool_name: string, server_id = serverId): Promise<any> =>
    use(client, 'call_mcp_tool', { server_id, tool_name, arguments: { text: 'hi' } });

  /** Returns the problem of a call, or null. */
  const refusalOf = ({ isError, _meta }: any): unknown =>
    isError === true ? [_meta.problem.code, _meta.problem.detail] : null;

  const namesIn = ({ tools }: any): string[] => tools.map(({ name }: { name: string }) => name).sort();
  const itemsIn = ({ structuredContent }: any): string[] =>
    structuredContent.items.map(({ name }: { name: string }) => name).sort();

  it.each(['v1', 'auto'] as const)('runs only its tools (%s)', async (mode) => {
    const client = await withKey({ tools: ['remote/echo'] }, mode);
    expect(namesIn(await client.listTools())).toEqual(OF_TOOLS);
    expect((await run(client, 'echo')).structuredContent.content).toEqual([{ type: 'text', text: 'hi' }]);
    expect(refusalOf(await run(client, 'repeat'))).toEqual([
      'forbidden',
      'This key does not allow the tool `remote/repeat`. GET /registry/v1/me shows what it allows.',
    ]);
    const { items } = (await admin.get(`/mcp/v1/servers/${serverId}/tools?name=repeat`)).body;
    const byId = await use(client, 'call_mcp_tool', { tool_id: items[0].tool_id });
    expect(refusalOf(byId)).toEqual(['forbidden', expect.any(String)]);
    const [entry] = (await admin.get(`/registry/v1/audit-log?resource_id=${items[0].tool_id}`)).body.items;
    expect([entry.action, entry.changes]).toEqual([
      'call',
      expect.arrayContaining([{ member: 'refused', after: 'forbidden' }]),
    ]);
  });

  it('reads only results of its tools', async () => {
    const caller = await withKey({ tools: ['remote/repeat'] });
    const called = await use(caller, 'call_mcp_tool', {
      server_id: serverId,
      tool_name: 'repeat',
      arguments: { count: 100_000 },
    });
    const { result_id } = called.structuredContent;
    expect(refusalOf(await use(caller, 'read_result', { result_id }))).toBeNull();
    const other = await withKey({ tools: ['remote/echo'] });
    expect(refusalOf(await use(other, 'read_result', { result_id }))).toEqual([
      'forbidden',
      expect.stringContaining('`remote/repeat`'),
    ]);
  });

  it('sees only its tools, unless it may read', async () => {
    const client = await withKey({ tools: ['remote/echo'] });
    expect(itemsIn(await use(client, 'list_mcp_servers'))).toEqual(['remote']);
    expect(itemsIn(await use(client, 'list_mcp_tools', { server_id: serverId }))).toEqual(['echo']);
    expect(itemsIn(await use(client, 'list_mcp_tools', { server_id: there.serverId }))).toEqual([]);
    const named = { server_id: serverId, tool_name: 'echo' };
    expect((await use(client, 'get_mcp_tool', named)).structuredContent.name).toBe('echo');
    const other = await use(client, 'get_mcp_tool', { ...named, tool_name: 'fail' });
    expect(refusalOf(other)).toEqual(['forbidden', expect.stringContaining('`remote/fail`')]);

    const reader = await withKey({ areas: ['read'], tools: ['remote/echo'] });
    expect(itemsIn(await use(reader, 'list_mcp_servers'))).toEqual(['remote', 'weather']);
    expect(itemsIn(await use(reader, 'list_mcp_tools', { server_id: serverId }))).toContain('fail');
    expect(refusalOf(await run(reader, 'fail'))).toEqual(['forbidden', expect.any(String)]);
    const all = await withKey({ areas: ['tools'] });
    expect((await run(all, 'fail')).structuredContent.is_error).toBe(true);
  });

  it('follows its server to a new name', async () => {
    const client = await withKey({ tools: ['remote/echo'] });
    await admin.patch(`/mcp/v1/servers/${serverId}`, { name: 'moved' });
    expect(refusalOf(await run(client, 'echo'))).toBeNull();
    expect(refusalOf(await run(client, 'fail'))).toEqual([
      'forbidden',
      expect.stringContaining('`moved/fail`'),
    ]);
    await admin.patch(`/mcp/v1/servers/${serverId}`, { name: 'remote' });
  });

  it('reads or runs tools, or neither, and never starts a scoring run', async () => {
    const reader = await withKey({ areas: ['read'] });
    const names = namesIn(await reader.listTools());
    expect(names).toEqual(expect.arrayContaining(['get_agent', 'list_mcp_tools', 'search_registry']));
    for (const name of ['call_mcp_tool', 'read_result', 'start_scoring_run'])
      expect(names).not.toContain(name);
    expect(reader.getInstructions()).not.toContain('call_mcp_tool');
    expect(refusalOf(await run(reader, 'echo'))).toEqual([
      'forbidden',
      'This key does not allow the area `tools`. It allows: read.',
    ]);
    const scoring = { scorer_id: there.scorerId, trace_ids: [there.traceId] };
    const full = await withKey({ areas: ['read', 'telemetry', 'models', 'apis', 'tools', 'scores'] });
    for (const client of [reader, full]) {
      expect(refusalOf(await use(client, 'start_scoring_run', scoring))).toEqual([
        'forbidden',
        expect.stringContaining('needs a key without `allow`'),
      ]);
    }
    expect(
      refusalOf(await use(await withKey({ areas: ['tools'] }), 'search_registry', { query: 'x' })),
    ).toEqual(['forbidden', 'This key does not allow the area `read`. It allows: tools.']);
    await expect(connect(app.url, await keyFor({ areas: ['models', 'scores'] }))).rejects.toThrow(
      /denied access/,
    );
  });

  it('reads resources and prompts only with the area read', async () => {
    const reader = await withKey({ areas: ['read'] });
    const client = await withKey({ areas: ['tools'] });
    const [{ uri }] = (await reader.listResources()).resources;
    expect((await reader.readResource({ uri })).contents).toHaveLength(1);
    expect((await reader.listPrompts()).prompts).toHaveLength(2);
    expect([
      (await client.listResources()).resources,
      (await client.listResourceTemplates()).resourceTemplates,
      (await client.listPrompts()).prompts,
    ]).toEqual([[], [], []]);
    const completed = {
      ref: { type: 'ref/prompt', name: 'use_skill' },
      argument: { name: 'skill', value: '' },
    };
    const refused = [
      () => client.readResource({ uri }),
      () => client.getPrompt({ name: 'use_skill', arguments: { skill: 'pdf-forms' } }),
      () => client.complete(completed),
    ];
    for (const one of refused) await expect(one()).rejects.toThrow(/does not allow the area `read`/);
  });

  it('does not gain anything from the session of another key', async () => {
    const all = await withKey({ areas: ['read', 'tools'] });
    const opened = await all.callTool({ name: 'mcp__initialise', arguments: {} });
    const { session_handle } = opened.structuredContent;
    const narrow = await withKey({ tools: ['remote/echo'] });
    const call = (name: string, args: object) =>
      narrow.callTool({ name, arguments: { session_handle, ...args } });
    const echo = { server_id: serverId, tool_name: 'echo' };
    expect(refusalOf(await call('call_mcp_tool', echo))).toBeNull();
    expect(refusalOf(await call('call_mcp_tool', { ...echo, tool_name: 'fail' }))).toEqual([
      'forbidden',
      expect.any(String),
    ]);
    expect(refusalOf(await call('list_agents', {}))).toEqual(['forbidden', expect.any(String)]);
  });

  it('of an agent runs the tools that the agent declares at that time', async () => {
    const agent = `/agent/v1/agents/${agentId}`;
    const client = await withKey({ areas: ['telemetry'], agent_id: agentId });
    const both = await withKey({ agent_id: agentId, tools: ['remote/repeat', 'remote/echo'] });
    const declare = async (...names: string[]): Promise<void> => {
      const tools = names.map((tool_name) => ({ server_id: serverId, tool_name }));
      expect((await admin.patch(agent, { tools })).status).toBe(200);
    };
    const ran = async (by: TestMcpClient, name: string): Promise<boolean> =>
      refusalOf(await run(by, name)) === null;
    expect([await ran(client, 'echo'), itemsIn(await use(client, 'list_mcp_servers'))]).toEqual([
      true,
      ['remote'],
    ]);
    expect(refusalOf(await run(client, 'structured'))).toEqual([
      'forbidden',
      `This key allows only the tools of the agent ${agentId}, and the agent does not declare \`remote/structured\`.`,
    ]);
    await declare('structured', 'echo');
    expect([await ran(client, 'structured'), await ran(both, 'echo')]).toEqual([true, true]);
    expect(refusalOf(await run(both, 'structured'))).toEqual(['forbidden', expect.any(String)]);
    await declare('structured');
    for (const by of [client, both]) {
      expect(refusalOf(await run(by, 'echo'))).toEqual(['forbidden', expect.any(String)]);
    }
    expect(itemsIn(await use(client, 'list_mcp_tools', { server_id: serverId }))).toEqual(['structured']);
    await declare();
    expect(refusalOf(await run(client, 'structured'))).toEqual(['forbidden', expect.any(String)]);
    expect(itemsIn(await use(client, 'list_mcp_servers'))).toEqual([]);
    await declare('echo');
    await admin.post(`${agent}/archive`);
    expect(refusalOf(await run(client, 'echo'))).toEqual([
      'forbidden',
      `This key allows only the tools of the agent ${agentId}, which is archived. Restore the agent, or use another key.`,
    ]);
    await admin.post(`${agent}/restore`);
    expect(await ran(client, 'echo')).toBe(true);
  });

  it('limits the tokens that it is exchanged for', async () => {
    const api_key = await keyFor({ tools: ['remote/echo'] });
    const token = (await app.api().post('/registry/v1/tokens', { api_key })).body.access_token as string;
    const client = await connect(app.url, token);
    clients.push(client);
    expect(refusalOf(await run(client, 'echo'))).toBeNull();
    expect(refusalOf(await run(client, 'fail'))).toEqual(['forbidden', expect.any(String)]);
  });
});

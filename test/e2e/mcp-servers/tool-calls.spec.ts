import { setMaxListeners } from 'node:events';
import { expandRoles, workspaceScope } from '#platform/auth';
import { Environment } from '#platform/config';
import { type Problem } from '#platform/problem';
import { sharedApp, until } from '#testing';
import { ToolCaller } from '../../../src/mcp-servers';
import { FakeMcpServer, type FakeKind, fakeTool } from './fake-mcp-server.fixture';
import { SERVERS, ServersFixture } from './servers.fixture';

/** Calls tools like the MCP endpoint. */
describe('calling a tool of a server', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let on: ServersFixture;
  let remote: FakeMcpServer;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });
  afterEach(async () => {
    app.get(Environment).MCP_TIMEOUT_MS = 20_000;
    await remote.close();
  });

  const start = async (
    kind: FakeKind = 'current',
    ...tools: ReturnType<typeof fakeTool>[]
  ): Promise<string> => {
    remote = await FakeMcpServer.start(kind);
    remote.offer(tools.length > 0 ? tools : [fakeTool('a')]);
    const transport = kind === 'sse' ? 'sse' : 'streamable_http';
    const { body } = await on.register({ url: remote.url, transport });
    await on.editor.post(`${SERVERS}/${body.server_id}/refresh`);
    return body.server_id as string;
  };
  const call = (
    server_id: string,
    tool_name: string,
    args: Record<string, unknown> = {},
    signal = new AbortController().signal,
    workspaceId = on.org.workspaceId,
  ): Promise<any> => {
    const scope = workspaceScope(on.org.orgId, workspaceId, 'usr_test', expandRoles(['runtime']));
    const toolCall = { server_id, tool_name, arguments: args };
    return app.get(ToolCaller).call(scope, toolCall, signal);
  };
  const failureOf = async (calling: Promise<unknown>): Promise<unknown[]> => {
    const error = await calling.then(
      () => null,
      (reason: unknown) => reason as Problem,
    );
    return [error?.status, error?.code, error?.detail];
  };

  it.each<FakeKind>(['current', 'sessions', 'sse'])('returns the result unchanged: %s', async (kind) => {
    const id = await start(kind);
    remote.intercept = (_request, response) => {
      response.writeContinue(); // clients must ignore it
      return false;
    };
    remote.call = (name, args) => ({
      content: [{ type: 'text', text: name }],
      structuredContent: { args },
      _meta: { 'example.com/kept': 1 },
    });
    const args = { text: 'é', list: [1, { deep: null }] };
    expect(await call(id, 'a', args)).toMatchObject({
      content: [{ type: 'text', text: 'a' }],
      structuredContent: { args },
      _meta: { 'example.com/kept': 1 },
    });
    await until(() => remote.openSessions === 0);
  });

  it('returns an error of the tool as a result', async () => {
    const id = await start();
    remote.call = () => ({ content: [{ type: 'text', text: 'No such city.' }], isError: true });
    expect(await call(id, 'a')).toMatchObject({ isError: true, content: [{ text: 'No such city.' }] });
  });

  it('returns a result that does not match the output schema, without compiling that schema', async () => {
    // the pattern takes exponential time
    const pattern = '^(a+)+$';
    const outputSchema = { type: 'object', properties: { x: { type: 'string', pattern } } };
    const id = await start('current', fakeTool('a', { outputSchema }));
    const structuredContent = { x: `${'a'.repeat(40)}!` };
    remote.call = () => ({ content: [], structuredContent });
    expect(await call(id, 'a')).toMatchObject({ structuredContent });
  });

  it.each<FakeKind>(['current', 'sessions'])(
    'says with the text that the structured content is missing, if the tool promises it: %s',
    async (kind) => {
      const outputSchema = { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] };
      const id = await start(kind, fakeTool('a', { outputSchema }), fakeTool('b'));
      const content = [{ type: 'text', text: 'It rains.' }];
      const noted = [...content, { type: 'text', text: expect.stringContaining('no structured content') }];
      const contentOf = async (name: string, result: object): Promise<unknown> => {
        remote.call = () => ({ content, ...result });
        return (await call(id, name)).content;
      };
      expect(await contentOf('a', {})).toEqual(noted);
      expect(await contentOf('b', {})).toEqual(content);
      expect(await contentOf('a', { structuredContent: {} })).toEqual(content);
      expect(await contentOf('a', { isError: true })).toEqual(content);
    },
  );

  it('fails with 404 for a tool that the server does not offer, and for a server of another workspace', async () => {
    const id = await start();
    const missing = [404, 'not_found', expect.any(String)];
    expect(await failureOf(call(id, 'b'))).toEqual(missing);
    expect(await failureOf(call('mcps_none', 'a'))).toEqual(missing);
    const other = await on.org.newWorkspace();
    expect(await failureOf(call(id, 'a', {}, undefined, other))).toEqual(missing);
    remote.offer([]);
    await on.editor.post(`${SERVERS}/${id}/refresh`);
    const archived = expect.stringContaining(`POST ${SERVERS}/${id}/test names the reason.`);
    expect(await failureOf(call(id, 'a'))).toEqual([404, 'not_found', archived]);
    expect(remote.count('tools/call')).toBe(0);
  });

  it('fails with 409 for an archived server', async () => {
    const id = await start();
    await on.admin.post(`${SERVERS}/${id}/archive`);
    expect((await failureOf(call(id, 'a'))).slice(0, 2)).toEqual([409, 'conflict']);
  });

  it('fails with 503 and the message of a protocol error', async () => {
    const id = await start();
    remote.call = () => {
      throw new Error('out of\norder');
    };
    expect(await failureOf(call(id, 'a'))).toEqual([
      503,
      'service_unavailable',
      expect.stringMatching(/^MCP server server \d+ failed \(protocol\): .* -32603: out of order$/),
    ]);
  });

  it('fails with 400 if the server rejects the arguments', async () => {
    const id = await start();
    remote.call = () => {
      throw Object.assign(new Error('query must be a string'), { code: -32602 });
    };
    const [status, code, detail] = await failureOf(call(id, 'a'));
    expect([status, code]).toEqual([400, 'invalid_request']);
    expect(detail).toMatch(/^MCP server server \d+ rejected the call\. .* -32602: query must be a string$/);
  });

  it('fails with 504 if the server hangs, and ends when the caller disconnects', async () => {
    const id = await start();
    remote.call = () => new Promise(() => undefined);
    app.get(Environment).MCP_TIMEOUT_MS = 500;
    expect(await failureOf(call(id, 'a'))).toEqual([
      504,
      'request_timeout',
      expect.stringContaining(
        'failed (timeout): The server did not respond within 0.5 s. The tool may have run anyway.',
      ),
    ]);
    app.get(Environment).MCP_TIMEOUT_MS = 20_000;
    const disconnect = new AbortController();
    const calling = call(id, 'a', {}, disconnect.signal);
    const calls = remote.count('tools/call');
    while (remote.count('tools/call') === calls) await new Promise(setImmediate);
    disconnect.abort(new Error('the client disconnected'));
    await expect(calling).rejects.toThrow('the client disconnected');
  });

  it('fails with 503 if the server requests further input', async () => {
    const id = await start();
    remote.intercept = (_request, response, body) => {
      if (!body.includes('"tools/call"')) return false;
      const { id: requestId } = JSON.parse(body) as { id: number };
      const elicitation = {
        method: 'elicitation/create',
        params: { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
      };
      const result = { resultType: 'input_required', inputRequests: { who: elicitation }, requestState: 'x' };
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: requestId, result }));
      return true;
    };
    expect(await failureOf(call(id, 'a'))).toEqual([
      503,
      'service_unavailable',
      expect.stringContaining('The server requests further input, which the service cannot provide.'),
    ]);
  });

  it('fails with 503 for a result of more than 4 MiB', async () => {
    const id = await start();
    remote.call = () => ({ content: [{ type: 'text', text: 'x'.repeat(5 * 1024 * 1024) }] });
    expect(await failureOf(call(id, 'a'))).toEqual([
      503,
      'service_unavailable',
      expect.stringContaining('The responses of the server exceed 4 MiB.'),
    ]);
  });

  it('sends the arguments that the protocol mirrors in headers', async () => {
    const properties = { region: { type: 'string', 'x-mcp-header': 'Region' } };
    const id = await start('current', fakeTool('a', { inputSchema: { type: 'object', properties } }));
    await call(id, 'a', { region: 'eu' });
    const { headers } = remote.requests.find(({ body }) => body.includes('"tools/call"'))!;
    expect(headers['mcp-param-region']).toBe('eu');
  });
});

describe('an organization with hanging operations', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  beforeAll(() => void (app.get(Environment).MCP_TIMEOUT_MS = 60_000));
  afterAll(() => void (app.get(Environment).MCP_TIMEOUT_MS = 20_000));

  it('leaves slots to others when it lists tools', async () => {
    const [hanging, quick] = [await FakeMcpServer.start(), await FakeMcpServer.start()];
    hanging.offerPages(() => new Promise<never>(() => undefined));
    const [on, other] = [await ServersFixture.create(app), await ServersFixture.create(app)];
    const refreshOf = async ({ org, editor }: ServersFixture, name: string, { url }: FakeMcpServer) => {
      const { body } = await editor.post(SERVERS, { workspace_id: org.workspaceId, name, url });
      return () => editor.post(`${SERVERS}/${body.server_id}/refresh`);
    };
    try {
      const names = Array.from({ length: 12 }, (_, n) => `hanging ${n}`);
      const refreshes = await Promise.all(names.map((name) => refreshOf(on, name, hanging)));
      const answers = Promise.all(refreshes.map((refresh) => refresh()));
      while (hanging.count('tools/list') < 4) await new Promise(setImmediate);
      expect((await (await refreshOf(other, 'quick', quick))()).status).toBe(200);
      expect(hanging.count('tools/list')).toBe(4);
      await hanging.close();
      expect((await answers).map(({ status }) => status)).toEqual(names.map(() => 503));
    } finally {
      await hanging.close();
      await quick.close();
    }
  });

  it('leaves slots to others when it calls tools', async () => {
    const remote = await FakeMcpServer.start();
    remote.offer([fakeTool('hanging'), fakeTool('quick')]);
    remote.call = (name) => (name === 'quick' ? { content: [] } : new Promise(() => undefined));
    const disconnect = new AbortController();
    setMaxListeners(0, disconnect.signal);
    const callerIn = async () => {
      const { org, ...on } = await ServersFixture.create(app);
      const { workspaceId: workspace_id } = org;
      const { body } = await on.editor.post(SERVERS, { workspace_id, name: 'fake', url: remote.url });
      const server_id = body.server_id as string;
      await on.editor.post(`${SERVERS}/${server_id}/refresh`);
      const scope = workspaceScope(org.orgId, workspace_id, 'usr_test', expandRoles(['runtime']));
      return (tool_name: string) =>
        app.get(ToolCaller).call(scope, { server_id, tool_name, arguments: {} }, disconnect.signal);
    };
    try {
      const [call, other] = [await callerIn(), await callerIn()];
      const hanging = Promise.allSettled(Array.from({ length: 40 }, () => call('hanging')));
      while (remote.count('tools/call') < 16) await new Promise(setImmediate);
      expect(await other('quick')).toMatchObject({ content: [] });
      expect(remote.count('tools/call')).toBe(17);
      disconnect.abort(new Error('enough'));
      await hanging;
    } finally {
      await remote.close();
    }
  });
});

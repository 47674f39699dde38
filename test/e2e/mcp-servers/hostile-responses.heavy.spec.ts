import { ownApp } from '#testing';
import { expandRoles, workspaceScope } from '#platform/auth';
import { ToolCaller } from '../../../src/mcp-servers';
import { FakeMcpServer, fakeTool } from './fake-mcp-server.fixture';
import { SERVERS, ServersFixture } from './servers.fixture';

const MIB = 1024 * 1024;

/** Most of these responses are within the limit of bytes, but expensive to read. */
describe('hostile responses of a server', () => {
  // enough for 1,000 pages on a slow machine
  const deadlines = { MCP_TIMEOUT_MS: '120000', REQUEST_TIMEOUT_MS: '150000' };
  const app = ownApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8', ...deadlines } });
  let on: ServersFixture;
  let remote: FakeMcpServer;
  let serverId: string;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });
  beforeEach(async () => {
    remote = await FakeMcpServer.start();
    remote.offer([fakeTool('a')]);
    serverId = (await on.register({ url: remote.url })).body.server_id as string;
    await on.editor.post(`${SERVERS}/${serverId}/refresh`);
  });
  afterEach(() => remote.close());

  const test = async (): Promise<any> => (await on.editor.post(`${SERVERS}/${serverId}/test`)).body;
  const failure = (message: string) => ({ ok: false, error: { kind: 'protocol', message } });
  const call = (): Promise<unknown> => {
    const { orgId, workspaceId } = on.org;
    const scope = workspaceScope(orgId, workspaceId, 'usr_test', expandRoles(['runtime']));
    const toolCall = { server_id: serverId, tool_name: 'a', arguments: {} };
    return app.get(ToolCaller).call(scope, toolCall, new AbortController().signal);
  };
  /** Responds to requests with a JSON-RPC method. @param text returns the body for the id of a request */
  const respond = (method: string, type: string, text: (id: string) => string): void => {
    remote.intercept = (_, response, body) => {
      if (!body.includes(`"method":"${method}"`)) return false;
      const { id } = JSON.parse(body) as { id: unknown };
      response.writeHead(200, { 'Content-Type': type }).end(text(JSON.stringify(id)));
      return true;
    };
  };

  it('are rejected if they have 16 MiB of empty objects, which would take 20 times as much memory', async () => {
    const objects = `{}${',{}'.repeat(5 * MIB)}`;
    respond(
      'tools/list',
      'application/json',
      (id) => `{"jsonrpc":"2.0","id":${id},"result":{"tools":[${objects}]}}`,
    );
    expect(await test()).toEqual(failure('The responses of the server are too complex.'));
  });

  it.each(['application/json', 'text/event-stream'])(
    'are rejected if a result is nested 8,000 times: %s',
    async (type) => {
      const deep = '['.repeat(8_000) + ']'.repeat(8_000);
      respond('tools/call', type, (id) => {
        const result = `{"resultType":"complete","content":[],"structuredContent":{"x":${deep}}}`;
        const message = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
        return type === 'application/json' ? message : `data: ${message}\n\n`;
      });
      await expect(call()).rejects.toMatchObject({
        status: 503,
        detail: expect.stringContaining('The responses of the server are nested too deeply.'),
      });
    },
  );

  it.each(['a\n', 'a\r', 'data:{}\n\n'])(
    'are rejected if they have 1 MiB of event lines %j',
    async (line) => {
      respond('tools/list', 'text/event-stream', () => line.repeat(MIB / line.length));
      expect(await test()).toEqual(failure('The responses of the server have too many lines or messages.'));
    },
  );

  it('are rejected if they have 100,000 messages', async () => {
    const batch = `[${Array(100_000).fill('{"jsonrpc":"2.0","method":"a"}').join()}]`;
    respond('tools/list', 'application/json', () => batch);
    expect(await test()).toEqual(failure('The responses of the server have too many lines or messages.'));
  });

  it('are rejected if each stream ends and asks for resumption, after five attempts', async () => {
    remote.intercept = ({ method }, response, body) => {
      if (method !== 'GET' && !body.includes('"method":"tools/call"')) return false;
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end('id: 1\nretry: 0\ndata:\n\n');
      return true;
    };
    await expect(call()).rejects.toMatchObject({
      status: 503,
      detail: expect.stringContaining('The server closed the connection before it responded.'),
    });
    expect(remote.requests.filter(({ method }) => method === 'GET')).toHaveLength(5);
  });

  it('report the error that a resumed stream returns', async () => {
    let id: unknown;
    remote.intercept = (request, response, body) => {
      const isCall = body.includes('"method":"tools/call"');
      if (!isCall && request.method !== 'GET') return false;
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      if (isCall) {
        ({ id } = JSON.parse(body) as { id: unknown });
        response.write('id: 1\nretry: 0\ndata:\n\n');
        setTimeout(() => response.destroy(), 50);
      } else {
        const error = { code: -32602, message: 'no such city' };
        response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, error })}\n\n`);
      }
      return true;
    };
    await expect(call()).rejects.toMatchObject({
      status: 400,
      detail: expect.stringContaining('The server returned the error -32602: no such city'),
    });
  });

  it('are rejected if they list empty pages without end, each with a new cursor', async () => {
    let pages = 0;
    remote.offerPages(() => ({ tools: [], nextCursor: String((pages += 1)) }));
    expect(await test()).toEqual(
      failure('The tool list of the server cannot be used: it has more than 1000 pages.'),
    );
    expect(pages).toBe(1_000);
  }, 180_000);

  it('lose a tool whose schema has more than 256 KiB', async () => {
    remote.offer([fakeTool('b', { inputSchema: { type: 'object', title: 'x'.repeat(256 * 1024) } })]);
    const { tools } = await test();
    expect(tools.skipped).toEqual([
      { name: 'b', reason: 'inputSchema must be an object of at most 256 KiB as JSON' },
    ]);
  });

  it('may have 10,000 tools that cannot be used, with null in every member', async () => {
    const tools = Array.from({ length: 10_000 }, (_, at) => ({
      ...{ name: `t${at}`, title: null, description: null, outputSchema: null, annotations: null },
      inputSchema: { type: 'array', items: null },
    }));
    respond('tools/list', 'application/json', (id) => {
      const result = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools };
      return JSON.stringify({ jsonrpc: '2.0', id, result, error: null });
    });
    const { ok, tools: changes } = await test();
    expect([ok, changes.added, changes.skipped.length]).toEqual([true, [], 10_000]);
  });
});

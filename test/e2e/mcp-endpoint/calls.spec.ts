import { request } from 'node:http';
import { rootLogger } from '#platform/logging';
import { sharedApp, newOrganization, type TestOrganization, until } from '#testing';
import { StoredResultRepository } from '../../../src/mcp-endpoint/results/stored-result.repository';
import { ToolsFixture } from './population.fixture';
import { RegisteredServer } from './registered-server.fixture';

const PAGE = 64 * 1024;

/** Runs tools of a registered MCP server that uses the official SDK. */
describe('call_mcp_tool', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let remote: RegisteredServer;
  let org: TestOrganization;
  let serverId: string;
  let on: ToolsFixture;

  beforeAll(async () => {
    remote = await RegisteredServer.start();
    org = await newOrganization(app);
    const editor = await org.as('editor');
    const body = { workspace_id: org.workspaceId, name: 'remote', url: remote.url };
    serverId = (await editor.post('/mcp/v1/servers', body)).body.server_id as string;
    const refreshed = await editor.post(`/mcp/v1/servers/${serverId}/refresh`);
    expect(refreshed.status).toBe(200);
    on = await ToolsFixture.create(app, org, 'runtime');
    await on.client.listTools();
  });
  afterAll(async () => {
    await on.client.close();
    await remote.close();
  });

  const toolId = async (name: string): Promise<string> => {
    const { items } = await on.result('list_mcp_tools', { server_id: serverId });
    return items.find((one: any) => one.name === name).tool_id;
  };
  const call = (tool_name: string, args: object = {}): Promise<any> =>
    on.call('call_mcp_tool', { server_id: serverId, tool_name, arguments: args });

  it('returns the result of a tool, by its id and by its name', async () => {
    const notLarge = { text: null, result_id: null, next_offset: null, size_bytes: null };
    const tool_id = await toolId('echo');
    const expected = {
      tool_id,
      is_error: false,
      content: [{ type: 'text', text: 'häl\nlo' }],
      structured_content: null,
      ...notLarge,
    };
    const args = { arguments: { text: 'häl\nlo' } };
    expect(await on.result('call_mcp_tool', { tool_id, ...args })).toEqual(expected);
    expect((await call('echo', args.arguments)).structuredContent).toEqual(expected);
    expect((await call('structured')).structuredContent).toMatchObject({
      structured_content: { degrees: 21 },
    });
  });

  it('takes a tool from the lists of servers and tools', async () => {
    const search = await on.client.callTool({
      name: 'list_mcp_servers',
      arguments: { workspace_id: org.workspaceId },
    });
    expect(search.structuredContent.items[0].server_id).toBe(serverId);
    const tool = await on.result('get_mcp_tool', { tool_id: await toolId('repeat') });
    expect(tool.input_schema.properties).toMatchObject({ count: { type: 'number' } });
  });

  it('reports that the tool failed', async () => {
    const { isError, structuredContent } = await call('fail');
    expect([isError, structuredContent.is_error, structuredContent.content[0].text]).toEqual([
      true,
      true,
      'No such city.',
    ]);
  });

  it('reports the failure of a registered server, which is not logged as a failure of this service', async () => {
    const logged = jest.spyOn(rootLogger, 'error');
    const tools = [{ name: 'away', input_schema: { type: 'object' } }];
    const body = { workspace_id: org.workspaceId, name: 'private', url: 'http://10.0.0.7/mcp', tools };
    const { server_id } = (await (await org.as('editor')).post('/mcp/v1/servers', body)).body;
    const args = { server_id, tool_name: 'away' };
    const { isError, content, structuredContent, _meta } = await on.call('call_mcp_tool', args);
    expect([isError, structuredContent]).toEqual([true, undefined]);
    expect(content[0].text).toMatch(
      /^MCP server private failed \(blocked_address\): The address of the server/,
    );
    expect(_meta.problem.code).toBe('service_unavailable');
    expect(logged).not.toHaveBeenCalled();
  });

  it('attaches pictures, and leaves out those that are too large', async () => {
    const { content, structuredContent } = await call('picture');
    expect(content.slice(1)).toEqual([
      { type: 'image', mimeType: 'image/png', data: Buffer.alloc(8).toString('base64') },
    ]);
    expect(structuredContent.content[1]).toEqual({
      type: 'image',
      mimeType: 'image/png',
      size_bytes: 9,
      is_attached: true,
    });
    const large = await call('picture', { count: 1_000_000 });
    expect([large.content.length, large.structuredContent.content[1].is_attached]).toEqual([1, false]);
  });

  it('leaves out members of texts and pictures that would exceed the limits', async () => {
    const count = 1024 * 1024;
    const ofText = await call('burdened', { text: 'text', count });
    expect(ofText.structuredContent.content).toEqual([{ type: 'text', text: 'light' }]);
    expect(JSON.stringify(ofText).length).toBeLessThan(2_000);
    const ofImage = await call('burdened', { text: 'image', count });
    const mimeType = `image/${'x'.repeat(249)}`;
    expect(ofImage.content.slice(1)).toEqual([{ type: 'image', mimeType, data: '' }]);
    expect(ofImage.structuredContent.content).toEqual([
      { type: 'image', mimeType, size_bytes: 0, is_attached: true },
    ]);
    expect(JSON.stringify(ofImage).length).toBeLessThan(4_000);
  });

  it('applies the limit to the JSON of the result', async () => {
    // a control character is six bytes in JSON
    const { structuredContent } = await call('repeat', { text: '\u0001', count: PAGE / 4 });
    expect(structuredContent).toMatchObject({ content: [], size_bytes: PAGE / 4 });
  });

  it('stops a batch when its results are too large together', async () => {
    const member = app.api(await org.token('runtime'));
    const args = { server_id: serverId, workspace_id: org.workspaceId, tool_name: 'picture' };
    const params = { name: 'call_mcp_tool', arguments: { ...args, arguments: { count: 700_000 } } };
    const batch = Array.from({ length: 6 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params,
    }));
    const { status, body } = await member.post('/mcp', batch);
    expect(status).toBe(200);
    const outcomes = body.map(({ id, result, error }: any) => [id, result?.content.length ?? error.code]);
    expect(outcomes).toEqual([
      [0, 2],
      [1, 2],
      [2, 2],
      [3, -32000],
      [4, -32000],
      [5, -32000],
    ]);
    const log = await (
      await org.member('admin')
    ).get('/registry/v1/audit-log?action=call&resource_type=tool');
    const names = log.body.items.flatMap(({ changes }: any) => changes.map(({ after }: any) => after));
    expect(names.slice(0, 8).filter((name: string) => name === 'picture')).toHaveLength(3);
  });

  it.each([
    ['neither', {}],
    ['only the server', { server_id: 'mcps_x' }],
    ['both', { tool_id: 'tool_x', server_id: 'mcps_x', tool_name: 'x' }],
  ])('explains how to name the tool if the call names %s', async (_, args) => {
    expect(await on.problem('call_mcp_tool', args)).toMatchObject({
      code: 'invalid_request',
      text: expect.stringContaining('by tool_id, or by server_id and tool_name') as string,
    });
  });

  it.each([
    ['tool', () => ({ server_id: serverId, tool_name: 'missing' })],
    ['server', () => ({ server_id: 'mcps_x', tool_name: 'echo' })],
    ['id', () => ({ tool_id: 'tool_x' })],
  ])('returns not_found for an unknown %s', async (_, args) => {
    expect((await on.problem('call_mcp_tool', args())).code).toBe('not_found');
  });

  it('returns a tool error if the server cannot be reached', async () => {
    const editor = await org.as('editor');
    const { body } = await editor.post('/mcp/v1/servers', {
      workspace_id: org.workspaceId,
      name: 'gone',
      url: 'http://127.0.0.1:9/mcp',
      tools: [{ name: 'echo', input_schema: { type: 'object' } }],
    });
    const { code } = await on.problem('call_mcp_tool', { server_id: body.server_id, tool_name: 'echo' });
    expect(code).toBe('service_unavailable');
  });

  it('aborts the call at the server when the client disconnects', async () => {
    const token = await org.token('runtime');
    const args = { workspace_id: org.workspaceId, server_id: serverId, tool_name: 'hang' };
    const params = { name: 'call_mcp_tool', arguments: args };
    const sending = request(`${app.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    sending.on('error', () => undefined);
    sending.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
    await until(() => remote.started > 0);
    sending.destroy();
    await until(() => remote.aborted > 0);
  });

  describe('with a large result', () => {
    const large = async (text: string, count: number): Promise<any> =>
      (await call('repeat', { text, count })).structuredContent;

    it('returns it in parts', async () => {
      const result = await large('häé€😀', 50_000);
      expect(result).toMatchObject({ content: [], structured_content: null, is_error: false });
      expect(result.result_id).toMatch(/^mcpr_/);
      let { text, next_offset } = result;
      let parts = 1;
      for (; next_offset !== null; parts++) {
        const page: any = await on.result('read_result', {
          result_id: result.result_id,
          offset: next_offset,
        });
        expect(Buffer.byteLength(page.text as string)).toBeLessThanOrEqual(PAGE);
        text += page.text;
        next_offset = page.next_offset;
      }
      expect([text === 'häé€😀'.repeat(50_000), parts]).toEqual([true, Math.ceil(result.size_bytes / PAGE)]);
    });

    it('lets the caller read it through another API process', async () => {
      const { result_id } = await large('x', 100_000);
      const second = await app.another();
      const token = await org.tokenOf('usr_reader', { roles: ['runtime'] });
      const here = await ToolsFixture.createWith(app, org, token);
      const called = await here.call('call_mcp_tool', {
        server_id: serverId,
        tool_name: 'repeat',
        arguments: { count: 100_000 },
      });
      const there = await ToolsFixture.createWith(second, org, token);
      const own = { result_id: called.structuredContent.result_id };
      expect((await there.result('read_result', own)).text).toHaveLength(PAGE);
      // the first result belongs to another principal
      expect((await there.problem('read_result', { result_id })).code).toBe('not_found');
      await Promise.all([here.client.close(), there.client.close()]);
      await second.close();
    });

    it('does not let the caller read it in another workspace', async () => {
      const { result_id } = await large('x', 100_000);
      const otherWorkspace = await org.newWorkspace();
      expect((await on.problem('read_result', { result_id, workspace_id: otherWorkspace })).code).toBe(
        'not_found',
      );
      expect((await on.result('read_result', { result_id })).size_bytes).toBe(100_000);
    });

    it('does not let a principal of another type with the same id read it', async () => {
      const { result_id } = await large('x', 100_000);
      const [row] = await app.database.query<{ principal_id: string; principal_type: string }>(
        `SELECT principal_id, principal_type FROM mcp_stored_results WHERE result_id = '${result_id}'`,
      );
      expect(row).toMatchObject({ principal_type: 'user' });
      await app.database.query(
        `UPDATE mcp_stored_results SET principal_type = 'service_account' WHERE result_id = '${result_id}'`,
      );
      expect((await on.problem('read_result', { result_id })).code).toBe('not_found');
    });

    it('keeps it for an hour, and then deletes it', async () => {
      const { result_id } = await large('x', 100_000);
      const age = (minutes: number) =>
        app.database.query(
          `UPDATE mcp_stored_results SET created_at = now() - interval '${minutes} minutes' WHERE result_id = '${result_id}'`,
        );
      await age(59);
      expect((await on.result('read_result', { result_id })).text).toHaveLength(PAGE);
      await age(61);
      expect((await on.problem('read_result', { result_id })).code).toBe('not_found');
      await app.get(StoredResultRepository).deleteExpired();
      const left = await app.database.query(
        `SELECT 1 FROM mcp_stored_results WHERE result_id = '${result_id}'`,
      );
      expect(left).toEqual([]);
    });

    it('replaces the oldest result of the caller beyond 20', async () => {
      const first = await large('x', 100_000);
      for (let i = 0; i < 20; i++) await large('x', 100_000);
      expect((await on.problem('read_result', { result_id: first.result_id })).code).toBe('not_found');
    });
  });
});

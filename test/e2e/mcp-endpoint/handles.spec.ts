import { SecretKeys } from '#platform/secrets';
import { sharedApp, newOrganization, type TestOrganization } from '#testing';
import { connect, type TestMcpClient } from './clients.fixture';

/** How calls name their workspace. */
describe('the workspace of a call', () => {
  const app = sharedApp();
  let org: TestOrganization;
  const clients: TestMcpClient[] = [];

  const connected = async (
    token: string,
    headers: Record<string, string> = {},
    url = app.url,
  ): Promise<TestMcpClient> => {
    const client = await connect(url, token, 'auto', headers);
    clients.push(client);
    return client;
  };
  const call = async (client: TestMcpClient, name: string, args: object = {}): Promise<any> =>
    client.callTool({ name, arguments: { ...args } });
  const open = async (client: TestMcpClient, args: object = {}): Promise<any> => {
    const { isError, structuredContent, content } = await call(client, 'mcp__initialise', args);
    if (isError) throw new Error(content[0].text);
    return structuredContent;
  };
  const textOf = async (client: TestMcpClient, name: string, args: object = {}): Promise<string> => {
    const { isError, content } = await call(client, name, args);
    expect(isError).toBe(true);
    return content[0].text;
  };

  beforeEach(async () => {
    org = await newOrganization(app);
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });

  it('is the one of the session handle, which is valid for a day', async () => {
    const client = await connected(await org.token('viewer'));
    const { session_handle, workspace_id, expires_at } = await open(client);
    expect(workspace_id).toBe(org.workspaceId);
    const hours = (Date.parse(expires_at as string) - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(24);
    expect((await call(client, 'list_agents', { session_handle })).structuredContent.items).toEqual([]);
  });

  it('can be opened with the former name of the tool', async () => {
    const client = await connected(await org.token('viewer'));
    const { isError, structuredContent } = await call(client, 'registry__initialise');
    expect([isError, structuredContent.workspace_id]).toEqual([undefined, org.workspaceId]);
  });

  it('must be named', async () => {
    const client = await connected(await org.token('viewer'));
    expect(await textOf(client, 'list_agents')).toContain('Call mcp__initialise first');
  });

  it('can be named by the header', async () => {
    const otherWorkspace = await org.newWorkspace();
    const client = await connected(await org.token('viewer'), { 'x-service-workspace-id': otherWorkspace });
    expect((await open(client)).workspace_id).toBe(otherWorkspace);
    expect((await call(client, 'list_agents')).isError).toBeUndefined();
    const { session_handle } = await open(client, { workspace_id: org.workspaceId });
    expect((await call(client, 'list_agents', { session_handle })).isError).toBeUndefined();
  });

  it('is chosen from the workspaces that the caller has access to', async () => {
    const otherWorkspace = await org.newWorkspace('other');
    const hidden = await org.newWorkspace('hidden');
    const token = await org.tokenOf('usr_some', {
      roles: ['viewer'],
      workspace_ids: [org.workspaceId, otherWorkspace],
    });
    const client = await connected(token);
    const text = await textOf(client, 'mcp__initialise');
    expect(text).toContain(`${otherWorkspace} ("other")`);
    expect(text).toContain(`${org.workspaceId} ("main")`);
    expect(text).not.toContain(hidden);
    expect((await open(client, { workspace_id: otherWorkspace })).workspace_id).toBe(otherWorkspace);
    expect(await textOf(client, 'mcp__initialise', { workspace_id: hidden })).toContain('not_found');
    expect(await textOf(client, 'list_agents', { workspace_id: hidden })).toContain('not_found');
  });

  it('is chosen from at most 50 workspaces in the error', async () => {
    for (let i = 0; i < 51; i++) await org.newWorkspace(`w${i}`);
    const client = await connected(await org.token('owner'));
    const text = await textOf(client, 'mcp__initialise');
    expect(text.match(/wsp_/g)).toHaveLength(50);
    expect(text).toContain(', and more');
  });

  it('is the only live one by default', async () => {
    const archived = await org.newWorkspace('archived');
    const owner = await org.member('owner');
    expect((await owner.post(`/registry/v1/workspaces/${archived}/archive`)).status).toBe(200);
    const client = await connected(await org.token('viewer'));
    expect((await open(client)).workspace_id).toBe(org.workspaceId);
  });

  it('can be read but not changed once it is archived', async () => {
    const archived = await org.newWorkspace('archived');
    const owner = await org.member('owner');
    await owner.post(`/registry/v1/workspaces/${archived}/archive`);
    const client = await connected(await org.token('owner'));
    const { session_handle } = await open(client, { workspace_id: archived });
    expect((await call(client, 'list_agents', { session_handle })).isError).toBeUndefined();
    const start = { session_handle, scorer_id: 'scr_x', since: '2026-01-01T00:00:00Z' };
    expect(await textOf(client, 'start_scoring_run', start)).toContain('conflict');
  });

  it('is not opened by the handle of another principal', async () => {
    const { session_handle } = await open(await connected(await org.token('owner')));
    const other = await connected(await org.token('owner'));
    expect(await textOf(other, 'list_agents', { session_handle })).toContain('not valid for you');
    const stranger = await connected(await (await newOrganization(app)).token('owner'));
    expect(await textOf(stranger, 'list_agents', { session_handle })).toContain('not valid for you');
  });

  it.each([
    ['forged', () => 'v1.0000.AAAA'],
    ['altered', (handle: string) => handle.slice(0, -4) + (handle.endsWith('AAAA') ? 'BBBB' : 'AAAA')],
    ['empty', () => ''],
    ['truncated', (handle: string) => handle.slice(0, 20)],
    ['another text', () => 'a b c'],
  ])('is not opened by a handle that is %s', async (_, change) => {
    const client = await connected(await org.token('viewer'));
    const { session_handle } = await open(client);
    const handle = change(session_handle as string);
    expect(await textOf(client, 'list_agents', { session_handle: handle })).toContain('not valid for you');
  });

  it('is not opened by a handle that has expired', async () => {
    const client = await connected(await org.tokenOf('usr_late', { roles: ['viewer'] }));
    const handle = (expires: number): string => {
      const content = `${expires} ${org.workspaceId}`;
      const signed = JSON.stringify([org.orgId, 'user', 'usr_late', content]);
      const mac = app.get(SecretKeys).mac('mcp session', signed);
      return `${Buffer.from(content).toString('base64url')}.${mac.toString('base64url')}`;
    };
    expect(
      (await call(client, 'list_agents', { session_handle: handle(Date.now() + 60_000) })).isError,
    ).toBeUndefined();
    expect(await textOf(client, 'list_agents', { session_handle: handle(Date.now() - 1) })).toContain(
      'has expired',
    );
  });

  it('is not opened by a handle after the caller has lost access to it', async () => {
    const owner = await org.member('owner');
    const otherWorkspace = await org.newWorkspace();
    const member = `/registry/v1/workspaces/${otherWorkspace}/members/usr_left`;
    const token = await org.tokenOf('usr_left');
    await app.api(token).get('/registry/v1/me');
    expect((await owner.put(member, { roles: ['viewer'] })).status).toBe(201);
    const client = await connected(token);
    const { session_handle } = await open(client);
    await owner.delete(member);
    const refused = await call(client, 'list_agents', { session_handle }).catch((error: unknown) => error);
    expect(JSON.stringify(refused, Object.getOwnPropertyNames(refused))).toMatch(/not_found|403/);
  });

  it('is rejected if handle and workspace_id differ', async () => {
    const otherWorkspace = await org.newWorkspace();
    const client = await connected(await org.token('viewer'));
    const { session_handle } = await open(client, { workspace_id: org.workspaceId });
    const args = { session_handle, workspace_id: otherWorkspace };
    expect(await textOf(client, 'list_agents', args)).toContain('not the workspace of the session_handle');
  });

  it('is known to every API process by its handle', async () => {
    const second = await app.another();
    try {
      const token = await org.token('viewer');
      const { session_handle } = await open(await connected(token));
      const other = await connected(token, {}, second.url);
      expect((await call(other, 'list_agents', { session_handle })).isError).toBeUndefined();
    } finally {
      await Promise.all(clients.splice(0).map((client) => client.close()));
      await second.close();
    }
  });
});

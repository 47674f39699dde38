import { sharedApp, newOrganization, type TestOrganization } from '#testing';
import { CLIENT_MODES, connect, type TestMcpClient } from './clients.fixture';

/** Sessions of the MCP endpoint, with the official clients. */
describe('the MCP endpoint', () => {
  const app = sharedApp();
  let org: TestOrganization;
  const clients: TestMcpClient[] = [];

  const as = async (mode: (typeof CLIENT_MODES)[number], ...roles: any[]): Promise<TestMcpClient> => {
    const client = await connect(app.url, await org.token(...roles), mode);
    clients.push(client);
    return client;
  };

  beforeEach(async () => {
    org = await newOrganization(app);
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });

  it.each(CLIENT_MODES)('opens a session and searches (client %s)', async (mode) => {
    const made = await (
      await org.as('editor')
    ).post('/skill/v1/skills', {
      workspace_id: org.workspaceId,
      name: 'invoices',
      description: 'Checks invoices.',
      instructions: 'x',
    });
    const client = await as(mode, 'viewer');
    const { tools } = await client.listTools();
    expect(tools[0]).toMatchObject({ name: 'mcp__initialise', title: 'Open a session' });
    expect(tools.map(({ name }: any) => name)).not.toContain('registry__initialise');
    const opened = await client.callTool({ name: 'mcp__initialise', arguments: {} });
    expect(opened.structuredContent).toEqual({
      session_handle: expect.any(String),
      workspace_id: org.workspaceId,
      org_id: org.orgId,
      expires_at: expect.any(String),
      instructions: expect.stringContaining('mcp__initialise'),
    });
    const { session_handle } = opened.structuredContent;
    const search = await client.callTool({
      name: 'search_registry',
      arguments: { session_handle, query: 'invoices' },
    });
    const { skill_id: id } = made.body;
    expect([search.isError, search.structuredContent]).toEqual([
      undefined,
      {
        items: [{ type: 'skill', id, name: 'invoices', description: 'Checks invoices.' }],
        next_offset: null,
      },
    ]);
  });
});

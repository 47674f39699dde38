import { sharedApp } from '#testing';
import { populate, type Population, ToolsFixture } from './population.fixture';

/** The audit log records every call. */
describe('the audit log of the MCP endpoint', () => {
  const app = sharedApp();
  let has: Population;

  beforeEach(async () => {
    has = await populate(app);
  });

  const entries = async (): Promise<any[]> => {
    const admin = await has.org.member('admin');
    const { status, body } = await admin.get('/registry/v1/audit-log?action=call&resource_type=tool');
    expect(status).toBe(200);
    return body.items.map(({ resource_id, workspace_id, changes }: any) => [
      resource_id,
      workspace_id,
      Object.fromEntries(changes.map(({ member, after }: any) => [member, after])),
    ]);
  };

  it('records calls by the name of the tool, and calls of registered tools by its id', async () => {
    const on = await ToolsFixture.create(app, has.org, 'editor');
    await on.result('list_agents');
    await on.result('mcp__initialise');
    await on.client.callTool({ name: 'registry__initialise', arguments: {} });
    await on.call('call_mcp_tool', { tool_id: has.toolId, arguments: { city: 'Berlin' } });
    const { workspaceId } = has.org;
    expect(await entries()).toEqual([
      [has.toolId, workspaceId, { name: 'forecast', server_id: has.serverId }],
      ['mcp__initialise', workspaceId, {}],
      ['mcp__initialise', workspaceId, {}],
      ['list_agents', workspaceId, {}],
    ]);
    await on.client.close();
  });

  it('records refused calls with the reason', async () => {
    const on = await ToolsFixture.create(app, has.org, 'viewer');
    const scorer = { scorer_id: has.scorerId, trace_ids: [has.traceId] };
    await on.problem('start_scoring_run', scorer);
    await on.problem('list_agents', { limit: 0 });
    await on.problem('list_agents', { workspace_id: 'wsp_x' });
    await on.problem('call_mcp_tool', { tool_id: has.toolId });
    await expect(on.call('drop_tables')).rejects.toMatchObject({ code: -32602 });
    const { workspaceId } = has.org;
    expect(await entries()).toEqual([
      ['drop_tables', null, { refused: 'not_found' }],
      [has.toolId, workspaceId, { refused: 'access_denied', name: 'forecast', server_id: has.serverId }],
      ['list_agents', null, { refused: 'not_found' }],
      ['list_agents', workspaceId, { refused: 'invalid_request' }],
      ['start_scoring_run', workspaceId, { refused: 'access_denied', scorer_id: has.scorerId }],
    ]);
    await on.client.close();
  });

  it('shows refused calls to the admins of their workspace', async () => {
    const on = await ToolsFixture.create(app, has.org, 'viewer');
    const other = await populate(app);
    await on.problem('call_mcp_tool', { tool_id: other.toolId });
    await on.client.close();
    const { workspaceId, orgId } = has.org;
    const token = await has.org.tokenOf('usr_local', { roles: ['admin'], workspace_ids: [workspaceId] });
    const { body } = await app.api(token).get('/registry/v1/audit-log?action=call&resource_type=tool');
    expect(body.items).toMatchObject([
      {
        org_id: orgId,
        workspace_id: workspaceId,
        resource_id: 'call_mcp_tool',
        // without the id of the other tenant's tool
        changes: [{ member: 'refused', after: 'access_denied' }],
      },
    ]);
  });

  it('records the caller and the id of the request', async () => {
    const token = await has.org.tokenOf('usr_caller', { roles: ['viewer'] });
    const params = { name: 'list_agents', arguments: { workspace_id: has.org.workspaceId } };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    await app.api(token).post('/mcp', message, { 'x-request-id': 'request-of-mcp' });
    const admin = await has.org.member('admin');
    const { body } = await admin.get('/registry/v1/audit-log?action=call');
    expect(body.items).toMatchObject([
      { principal_id: 'usr_caller', request_id: 'request-of-mcp', resource_id: 'list_agents' },
    ]);
  });

  it('is written before the tool runs, and the tool does not run if that fails', async () => {
    const on = await ToolsFixture.create(app, has.org, 'evaluator');
    await on.client.listTools();
    const constraint = "ALTER TABLE audit_log ADD CONSTRAINT no_calls CHECK (action <> 'call') NOT VALID";
    await app.database.query(constraint);
    try {
      const args = { scorer_id: has.scorerId, trace_ids: [has.traceId] };
      expect((await on.problem('start_scoring_run', args)).code).toBe('validation_failed');
    } finally {
      await app.database.query('ALTER TABLE audit_log DROP CONSTRAINT no_calls');
    }
    const runs = await (await has.org.as('viewer')).get('/eval/v1/score-runs');
    expect(runs.body.items).toEqual([]);
    await on.client.close();
  });
});

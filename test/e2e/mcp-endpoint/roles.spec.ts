import { type Role, ROLES } from '#platform/auth';
import { type ApiClient, sharedApp } from '#testing';
import { populate, type Population, ToolsFixture } from './population.fixture';

/** The operation of the API that corresponds to a tool. */
type Operation = (api: ApiClient) => Promise<{ status: number; body: any }>;

/** A tool requires the same roles as the corresponding operation of the API. */
describe('the roles of each tool', () => {
  const app = sharedApp();
  let has: Population;
  let cases: [tool: string, args: Record<string, unknown>, operation: Operation][];

  beforeAll(async () => {
    has = await populate(app);
    const { agentId, skillId, fileId, serverId, toolId, experimentId, scorerId, traceId } = has;
    const get =
      (path: string): Operation =>
      (api) =>
        api.get(path);
    const score = { trace_ids: [traceId] };
    cases = [
      ['search_registry', { query: 'x' }, (api) => api.post('/registry/v1/search', { query: 'x' })],
      ['list_agents', {}, get('/agent/v1/agents')],
      ['get_agent', { agent_id: agentId }, get(`/agent/v1/agents/${agentId}`)],
      ['list_skills', {}, get('/skill/v1/skills')],
      ['get_skill', { skill_id: skillId }, get(`/skill/v1/skills/${skillId}`)],
      [
        'read_skill_file',
        { skill_id: skillId, path: 'SKILL.md' },
        get(`/skill/v1/skills/${skillId}/versions/1/content`),
      ],
      ['list_files', {}, get('/file/v1/files')],
      ['read_file', { file_id: fileId }, get(`/file/v1/files/${fileId}/content`)],
      ['list_mcp_servers', {}, get('/mcp/v1/servers')],
      ['list_mcp_tools', { server_id: serverId }, get(`/mcp/v1/servers/${serverId}/tools`)],
      ['get_mcp_tool', { tool_id: toolId }, get(`/mcp/v1/servers/${serverId}/tools/${toolId}`)],
      ['list_store_items', {}, get('/store/v1/items')],
      ['get_store_item', { store_item_id: 'item_x' }, get('/store/v1/items/item_x')],
      ['list_datasets', {}, get('/eval/v1/datasets')],
      ['list_experiments', {}, get('/eval/v1/experiments')],
      ['get_experiment', { experiment_id: experimentId }, get(`/eval/v1/experiments/${experimentId}`)],
      ['list_scorers', {}, get('/eval/v1/scorers')],
      [
        'start_scoring_run',
        { scorer_id: scorerId, ...score },
        (api) => api.post(`/eval/v1/scorers/${scorerId}/score`, score),
      ],
      ['get_scoring_run', { score_run_id: 'run_x' }, get('/eval/v1/score-runs/run_x')],
    ];
  });

  const CALLERS = ROLES.filter((role) => role !== 'viewer' && role !== 'annotator');

  /** The tools without a corresponding operation, and the roles that they require. */
  const OWN: Readonly<Record<string, readonly Role[]>> = {
    mcp__initialise: ROLES,
    call_mcp_tool: CALLERS,
    read_result: CALLERS,
  };

  it.each(ROLES)(
    'match the roles of the corresponding operation, and decide what is listed, allowed and mentioned: %s',
    async (role) => {
      const on = await ToolsFixture.create(app, has.org, role);
      const api = await has.org.as(role);
      const listed: string[] = (await on.client.listTools()).tools.map(({ name }: any) => name);
      const outcomes = [];
      const expected = [];
      for (const [tool, args, operation] of cases) {
        const { isError, _meta } = await on.call(tool, args);
        const { status, body } = await operation(api);
        outcomes.push([tool, isError ? _meta.problem.code : 'done', listed.includes(tool)]);
        expected.push([tool, status < 300 ? 'done' : body.code, body.code !== 'access_denied']);
      }
      expect(outcomes).toEqual(expected);

      // the endpoint’s own tools
      for (const [tool, roles] of Object.entries(OWN)) {
        expect([tool, listed.includes(tool)]).toEqual([tool, roles.includes(role)]);
      }
      for (const [tool, args] of [
        ['call_mcp_tool', { tool_id: 'tool_x' }],
        ['read_result', { result_id: 'mcpr_x' }],
      ] as const) {
        const { code } = await on.problem(tool, args);
        expect([tool, code]).toEqual([tool, OWN[tool]!.includes(role) ? 'not_found' : 'access_denied']);
      }

      // the instructions mention only listed tools
      const all = [...cases.map(([tool]) => tool), ...Object.keys(OWN)];
      const { instructions } = await on.result('mcp__initialise');
      expect(on.client.getInstructions()).toBe(instructions);
      const named = all.filter((name) => instructions.includes(name));
      expect(named.filter((name) => !listed.includes(name))).toEqual([]);
      const guided = [
        'mcp__initialise',
        'search_registry',
        'get_skill',
        'call_mcp_tool',
        'start_scoring_run',
      ];
      expect(named).toEqual(expect.arrayContaining(guided.filter((name) => listed.includes(name))));
      await on.client.close();
    },
  );

  it('are tested for every tool', async () => {
    const on = await ToolsFixture.create(app, has.org, 'owner');
    const listed = (await on.client.listTools()).tools.map(({ name }: any) => name);
    expect([...cases.map(([tool]) => tool), ...Object.keys(OWN)].sort()).toEqual(listed.sort());
    await on.client.close();
  });

  it('do not count outside their workspace', async () => {
    const otherWorkspace = await has.org.newWorkspace();
    const token = await has.org.tokenOf('usr_mixed');
    await app.api(token).get('/registry/v1/me');
    const owner = await has.org.member('owner');
    for (const [workspace, role] of [
      [has.org.workspaceId, 'viewer'],
      [otherWorkspace, 'evaluator'],
    ] as const) {
      await owner.put(`/registry/v1/workspaces/${workspace}/members/usr_mixed`, { roles: [role] });
    }
    const on = await ToolsFixture.createWith(app, has.org, token);
    const args = { scorer_id: has.scorerId, trace_ids: [has.traceId] };
    expect((await on.problem('start_scoring_run', args)).code).toBe('access_denied');
    expect((await on.problem('start_scoring_run', { ...args, workspace_id: otherWorkspace })).code).toBe(
      'not_found',
    );
    const listed = (await on.client.listTools()).tools.map(({ name }: any) => name);
    expect(listed).toContain('start_scoring_run');
    await on.client.close();
  });

  it('exclude callers without any role, and platform principals', async () => {
    const nobody = app.api(await has.org.tokenOf('usr_nobody', { roles: [] }));
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await nobody.post('/mcp', message)).body.code).toBe('access_denied');
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const platform = app.api(await app.issuer.issueToken(claims));
    expect((await platform.post('/mcp', message)).body.code).toBe('platform_principal_refused');
  });
});

import { ownApp, createTestWorker, until } from '#testing';
import { FIELDS, INSTRUCTIONS, populate, type Population, ToolsFixture } from './population.fixture';

/** The results of each tool. The client validates them against the output schemas. */
describe('the tools of the MCP endpoint', () => {
  const app = ownApp();
  let has: Population;
  let on: ToolsFixture;

  beforeAll(async () => {
    has = await populate(app);
    on = await ToolsFixture.create(app, has.org, 'admin');
    // the client validates against the schemas that it has listed
    await on.client.listTools();
  });
  afterAll(async () => {
    await on.client.close();
  });

  it('have descriptions, schemas and hints for models', async () => {
    const { tools } = await on.client.listTools();
    expect(tools.map(({ name }: any) => name)).toEqual([
      'mcp__initialise',
      'search_registry',
      'list_agents',
      'get_agent',
      'list_skills',
      'get_skill',
      'read_skill_file',
      'list_files',
      'read_file',
      'list_mcp_servers',
      'list_mcp_tools',
      'get_mcp_tool',
      'call_mcp_tool',
      'read_result',
      'list_store_items',
      'get_store_item',
      'list_datasets',
      'list_experiments',
      'get_experiment',
      'list_scorers',
      'start_scoring_run',
      'get_scoring_run',
    ]);
    for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
      expect([name, typeof title, description.length > 80]).toEqual([name, 'string', true]);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(outputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(Object.keys(annotations as object).sort()).toEqual([
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
        'readOnlyHint',
      ]);
      if (name === 'mcp__initialise') continue;
      expect(inputSchema.properties).toMatchObject({ session_handle: {}, workspace_id: {} });
    }
  });

  it('search the workspace', async () => {
    const { items } = await on.result('search_registry', { query: 'forms' });
    expect(items[0]).toEqual({
      type: 'skill',
      id: has.skillId,
      name: 'pdf-forms',
      description: 'Fills PDF forms.',
    });
    const tools = await on.result('search_registry', { query: 'forecast', types: ['tool'] });
    expect(tools.items).toMatchObject([{ type: 'tool', id: has.toolId }]);
  });

  it('list and read agents', async () => {
    expect(await on.result('list_agents', { q: 'paper' })).toEqual({
      items: [
        {
          agent_id: has.agentId,
          name: 'clerk',
          display_name: null,
          description: 'Does paperwork.',
          model: null,
        },
      ],
      next_cursor: null,
    });
    expect(await on.result('get_agent', { agent_id: has.agentId })).toEqual({
      agent_id: has.agentId,
      name: 'clerk',
      display_name: null,
      description: 'Does paperwork.',
      model: null,
      instructions: 'You are a clerk.',
      next_offset: null,
      tools: [{ server_id: has.serverId, tool_name: 'forecast' }],
      skills: [{ skill_id: has.skillId, version_ordinal: null }],
      required_permissions: [],
      next_list_offset: null,
      max_step_count: 50,
      version_ordinal: 1,
      is_archived: false,
    });
  });

  it('list and read skills with their files', async () => {
    const { items } = await on.result('list_skills');
    expect(items).toEqual([
      { skill_id: has.skillId, name: 'pdf-forms', description: 'Fills PDF forms.', version_ordinal: 1 },
    ]);
    const skill = await on.result('get_skill', { skill_id: has.skillId });
    expect(skill).toMatchObject({ instructions: INSTRUCTIONS, next_offset: null, file_count: 3 });
    expect(skill.files.map(({ path }: any) => path)).toEqual([
      'SKILL.md',
      'logo.png',
      'references/fields.md',
    ]);
    const read = (path: string) => on.result('read_skill_file', { skill_id: has.skillId, path });
    expect(await read('references/fields.md')).toEqual({
      skill_id: has.skillId,
      version_ordinal: 1,
      path: 'references/fields.md',
      size_bytes: FIELDS.length,
      text: FIELDS,
      next_offset: null,
      content_url: null,
    });
    expect(await read('logo.png')).toMatchObject({
      text: null,
      content_url: `/skill/v1/skills/${has.skillId}/versions/1/content`,
    });
    const missing = await on.problem('read_skill_file', { skill_id: has.skillId, path: '../etc/passwd' });
    expect(missing.code).toBe('not_found');
  });

  it('list and read files', async () => {
    expect((await on.result('list_files', { media_type: 'text/csv' })).items).toEqual([
      {
        file_id: has.fileId,
        name: 'table.csv',
        media_type: 'text/csv',
        size_bytes: 8,
        version_ordinal: 1,
      },
    ]);
    expect(await on.result('read_file', { file_id: has.fileId })).toMatchObject({
      text: 'a,b\n1,2\n',
      next_offset: null,
      content_url: `/file/v1/files/${has.fileId}/versions/1/content`,
    });
  });

  it('list MCP servers, and their tools with the schema of the arguments', async () => {
    expect((await on.result('list_mcp_servers')).items).toEqual([
      { server_id: has.serverId, name: 'weather', description: 'Forecasts.', health: 'unknown' },
    ]);
    const summary = {
      tool_id: has.toolId,
      server_id: has.serverId,
      name: 'forecast',
      title: 'Forecast',
      description: 'Tells the weather of a city.',
    };
    expect((await on.result('list_mcp_tools', { server_id: has.serverId })).items).toEqual([summary]);
    const whole = {
      ...summary,
      input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      annotations: null,
      is_archived: false,
      is_truncated: false,
      content_url: null,
    };
    expect(await on.result('get_mcp_tool', { tool_id: has.toolId })).toEqual(whole);
    // as an agent names its tools
    const named = { server_id: has.serverId, tool_name: 'forecast' };
    expect(await on.result('get_mcp_tool', named)).toEqual(whole);
  });

  describe('with a wrong argument', () => {
    it.each<[string, string, () => Record<string, string>, RegExp]>([
      ['a name instead of an id', 'get_agent', () => ({ agent_id: 'clerk' }), /agent_id must be an id/],
      [
        'the name of a dataset',
        'list_experiments',
        () => ({ dataset_id: 'cases' }),
        /dataset cases does not exist.*dataset_id must be an id/,
      ],
      [
        'a misspelt path',
        'read_skill_file',
        () => ({ skill_id: has.skillId, path: 'SKILL.MD' }),
        /no file with this path. Paths are case-sensitive\.$/,
      ],
      [
        'a tool of a server that has not listed its tools',
        'get_mcp_tool',
        () => ({ server_id: has.serverId, tool_name: 'forecasts' }),
        /server has not listed its tools yet\. Refresh the server\.$/,
      ],
      ['an unknown workspace', 'mcp__initialise', () => ({ workspace_id: 'wsp_x' }), /Omit workspace_id/],
    ])('return a hint for %s', async (_, tool, args, text) => {
      const problem = await on.problem(tool, args());
      expect(problem.code).toBe('not_found');
      expect(problem.text).toMatch(text);
    });
  });

  it('list datasets and experiments', async () => {
    expect((await on.result('list_datasets')).items).toMatchObject([
      { dataset_id: has.datasetId, name: 'cases', record_count: 0, latest_version: null },
    ]);
    expect((await on.result('list_experiments', { experiment_status: 'running' })).items).toMatchObject([
      { experiment_id: has.experimentId, name: 'nightly', experiment_status: 'running' },
    ]);
    expect(await on.result('get_experiment', { experiment_id: has.experimentId })).toMatchObject({
      experiment_id: has.experimentId,
      scores: null,
      scorer_count: null,
    });
  });

  it('list and read store items, even of other organizations', async () => {
    const { agentId, org } = await populate(app);
    const admin = await org.as('admin');
    const published = await admin.post('/store/v1/publisher/items', {
      workspace_id: org.workspaceId,
      artifact: { kind: 'agent', artifact_id: agentId },
      name: 'office-clerk',
      category: 'agents',
      license: 'MIT',
      actions: ['install'],
      tagline: 'Fills your forms.',
      topics: ['office'],
    });
    expect(published.status).toBe(201);
    const { store_item_id } = published.body;
    const policy = { audience: { is_public: true }, is_listed: true, can_acquire: true };
    await admin.put(`/store/v1/publisher/items/${store_item_id}/policy`, policy);
    const listed = {
      store_item_id,
      name: 'office-clerk',
      category: 'agents',
      tagline: 'Fills your forms.',
      license: 'MIT',
      actions: ['install'],
      topics: ['office'],
      version_label: null,
      is_reviewed: false,
    };
    expect((await on.result('list_store_items', { topic: 'office' })).items).toEqual([listed]);
    expect((await on.result('list_store_items', { category: 'data' })).items).toEqual([]);
    expect(await on.result('get_store_item', { store_item_id })).toEqual({
      ...listed,
      publisher_org_id: org.orgId,
      highlights: [],
      release_notes: null,
      can_acquire: true,
      size_bytes: published.body.size_bytes,
      file_count: published.body.file_count,
      components: expect.arrayContaining([
        { kind: 'agent', key: expect.stringContaining('agents/') as string },
        { kind: 'skill', key: expect.stringContaining('skills/pdf-forms') as string },
      ]) as unknown,
      capabilities: expect.arrayContaining([{ kind: 'skill', name: 'pdf-forms' }]) as unknown,
      required_permissions: [],
      next_list_offset: null,
    });
  });

  it('show the mean scores of an experiment that has ended', async () => {
    const editor = await has.org.as('editor');
    const inWorkspace = { workspace_id: has.org.workspaceId };
    const made = await editor.post('/eval/v1/experiments', { ...inWorkspace, name: 'ended' });
    const path = `/eval/v1/experiments/${made.body.experiment_id}`;
    for (const [case_id, score] of [
      ['a', 1],
      ['b', 0.5],
    ]) {
      await editor.post(`${path}/results`, { ...inWorkspace, case_id, scores: { exact: score } });
    }
    await editor.patch(path, { experiment_status: 'completed' });
    const ended = await on.result('get_experiment', { experiment_id: made.body.experiment_id });
    expect(ended).toMatchObject({
      experiment_status: 'completed',
      scores: [{ scorer: 'exact', mean: 0.75, count: 2 }],
      scorer_count: 1,
    });
  });

  it('start a scoring run, and read its state', async () => {
    expect((await on.result('list_scorers', { scorer_kind: 'code' })).items).toMatchObject([
      { scorer_id: has.scorerId, name: 'always-one', grain: 'trace' },
    ]);
    const run = await on.result('start_scoring_run', { scorer_id: has.scorerId, trace_ids: [has.traceId] });
    const entries = await (await has.org.member('admin')).get('/registry/v1/audit-log?action=call&limit=1');
    expect(entries.body.items[0]).toMatchObject({
      resource_id: 'start_scoring_run',
      changes: [{ member: 'scorer_id', after: has.scorerId }],
    });
    expect(run).toEqual({
      score_run_id: expect.any(String),
      scorer_id: has.scorerId,
      scorer_version: 1,
      grain: 'trace',
      run_status: 'queued',
      total: 1,
    });
    const { score_run_id } = run;
    expect(await on.result('get_scoring_run', { score_run_id })).toMatchObject({
      run_status: 'queued',
      total: 1,
      completed_count: 0,
      items: [],
      next_cursor: null,
    });
  });

  it('read the results of a scoring run that has ended', async () => {
    const { score_run_id } = await on.result('start_scoring_run', {
      scorer_id: has.scorerId,
      trace_ids: [has.traceId],
    });
    const worker = await createTestWorker(app);
    try {
      let run: any;
      await until(async () => {
        run = await on.result('get_scoring_run', { score_run_id });
        return run.run_status !== 'queued' && run.run_status !== 'running';
      });
      expect(run).toMatchObject({
        run_status: 'succeeded',
        completed_count: 1,
        failed_count: 0,
        items: [{ trace_id: has.traceId, session_id: null, score: 1, error: null }],
      });
    } finally {
      await worker.close();
    }
  });

  it('report what a scoring run lacks', async () => {
    const { code, text } = await on.problem('start_scoring_run', { scorer_id: has.scorerId });
    expect([code, text]).toEqual(['invalid_request', expect.stringContaining('Select what to score')]);
  });
});

import { type ApiClient, createTestApp, newOrganization, type TestApp } from '#testing';
import { connect } from './clients.fixture';

/** What users ask for, in their words, and the tool that does it. */
const REQUESTS: [string, string][] = [
  ['find something in our registry that handles refunds', 'search_registry'],
  ['which agents do we have?', 'list_agents'],
  ['show me the instructions of the support agent', 'get_agent'],
  ['how do I do this task, is there a skill for it?', 'list_skills'],
  ['read the instructions of a skill before the task', 'get_skill'],
  ['open the reference file that the skill mentions', 'read_skill_file'],
  ['read the text of an uploaded document', 'read_file'],
  ['which outside systems can we reach through MCP servers?', 'list_mcp_servers'],
  ['what tools does this MCP server have?', 'list_mcp_tools'],
  ['what arguments does this tool take?', 'get_mcp_tool'],
  ['run a tool of the tickets server', 'call_mcp_tool'],
  ['which test sets can we evaluate agents on?', 'list_datasets'],
  ['what was the mean score of the last experiment?', 'get_experiment'],
  ['which graders can rate our traces?', 'list_scorers'],
  ["score yesterday's sessions with this scorer", 'start_scoring_run'],
  ['has the scoring run ended?', 'get_scoring_run'],
  ['can we get an agent from the store that others publish?', 'list_store_items'],
];

describe('the tools of the MCP endpoint', () => {
  let app: TestApp;
  let searcher: ApiClient;

  beforeAll(async () => {
    app = await createTestApp();
    const org = await newOrganization(app);
    searcher = await org.member('editor');
    const client = await connect(app.url, await org.token('evaluator'));
    const { tools } = await client.listTools();
    await client.close();
    const { workspaceId: workspace_id } = org;
    const body = { workspace_id, name: 'registry', url: 'https://registry.example.com/mcp', tools };
    expect((await searcher.post('/mcp/v1/servers', body)).status).toBe(201);
  });
  afterAll(() => app.close());

  it.each(REQUESTS)('are found by a request: %s', async (query, name) => {
    const { body } = await searcher.post('/registry/v1/search', { query, types: ['tool'], limit: 3 });
    expect(body.items.map((item: any) => item.name)).toContain(name);
  });
});

import { type ApiClient, sharedApp, newOrganization } from '#testing';
import { connect } from './clients.fixture';

/** Requests in the words of users, and the right tool for each. */
const REQUESTS: [string, string][] = [
  ['search for anything about invoices', 'search_registry'],
  ['what does the billing bot do?', 'get_agent'],
  ['which model does the support agent use?', 'get_agent'],
  ['do we have a playbook for chargebacks?', 'list_skills'],
  ['how do I do this task, is there a skill for it?', 'list_skills'],
  ['read the instructions of a skill before the task', 'get_skill'],
  ['open the reference file that the skill mentions', 'read_skill_file'],
  ['open the PDF that Anna uploaded', 'read_file'],
  ['which outside systems can we reach?', 'list_mcp_servers'],
  ['what are the parameters of create_issue?', 'get_mcp_tool'],
  ['use the Jira integration to open a ticket', 'call_mcp_tool'],
  ['continue reading the truncated output', 'read_result'],
  ['what can I install from the marketplace?', 'list_store_items'],
  ['who publishes this package and under which license?', 'get_store_item'],
  ['which test sets can we evaluate agents on?', 'list_datasets'],
  ['compare the last two experiments', 'get_experiment'],
  ['did the evaluation finish?', 'get_experiment'],
  ['which judges are configured?', 'list_scorers'],
  ['grade the new traces', 'start_scoring_run'],
  ['has the scoring run ended?', 'get_scoring_run'],
];

/**
 * No model runs here. Instead, the search of the registry, which agents use to find tools, must rank the right tool
 * among the first three.
 */
describe('the tools of the MCP endpoint', () => {
  const app = sharedApp();
  let searcher: ApiClient;

  beforeAll(async () => {
    const org = await newOrganization(app);
    searcher = await org.member('editor');
    const client = await connect(app.url, await org.token('evaluator'));
    const { tools } = await client.listTools();
    await client.close();
    const { workspaceId: workspace_id } = org;
    const body = { workspace_id, name: 'registry', url: 'https://registry.example.com/mcp', tools };
    expect((await searcher.post('/mcp/v1/servers', body)).status).toBe(201);
  });

  it.each(REQUESTS)('are found by the request: %s', async (query, name) => {
    const { body } = await searcher.post('/registry/v1/search', { query, types: ['tool'], limit: 3 });
    expect(body.items.map((item: any) => item.name)).toContain(name);
  });
});

import {
  jsonExport,
  newOrganization,
  newSpan,
  newTraceId,
  type TestApp,
  type TestOrganization,
} from '#testing';
import { connect, type TestMcpClient } from './clients.fixture';

/** A workspace with one of each resource that the tools read. */
export interface Population {
  org: TestOrganization;
  agentId: string;
  skillId: string;
  fileId: string;
  serverId: string;
  toolId: string;
  datasetId: string;
  experimentId: string;
  scorerId: string;
  traceId: string;
}

export const INSTRUCTIONS = 'Fill the form.\nSee references/fields.md.';
export const FIELDS = 'name, date, signature';

/** Fills the workspace of a new organization. */
export async function populate(app: TestApp, organization?: TestOrganization): Promise<Population> {
  const org = organization ?? (await newOrganization(app));
  const workspace_id = org.workspaceId;
  const admin = await org.as('admin');
  const created = async (path: string, body: object): Promise<any> => {
    const answer = await admin.post(path, { workspace_id, ...body });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const skill = await created('/skill/v1/skills', {
    name: 'pdf-forms',
    description: 'Fills PDF forms.',
    instructions: INSTRUCTIONS,
    files: [
      { path: 'references/fields.md', content: FIELDS, encoding: 'utf-8' },
      {
        path: 'logo.png',
        content: Buffer.from([0x89, 0x50, 0, 0xff]).toString('base64'),
        encoding: 'base64',
      },
    ],
  });
  const server = await created('/mcp/v1/servers', {
    name: 'weather',
    url: 'https://mcp.example.com/mcp',
    description: 'Forecasts.',
    tools: [
      {
        name: 'forecast',
        title: 'Forecast',
        description: 'Tells the weather of a city.',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
  });
  const [listed] = (await admin.get(`/mcp/v1/servers/${server.server_id}/tools`)).body.items;
  const agent = await created('/agent/v1/agents', {
    name: 'clerk',
    description: 'Does paperwork.',
    instructions: 'You are a clerk.',
    tools: [{ server_id: server.server_id, tool_name: 'forecast' }],
    skills: [{ skill_id: skill.skill_id }],
  });
  const form = new FormData();
  form.set('workspace_id', workspace_id);
  form.set('file', new File(['a,b\n1,2\n'], 'table.csv', { type: 'text/csv' }));
  const file = await admin.post('/file/v1/files', form);
  const dataset = await created('/eval/v1/datasets', { name: 'cases', description: 'Hard cases.' });
  const experiment = await created('/eval/v1/experiments', { name: 'nightly' });
  const scorer = await created('/eval/v1/scorers', {
    name: 'always-one',
    scorer_kind: 'code',
    grain: 'trace',
    definition: { language: 'javascript', source: 'function score() { return 1; }' },
  });
  const traceId = newTraceId();
  await admin.post('/telemetry/v1/traces', jsonExport([newSpan({ traceId })]));
  return {
    org,
    agentId: agent.agent_id,
    skillId: skill.skill_id,
    fileId: file.body.file_id,
    serverId: server.server_id,
    toolId: listed.tool_id,
    datasetId: dataset.dataset_id,
    experimentId: experiment.experiment_id,
    scorerId: scorer.scorer_id,
    traceId,
  };
}

/** A client of the endpoint that calls tools in one workspace. */
export class ToolsFixture {
  constructor(
    readonly client: TestMcpClient,
    private readonly workspaceId: string,
  ) {}

  static async create(app: TestApp, org: TestOrganization, ...roles: any[]): Promise<ToolsFixture> {
    return ToolsFixture.createWith(app, org, await org.token(...roles));
  }

  static async createWith(app: TestApp, org: TestOrganization, token: string): Promise<ToolsFixture> {
    return new ToolsFixture(await connect(app.url, token), org.workspaceId);
  }

  call(name: string, args: Record<string, unknown> = {}): Promise<any> {
    return this.client.callTool({ name, arguments: { workspace_id: this.workspaceId, ...args } });
  }

  /** Returns the structured content of a call that succeeds. */
  async result(name: string, args: Record<string, unknown> = {}): Promise<any> {
    const { isError, structuredContent, content } = await this.call(name, args);
    if (isError) throw new Error(content[0].text);
    expect(JSON.parse(content[0].text)).toEqual(structuredContent);
    return structuredContent;
  }

  /** Returns the problem of a call that fails. */
  async problem(name: string, args: Record<string, unknown> = {}): Promise<any> {
    const { isError, content, structuredContent, _meta } = await this.call(name, args);
    expect([isError, structuredContent]).toEqual([true, undefined]);
    return { ..._meta.problem, text: content[0].text };
  }
}

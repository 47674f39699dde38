import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';

/** An agent as lists return it. */
export interface Agent {
  agent_id: string;
  name: string;
  version_ordinal: number;
  generation: number;
  sync_state: string;
  app: string | null;
  instructions: string;
  tools: { server_id: string; tool_name: string }[];
  skills: { skill_id: string; version_ordinal: number | null }[];
  archived_at: string | null;
}

/** A declared server with tools. */
export const server = (name: string, ...tools: string[]) => ({
  kind: 'mcp_server',
  name,
  spec: {
    url: 'https://mcp.example.com/mcp',
    tools: tools.map((tool) => ({ name: tool, input_schema: { type: 'object' } })),
  },
});

/** An organization with one app, `support`, that declares agents. */
export class AgentAppFixture {
  private constructor(
    readonly app: TestApp,
    readonly org: TestOrganization,
    readonly editor: ApiClient,
    readonly admin: ApiClient,
  ) {}

  static async create(app: TestApp): Promise<AgentAppFixture> {
    const org = await newOrganization(app);
    return new AgentAppFixture(app, org, await org.member('editor'), await org.member('admin'));
  }

  declare(resources: object[]): Promise<Answer> {
    const { workspaceId: workspace_id } = this.org;
    return this.editor.post('/registry/v1/apps', { workspace_id, app: 'support', resources });
  }

  redeclare(resources: object[]): Promise<Answer> {
    return this.editor.patch('/registry/v1/apps/support', { resources });
  }

  reconcile(): Promise<Answer> {
    return this.admin.post('/registry/v1/apps/support/reconcile');
  }

  /** Returns the agents, sorted by name. */
  async agents(query = ''): Promise<Agent[]> {
    return (await this.editor.get<{ items: Agent[] }>(`/agent/v1/agents?sort=name&${query}`)).body.items;
  }

  /** Returns all resources that apps can declare, archived or not. */
  async everything(): Promise<unknown[]> {
    const lists = ['/agent/v1/agents', '/skill/v1/skills', '/mcp/v1/servers'];
    const answers = await Promise.all(lists.map((list) => this.editor.get(`${list}?include_archived=true`)));
    return answers.map(({ body }) => body.items as unknown);
  }
}

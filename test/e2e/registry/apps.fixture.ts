import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';

export const APPS = '/registry/v1/apps';
export const SERVERS = '/mcp/v1/servers';

/** Returns the declaration of a server. */
export const server = (name: string, spec: object = {}) => ({
  kind: 'mcp_server',
  name,
  spec: { url: 'https://mcp.example.com/mcp', ...spec },
});

/** Returns the declaration of a skill. */
export const skill = (name: string, instructions = 'Do it.') => ({
  kind: 'skill',
  name,
  spec: { description: 'Does it.', instructions },
});

/** Returns the declaration of an agent. */
export const agent = (name: string, spec: object = {}) => ({ kind: 'agent', name, spec });

/** An organization with apps. */
export class AppsFixture {
  private made = 0;

  private constructor(
    readonly app: TestApp,
    readonly org: TestOrganization,
    readonly editor: ApiClient,
    readonly admin: ApiClient,
  ) {}

  static async create(app: TestApp): Promise<AppsFixture> {
    const org = await newOrganization(app);
    return new AppsFixture(app, org, await org.member('editor'), await org.member('admin'));
  }

  declare(body: Record<string, unknown> = {}, by: ApiClient = this.editor): Promise<Answer> {
    const slug = `app-${(this.made += 1)}`;
    return by.post(APPS, { workspace_id: this.org.workspaceId, app: slug, resources: [], ...body });
  }

  /** Declares an app, and reconciles it. @returns its slug. */
  async reconciled(...resources: object[]): Promise<string> {
    const { body } = await this.declare({ resources });
    const answer = await this.reconcile(body.app as string);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return body.app as string;
  }

  async read(app: string): Promise<any> {
    return (await this.editor.get(`${APPS}/${app}`)).body;
  }

  async patch(app: string, body: object): Promise<any> {
    const answer = await this.editor.patch(`${APPS}/${app}`, body);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  reconcile(app: string, by: ApiClient = this.admin): Promise<Answer> {
    return by.post(`${APPS}/${app}/reconcile`);
  }

  /** Returns the servers that an app owns, by name. */
  async serversOf(app: string): Promise<any[]> {
    return (await this.editor.get(`${SERVERS}?app=${app}&sort=name&limit=500`)).body.items;
  }

  /** Returns the resources of all kinds that an app owns. */
  async ownedBy(app: string): Promise<{ id: string; path: string; name: string; generation: number }[]> {
    const kinds = [
      [SERVERS, 'server_id'],
      ['/skill/v1/skills', 'skill_id'],
      ['/agent/v1/agents', 'agent_id'],
    ] as const;
    const lists = await Promise.all(
      kinds.map(async ([list, id]) => {
        const { items } = (await this.editor.get(`${list}?app=${app}&sort=name`)).body;
        return (items as any[]).map((one) => ({
          id: one[id] as string,
          path: `${list}/${one[id]}`,
          name: one.name as string,
          generation: one.generation as number,
        }));
      }),
    );
    return lists.flat();
  }

  /** Returns all resources of the organization, including archived ones, except the app itself. */
  async everything(): Promise<unknown> {
    const servers = ['mcp_servers', 'mcp_server_versions', 'mcp_tools'];
    const tables = [...servers, 'apis', 'api_versions', 'search_documents', 'audit_log'];
    return Promise.all(
      tables.map((table) =>
        this.app.database.query(`SELECT t::text AS row FROM ${table} t WHERE org_id = $1 ORDER BY t::text`, [
          this.org.orgId,
        ]),
      ),
    );
  }
}

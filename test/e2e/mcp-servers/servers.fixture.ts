import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';

export const SERVERS = '/mcp/v1/servers';

/** An organization with MCP servers. */
export class ServersFixture {
  private made = 0;

  private constructor(
    readonly org: TestOrganization,
    readonly editor: ApiClient,
    readonly admin: ApiClient,
  ) {}

  static async create(app: TestApp): Promise<ServersFixture> {
    const org = await newOrganization(app);
    return new ServersFixture(org, await org.member('editor'), await org.member('admin'));
  }

  register(body: Record<string, unknown> = {}, by: ApiClient = this.editor): Promise<Answer> {
    const name = `server ${(this.made += 1)}`;
    const { workspaceId: workspace_id } = this.org;
    return by.post(SERVERS, { workspace_id, name, url: 'https://mcp.example.com/mcp', ...body });
  }

  /** The system server named `registry`, as an older version left it: nobody can make one any more. */
  async leftRegistry(app: TestApp, workspace_id: string): Promise<string> {
    const tools = [{ name: 'search', input_schema: {} }];
    const { body } = await this.register({ workspace_id, is_system: true, tools }, this.admin);
    const id = body.server_id as string;
    await app.database.query(`UPDATE mcp_servers SET name = 'registry' WHERE server_id = $1`, [id]);
    await app.database.query(
      `DELETE FROM search_documents
       WHERE resource_id = $1 OR resource_id IN (SELECT tool_id FROM mcp_tools WHERE server_id = $1)`,
      [id],
    );
    return `${SERVERS}/${id}`;
  }
}

export const namesIn = ({ body }: Answer): string[] => body.items.map((one: any) => one.name);

export const pointersIn = ({ body }: Answer): string[] => (body.errors ?? []).map((one: any) => one.pointer);

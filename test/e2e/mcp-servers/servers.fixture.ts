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
}

export const namesIn = ({ body }: Answer): string[] => body.items.map((one: any) => one.name);

export const pointersIn = ({ body }: Answer): string[] => (body.errors ?? []).map((one: any) => one.pointer);

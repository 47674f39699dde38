import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';
import { SecretBox } from '#platform/secrets';
import type { ServerEntity } from '../../../src/mcp-servers/servers/server.entity';
import { fullUrls } from '../../../src/mcp-servers/servers/server-urls';

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

/** Returns the URL that the service uses for a server, with the query that it never returns. Null if it is not stored. */
export async function fullUrlOf(
  app: TestApp,
  { server_id }: { server_id: string },
  column: 'url' | 'auth_token_url' = 'url',
): Promise<string | null> {
  const [row] = await app.database.query<ServerEntity>(
    'SELECT server_id, url, auth_token_url, url_secrets FROM mcp_servers WHERE server_id = $1',
    [server_id],
  );
  return fullUrls(row!, app.get(SecretBox))?.[column] ?? null;
}

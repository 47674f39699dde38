import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';

export const APIS = '/registry/v1/apis';

/** Returns the declaration of an API. */
export const api = (name: string, spec: object = {}) => ({
  kind: 'api',
  name,
  spec: { base_url: 'https://orders.example.com/v2', ...spec },
});

/** An organization with registered APIs. */
export class ApisFixture {
  private made = 0;

  private constructor(
    readonly app: TestApp,
    readonly org: TestOrganization,
    readonly admin: ApiClient,
    readonly editor: ApiClient,
    readonly viewer: ApiClient,
  ) {}

  static async create(app: TestApp): Promise<ApisFixture> {
    const org = await newOrganization(app);
    const [admin, editor, viewer] = await Promise.all([
      org.member('admin'),
      org.member('editor'),
      org.member('viewer'),
    ]);
    return new ApisFixture(app, org, admin, editor, viewer);
  }

  register(body: Record<string, unknown> = {}, by: ApiClient = this.admin): Promise<Answer> {
    const name = `api ${(this.made += 1)}`;
    const { workspaceId: workspace_id } = this.org;
    return by.post(APIS, { workspace_id, name, base_url: 'https://orders.example.com/v2', ...body });
  }

  /** Registers an API. @returns its path */
  async registered(body: Record<string, unknown> = {}): Promise<string> {
    const answer = await this.register(body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.headers.get('location')!;
  }

  /** Returns the audit log of a resource, newest first. */
  async entriesOf(path: string): Promise<any[]> {
    const { body } = await this.admin.get(`/registry/v1/audit-log?resource_id=${idIn(path)}&limit=100`);
    return body.items;
  }
}

/** Returns the id of a resource from its path. */
export const idIn = (path: string): string => path.split('/').at(-1)!;

export const namesIn = ({ body }: Answer): string[] => body.items.map((one: any) => one.name);

export const pointersIn = ({ body }: Answer): string[] => (body.errors ?? []).map((one: any) => one.pointer);

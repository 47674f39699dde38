import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';

export const PROVIDERS = '/model/v1/providers';
export const MODELS = '/model/v1/models';
export const KEYS = '/model/v1/keys';

/** An organization with a model gateway. */
export class GatewayFixture {
  private made = 0;

  private constructor(
    readonly app: TestApp,
    readonly org: TestOrganization,
    readonly admin: ApiClient,
    readonly editor: ApiClient,
    readonly viewer: ApiClient,
    readonly runtime: ApiClient,
  ) {}

  static async create(app: TestApp): Promise<GatewayFixture> {
    const org = await newOrganization(app);
    const [admin, editor, viewer, runtime] = await Promise.all([
      org.member('admin'),
      org.member('editor'),
      org.member('viewer'),
      org.member('runtime'),
    ]);
    return new GatewayFixture(app, org, admin, editor, viewer, runtime);
  }

  provide(body: Record<string, unknown> = {}, by: ApiClient = this.admin): Promise<Answer> {
    const { workspaceId: workspace_id } = this.org;
    return by.post(PROVIDERS, { workspace_id, name: this.newName(), kind: 'openai', ...body });
  }

  /** Registers a provider. @returns its id */
  async provider(body: Record<string, unknown> = {}): Promise<string> {
    return created(await this.provide(body)).body.provider_id as string;
  }

  /** Creates a model. @param body without `targets`, it gets a target at a new provider of the workspace */
  async model(body: Record<string, unknown> = {}, by: ApiClient = this.admin): Promise<Answer> {
    const { workspace_id = this.org.workspaceId } = body;
    const targets = body.targets ?? [
      { provider_id: await this.provider({ workspace_id }), upstream_model: 'gpt-4o' },
    ];
    return by.post(MODELS, { workspace_id, name: this.newName(), ...body, targets });
  }

  key(body: Record<string, unknown> = {}, by: ApiClient = this.admin): Promise<Answer> {
    return by.post(KEYS, { workspace_id: this.org.workspaceId, name: this.newName(), ...body });
  }

  /** Returns a client for a user with these roles in one workspace only. */
  async memberOf(workspaceId: string, ...roles: string[]): Promise<ApiClient> {
    const owner = await this.org.member('owner');
    const user_id = this.newName();
    created(await owner.post('/registry/v1/users', { user_id }));
    const member = `/registry/v1/workspaces/${workspaceId}/members/${user_id}`;
    created(await owner.put(member, { roles }));
    return this.app.api(await this.org.tokenOf(user_id));
  }

  /** Returns the audit log of a resource, newest first. */
  async entriesOf(id: string): Promise<any[]> {
    const { body } = await this.admin.get(`/registry/v1/audit-log?resource_id=${id}&limit=100`);
    return body.items;
  }

  newName(): string {
    return `${this.org.orgId}-${(this.made += 1)}`;
  }
}

/** Returns the response of a create operation, or throws if it failed. */
export function created(answer: Answer): Answer {
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer;
}

export const pathOf = (answer: Answer): string => created(answer).headers.get('location')!;

export const pointersIn = ({ body }: Answer): string[] => (body.errors ?? []).map((one: any) => one.pointer);

/** Returns the status and the code of each response. */
export const outcomes = (answers: Answer[]): unknown[] =>
  answers.map(({ status, body }) => [status, body.code as unknown]);

import { newId } from '#platform/ids';
import {
  type ApiClient,
  committedDocument,
  newOrganization,
  type TestApp,
  type TestOrganization,
} from '#testing';

/** A JSON Schema of the OpenAPI document. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  readOnly?: boolean;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  minItems?: number;
  minLength?: number;
  discriminator?: { propertyName: string };
}

/** An operation of the OpenAPI document. */
export interface DocumentedOperation {
  id: string;
  method: string;
  path: string;
  /** The schema of the JSON body, without read-only members; null unless the body is an object. */
  body: Schema | null;
  /** Members of the body that are accepted and ignored. */
  readOnly: string[];
  takesIfMatch: boolean;
  statuses: string[];
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        parameters?: { name: string; in: string }[];
        requestBody?: { content: Record<string, { schema?: Schema }> };
        responses: object;
      }
    >
  >;
  components: { schemas: Record<string, Schema> };
}

/**
 * Returns the schema to which a schema refers, directly or as its only reference. A union with a discriminator is an object
 * with the members of all its alternatives, which requires what all of them require.
 */
export function resolved(schema: Schema): Schema {
  const [first, ...others] = [...(schema.allOf ?? []), ...(schema.anyOf ?? [])].filter((one) => one.$ref);
  const $ref = schema.$ref ?? (others.length === 0 ? first?.$ref : undefined);
  if ($ref) return resolved(committedDocument<Document>().components.schemas[$ref.split('/').at(-1)!]!);
  return schema.discriminator ? merged(schema, schema.discriminator.propertyName) : schema;
}

function merged({ oneOf = [] }: Schema, tag: string): Schema {
  const variants = oneOf.map(resolved);
  const properties: Record<string, Schema> = {};
  for (const variant of variants) {
    for (const [name, own] of Object.entries(variant.properties ?? {})) {
      const known = properties[name];
      if (name === tag) properties[name] = { ...own, enum: [...(known?.enum ?? []), ...(own.enum ?? [])] };
      else if (!known || known.type === 'null') properties[name] = own;
    }
  }
  const required = variants[0]!.required!.filter((name) =>
    variants.every((variant) => variant.required!.includes(name)),
  );
  return { ...variants[0], properties, required };
}

/** Returns every operation of openapi.json. */
export const documentedOperations = (): DocumentedOperation[] =>
  Object.entries(committedDocument<Document>().paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [], requestBody, responses }]) => {
      const schema = resolved(requestBody?.content['application/json']?.schema ?? {});
      return {
        id: operationId,
        method: method.toUpperCase(),
        path,
        body: schema.properties ? { ...schema, properties: membersOf(schema, false) } : null,
        readOnly: Object.keys(membersOf(schema, true)),
        takesIfMatch: parameters.some((one) => one.in === 'header' && one.name === 'If-Match'),
        statuses: Object.keys(responses),
      };
    }),
  );

const membersOf = ({ properties = {} }: Schema, readOnly: boolean): Record<string, Schema> =>
  Object.fromEntries(
    Object.entries(properties).filter(([, member]) => (member.readOnly === true) === readOnly),
  );

/** One resource of each kind, as the targets of operations. */
export class Resources {
  private constructor(
    private readonly organization: TestOrganization,
    private readonly admin: ApiClient,
    private readonly evaluator: ApiClient,
    private readonly platform: ApiClient,
    /** Ids by the name of the path parameter, or by `/area/parameter` if areas differ. */
    private readonly ids: Record<string, string>,
  ) {}

  /** Creates an organization with the resources. */
  static async in(app: TestApp): Promise<Resources> {
    const organization = await newOrganization(app);
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const resources = new Resources(
      organization,
      await organization.member('owner'),
      await organization.as('evaluator'),
      app.api(await app.issuer.issueToken(claims)),
      { org_id: organization.orgId, workspace_id: organization.workspaceId, path: 'orders' },
    );
    await resources.create();
    return resources;
  }

  get workspaceId(): string {
    return this.organization.workspaceId;
  }

  /** Returns the id of a resource, by the name of its path parameter. */
  idOf(parameter: string): string {
    return this.ids[parameter]!;
  }

  /** Returns a client that may only read. */
  viewer(): Promise<ApiClient> {
    return this.organization.as('viewer');
  }

  /** Returns a client that may only read these resources, although it owns another workspace. */
  async viewerHere(app: TestApp): Promise<ApiClient> {
    const { organization } = this;
    const owner = await organization.member('owner');
    const user_id = newId('usr');
    await owner.post('/registry/v1/users', { user_id });
    const grants = [
      [organization.workspaceId, 'viewer'],
      [this.ids.buyer!, 'viewer'],
      [await organization.newWorkspace(), 'owner'],
    ] as const;
    for (const [workspace, role] of grants) {
      const path = `/registry/v1/workspaces/${workspace}/members/${user_id}`;
      const { status } = await owner.put(path, { roles: [role] });
      if (status !== 201) throw new Error(`The role ${role} was not granted: ${status}`);
    }
    return app.api(await organization.tokenOf(user_id));
  }

  /** Returns a client with a key that allows only this, of an owner of the organization. */
  async withKey(app: TestApp, allow: object): Promise<ApiClient> {
    const { admin, organization } = this;
    const owner = { name: newId('sva'), roles: ['owner'], workspace_ids: ['*'] };
    const { body: account } = await admin.post('/registry/v1/service-accounts', owner);
    const keys = `/registry/v1/service-accounts/${account.service_account_id}/keys`;
    const { status, body } = await admin.post(keys, { name: 'narrow', allow });
    if (status !== 201) throw new Error(`The key was not created: ${JSON.stringify(body)}`);
    return app.api(body.key as string).in(organization.workspaceId);
  }

  /** Returns a client that may call an operation on these resources. */
  callerOf({ method, path }: { method?: string; path: string }): ApiClient {
    if (/^\/(eval|telemetry)\//.test(path)) {
      return method === 'DELETE' || path.endsWith('/delete')
        ? this.admin.in(this.workspaceId)
        : this.evaluator;
    }
    return /^\/registry\/v1\/orgs|\/review$/.test(path) ? this.platform : this.admin;
  }

  /**
   * Returns the path of an operation on these resources.
   *
   * @param absent the id of a resource that does not exist here. By default, the resource must exist.
   */
  pathOf({ path }: { path: string }, absent?: string): string {
    const [, area] = path.split('/');
    return path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const id = this.ids[`/${area}/${name}`] ?? this.ids[name] ?? absent;
      if (id === undefined) throw new Error(`There is no ${name}: create one in resources.fixture.ts.`);
      return encodeURIComponent(id);
    });
  }

  /** Returns the audit log of the organization, including the entries of the platform. */
  async auditEntries(): Promise<unknown[]> {
    const { body } = await this.admin.get<{ items: unknown[] }>('/registry/v1/audit-log?limit=500');
    return body.items;
  }

  private async create(): Promise<void> {
    const { admin, evaluator, organization } = this;
    const workspace_id = organization.workspaceId;
    const url = 'https://mcp.example.com/mcp';
    const tools = [{ name: 'search', input_schema: { type: 'object' } }];
    await this.add(admin, '/registry/v1/users', { user_id: 'ada', display_name: 'Ada' }, 'user_id');
    this.ids.principal_id = 'ada';
    await admin.put(`/registry/v1/workspaces/${workspace_id}/members/ada`, { roles: ['viewer'] });
    const account = { name: 'ci', roles: ['viewer'], workspace_ids: [workspace_id] };
    await this.add(admin, '/registry/v1/service-accounts', account, 'service_account_id');
    const keys = `/registry/v1/service-accounts/${this.ids.service_account_id}/keys`;
    await this.add(admin, keys, { name: 'first' }, 'key_id');
    await this.add(admin, '/registry/v1/org/signing-keys', { name: 'releases' }, 'kid');
    await this.add(admin, '/registry/v1/apps', { workspace_id, app: 'support', resources: [] }, 'app');
    await this.add(
      admin,
      '/registry/v1/repos',
      { workspace_id, url: 'https://git.example.com/a/b' },
      'repo_id',
    );
    Object.assign(this.ids, { version_ordinal: '1', label: 'production' });
    const file = new URLSearchParams({ workspace_id, name: 'cases.csv', metadata: '{"team": "search"}' });
    await this.add(admin, `/file/v1/files?${file.toString()}`, Buffer.from('id\n1\n'), 'file_id');
    const skill = { workspace_id, name: 'sums', description: 'Adds.', instructions: '# How' };
    await this.add(admin, '/skill/v1/skills', skill, 'skill_id');
    await admin.put(`/skill/v1/skills/${this.ids.skill_id}/labels/production`, { version_ordinal: 1 });
    const server = { workspace_id, name: 'desk', url, tools, auth: { type: 'bearer', value: 'secret' } };
    await this.add(admin, '/mcp/v1/servers', server, 'server_id');
    const api = {
      workspace_id,
      name: 'orders',
      base_url: 'https://orders.example.com',
      headers: { 'X-Zone': 'eu' },
    };
    await this.add(admin, '/registry/v1/apis', { ...api, auth: server.auth }, 'api_id');
    await this.createModel(workspace_id);
    const agent = { workspace_id, name: 'planner', model: 'gpt-5', metadata: { team: 'search' } };
    await this.add(admin, '/agent/v1/agents', agent, 'agent_id');
    await admin.put(`/agent/v1/agents/${this.ids.agent_id}/labels/production`, { version_ordinal: 1 });
    await this.add(
      admin,
      `/agent/v1/agents/${this.ids.agent_id}/sessions`,
      { prompt: 'Hello' },
      'session_id',
    );
    const dataset = { workspace_id, name: 'cases', metadata: { team: 'search' }, tags: ['nightly'] };
    await this.add(evaluator, '/eval/v1/datasets', dataset, 'dataset_id');
    const records = `/eval/v1/datasets/${this.ids.dataset_id}/records`;
    await this.add(
      evaluator,
      records,
      { workspace_id, input: { q: '1 + 1' }, expected: 2 },
      'dataset_record_id',
    );
    const experiment = { workspace_id, name: 'sums', config: { m: 1 }, dataset_id: this.ids.dataset_id };
    await this.add(evaluator, '/eval/v1/experiments', experiment, 'experiment_id');
    const result = {
      ...{ workspace_id, case_id: 'sum', dataset_record_id: this.ids.dataset_record_id, output: 2 },
      scores: { exact: { score: 1, label: 'right', comment: 'It is.' } },
    };
    await this.add(evaluator, `/eval/v1/experiments/${this.ids.experiment_id}/results`, result, 'result_id');
    const scorer = {
      workspace_id,
      name: 'exact',
      scorer_kind: 'code',
      definition: { checks: [{ type: 'equals' }] },
    };
    await this.add(evaluator, '/eval/v1/scorers', scorer, 'scorer_id');
    const rule = { workspace_id, sample_rate: 0.1 };
    await this.add(evaluator, `/eval/v1/scorers/${this.ids.scorer_id}/rules`, rule, 'rule_id');
    const human = {
      workspace_id,
      name: 'kind',
      scorer_kind: 'human',
      definition: { rubric: 'Kind?', output: { type: 'boolean' } },
    };
    const { body: person } = await evaluator.post('/eval/v1/scorers', human);
    const queue = {
      workspace_id,
      name: 'by hand',
      scorer_ids: [person.scorer_id],
      source: { experiment_id: this.ids.experiment_id },
      assignees: ['ada'],
      scores_per_item: 1,
    };
    await this.add(evaluator, '/eval/v1/annotation-queues', queue, 'queue_id');
    const items = await evaluator.get(`/eval/v1/annotation-queues/${this.ids.queue_id}/items`);
    this.ids.item_id = items.body.items[0].item_id as string;
    this.ids.buyer = await organization.newWorkspace();
    await this.createStoreItem(this.ids.buyer);
  }

  private async createModel(workspace_id: string): Promise<void> {
    const { admin, ids } = this;
    const headers = { 'X-Zone': 'eu' };
    const provider = { workspace_id, name: 'openai', kind: 'openai', api_key: 'secret', headers };
    await this.add(admin, '/model/v1/providers', provider, 'provider_id');
    const price = { input_usd_per_million: 1, output_usd_per_million: 2.5 };
    const targets = [{ provider_id: ids.provider_id, upstream_model: 'gpt-4o', price }];
    const model = { workspace_id, name: 'assistant', targets, monthly_budget_usd: 10 };
    await this.add(admin, '/model/v1/models', model, 'model_id');
    const key = { workspace_id, name: 'bot', models: ['assistant'], expires_at: '2126-01-01T00:00:00.000Z' };
    await this.add(admin, '/model/v1/keys', key, 'key_id', '/model/key_id');
  }

  /** @param buyer another workspace, which acquires the item */
  private async createStoreItem(buyer: string): Promise<void> {
    const { admin, organization, ids } = this;
    const item = {
      workspace_id: organization.workspaceId,
      artifact: { kind: 'skill', artifact_id: ids.skill_id },
      name: 'Sums',
      category: 'skills',
      license: 'MIT',
      actions: ['install', 'download'],
    };
    await this.add(admin, '/store/v1/publisher/items', item, 'store_item_id');
    const policy = { audience: { is_public: true }, is_listed: true, can_acquire: true };
    await admin.put(`/store/v1/publisher/items/${ids.store_item_id}/policy`, policy);
    const acquire = `/store/v1/items/${ids.store_item_id}/acquire`;
    await this.add(admin, acquire, { workspace_id: buyer }, 'acquisition_id');
  }

  private async add(
    caller: ApiClient,
    path: string,
    body: object,
    id: string,
    name: string = id,
  ): Promise<void> {
    const made = await caller.post(path, body);
    if (made.status !== 201) throw new Error(`POST ${path}: ${made.status} ${JSON.stringify(made.body)}`);
    this.ids[name] = (made.body as Record<string, string>)[id]!;
  }
}

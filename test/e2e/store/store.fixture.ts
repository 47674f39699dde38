import { createHash } from 'node:crypto';
import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';
import { type PackagedComponent, readPackage } from '../../../src/store/package/package.reader';

export const PUBLISHER = '/store/v1/publisher/items';
export const ITEMS = '/store/v1/items';
export const ACQUISITIONS = '/store/v1/acquisitions';

export type Fields = Record<string, unknown>;

/** The members of an item that tests read. */
export interface StoreItem {
  store_item_id: string;
  publication_id: string;
  publisher_org_id: string;
  name: string;
  sha256: string;
  size_bytes: number;
  file_count: number;
  is_reviewed: boolean;
  source: { kind: string; release_id: string; artifact_id: string };
  manifest: { root: Pin; components: { key: string; source: Pin; parent_key: string | null }[] };
  agent_profile: Fields | null;
  policy: {
    generation: number;
    audience: { is_public: boolean; org_ids: string[] };
    is_listed: boolean;
    can_acquire: boolean;
  };
}

export interface Pin {
  kind: string;
  artifact_id: string;
  version_id: string;
  version_ordinal: number;
  release_id: string | null;
}

export interface Copy {
  kind: string;
  artifact_id: string;
  version_ordinal: number;
  name: string;
  key: string;
  source: Pin;
  change: string;
}

export interface Acquisition {
  acquisition_id: string;
  store_item_id: string;
  release_id: string;
  workspace_id: string;
  copies: Copy[];
  latest_release_id: string | null;
  is_upgradable: boolean;
  changes?: { kind: string; artifact_id: string; change: string; name: string }[];
}

export const OPEN = { audience: { is_public: true }, is_listed: true, can_acquire: true };
export const ALL_ACTIONS = ['install', 'run', 'download', 'fork'];

/** An organization that publishes and acquires. */
export class StoreOrg {
  private names = 0;

  private constructor(
    readonly app: TestApp,
    readonly org: TestOrganization,
    /** A client that may do everything. */
    readonly admin: ApiClient,
  ) {}

  static async open(app: TestApp): Promise<StoreOrg> {
    const org = await newOrganization(app);
    return new StoreOrg(app, org, await org.member('owner'));
  }

  get id(): string {
    return this.org.orgId;
  }

  get workspace(): string {
    return this.org.workspaceId;
  }

  /** Creates a resource, and returns its view. */
  async make<View = Fields>(path: string, body: Fields): Promise<View> {
    const by = path.startsWith('/eval') ? this.admin.in(this.workspace) : this.admin;
    const answer = await by.post<View>(path, { workspace_id: this.workspace, ...body });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  skill(body: Fields = {}): Promise<{ skill_id: string; version_id: string; name: string }> {
    const name = `skill-${++this.names}`;
    return this.make('/skill/v1/skills', { name, description: 'Adds.', instructions: '# How', ...body });
  }

  /** Creates an agent with a tool and a skill. */
  async agent(body: Fields = {}): Promise<{ agent_id: string; skill_id: string; server_id: string }> {
    const { skill_id } = await this.skill();
    const tools = [{ name: 'search', description: 'Finds.', input_schema: { type: 'object' } }];
    const { server_id } = await this.make<{ server_id: string }>('/mcp/v1/servers', {
      name: `desk ${++this.names}`,
      url: 'https://mcp.example.com/mcp',
      tools,
    });
    const { agent_id } = await this.make<{ agent_id: string }>('/agent/v1/agents', {
      name: `planner ${++this.names}`,
      instructions: 'Plan.',
      tools: [{ server_id, tool_name: 'search' }],
      skills: [{ skill_id }],
      required_permissions: ['files.read'],
      ...body,
    });
    return { agent_id, skill_id, server_id };
  }

  bodyOf(kind: string, artifact_id: string, body: Fields = {}): Fields {
    return {
      workspace_id: this.workspace,
      artifact: { kind, artifact_id },
      name: 'Item',
      category: 'skills',
      license: 'Apache-2.0',
      actions: ALL_ACTIONS,
      ...body,
    };
  }

  /** Publishes a resource. */
  async publish(kind: string, artifactId: string, body: Fields = {}): Promise<StoreItem> {
    const answer = await this.admin.post<StoreItem>(PUBLISHER, this.bodyOf(kind, artifactId, body));
    if (answer.status !== 201) throw new Error(`publish: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Publishes a new skill and, if a policy is passed, sets it. */
  async item(body: Fields = {}, policy?: Fields): Promise<StoreItem> {
    const { skill_id } = await this.skill();
    const item = await this.publish('skill', skill_id, body);
    return policy ? this.setPolicy(item.store_item_id, policy) : item;
  }

  async setPolicy(id: string, policy: Fields): Promise<StoreItem> {
    const answer = await this.admin.put<StoreItem>(`${PUBLISHER}/${id}/policy`, policy);
    if (answer.status !== 200) throw new Error(`policy: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async release(id: string, body: Fields = {}): Promise<StoreItem> {
    const answer = await this.admin.post<StoreItem>(`${PUBLISHER}/${id}/releases`, body);
    if (answer.status !== 201) throw new Error(`release: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  acquire(id: string, body: Fields = {}): Promise<Answer<Acquisition>> {
    return this.admin.post<Acquisition>(`${ITEMS}/${id}/acquire`, { workspace_id: this.workspace, ...body });
  }

  /** Downloads a package as bytes. */
  async download(id: string, query = ''): Promise<Buffer> {
    const token = await this.org.token('viewer');
    const answer = await fetch(`${this.app.url}${ITEMS}/${id}/package${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (answer.status !== 200) throw new Error(`package: ${answer.status} ${await answer.text()}`);
    return Buffer.from(await answer.arrayBuffer());
  }
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Returns the components of a package, with the paths and texts of their files. */
export async function unpacked(
  bytes: Buffer,
): Promise<(Omit<PackagedComponent, 'files'> & { files: Record<string, string> })[]> {
  const components = [];
  // oxlint-disable-next-line typescript/require-await
  const source = async function* () {
    yield bytes;
  };
  for await (const { files, ...component } of readPackage(source())) {
    const texts: Record<string, string> = {};
    for await (const { path, content } of files) {
      const parts: Buffer[] = [];
      for await (const part of content) parts.push(part);
      texts[path] = Buffer.concat(parts).toString();
    }
    components.push({ ...component, files: texts });
  }
  return components;
}

export const outcome = ({ status, body }: Answer): [number, unknown] => [
  status,
  (body as { code?: string }).code,
];

/** Returns the pointers and parameters of a problem's errors. */
export const places = ({ body }: Answer): unknown[] =>
  ((body as { errors?: { pointer?: string; parameter?: string }[] }).errors ?? []).map(
    ({ pointer, parameter }) => pointer ?? parameter,
  );

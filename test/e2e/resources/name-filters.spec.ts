import { randomBytes } from 'node:crypto';
import { type ApiClient, newOrganization, sharedApp } from '#testing';

/** A list with a filter for the exact name. */
interface NamedList {
  path: string;
  by: ApiClient;
  /** The member with the name. Default: `name`. */
  member?: string;
}

/** Unique, because organizations and public items of the Store are visible to all tests. */
const NAME = `Same-${randomBytes(4).toString('hex')}a`;

describe('a list filtered by name', () => {
  const app = sharedApp();
  let owner: ApiClient;
  let lists: Record<string, NamedList>;

  const create = async (path: string, body: object, by = owner): Promise<any> => {
    const answer = await by.post(path, body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };

  beforeAll(async () => {
    const org = await newOrganization(app);
    owner = await org.member('owner');
    const workspace_id = org.workspaceId;
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const platform = app.api(await app.issuer.issueToken(claims));
    await create('/registry/v1/orgs', { name: NAME }, platform);
    const account = await create('/registry/v1/service-accounts', {
      name: 'a',
      workspace_ids: [workspace_id],
    });
    const keys = `/registry/v1/service-accounts/${account.service_account_id}/keys`;
    await create(keys, { name: NAME });
    await create('/registry/v1/org/signing-keys', { name: NAME });
    await create('/registry/v1/apps', { workspace_id, app: NAME.toLowerCase(), resources: [] });
    const tools = [{ name: NAME, input_schema: { type: 'object' } }];
    const url = 'https://mcp.example.com/mcp';
    const server = await create('/mcp/v1/servers', { workspace_id, name: 'a', url, tools });
    const skill = await create('/skill/v1/skills', {
      workspace_id,
      name: 'a',
      description: 'd',
      instructions: 'i',
    });
    const item = await create('/store/v1/publisher/items', {
      workspace_id,
      artifact: { kind: 'skill', artifact_id: skill.skill_id },
      name: NAME,
      category: 'skills',
      topics: ['writing'],
      license: 'MIT',
      actions: ['install'],
    });
    const policy = { audience: { is_public: true }, is_listed: true, can_acquire: true };
    await owner.put(`/store/v1/publisher/items/${item.store_item_id}/policy`, policy);
    lists = {
      organizations: { path: '/registry/v1/orgs', by: platform },
      'API keys': { path: keys, by: owner },
      'signing keys': { path: '/registry/v1/org/signing-keys', by: owner },
      apps: { path: '/registry/v1/apps', by: owner, member: 'app' },
      tools: { path: `/mcp/v1/servers/${server.server_id}/tools`, by: owner },
      'items of the publisher': { path: '/store/v1/publisher/items', by: owner },
      'items of the store': { path: '/store/v1/items', by: owner },
    };
  });

  const NAMES = [
    'organizations',
    'API keys',
    'signing keys',
    'apps',
    'tools',
    'items of the publisher',
    'items of the store',
  ];

  it.each(NAMES)('contains only %s with exactly this name', async (kind) => {
    const { path, by, member = 'name' } = lists[kind]!;
    const name = member === 'app' ? NAME.toLowerCase() : NAME;
    const answer = await by.get(`${path}?name=${name}`);
    expect([answer.status, answer.body.items.length, answer.body.page.total]).toEqual([200, 1, 1]);
    expect(answer.body.items[0][member]).toBe(name);
    for (const other of [name.slice(0, 2), name.toUpperCase(), `${name} `]) {
      const none = await by.get(`${path}?name=${encodeURIComponent(other)}`);
      expect([other, none.status, none.body.items]).toEqual([other, 200, []]);
    }
    expect((await by.get(`${path}?name=${name}&name=b`)).status).toBe(400);
  });

  it('combines with the other filters of the Store, and reflects a rename', async () => {
    const { path, by } = lists['items of the store']!;
    const count = async (query: string) => (await by.get(`${path}?${query}`)).body.items.length as number;
    expect(await count(`name=${NAME}&category=skills&topic=writing&q=same`)).toBe(1);
    for (const other of ['category=tools', 'topic=reading', 'q=nowhere']) {
      expect([other, await count(`name=${NAME}&${other}`)]).toEqual([other, 0]);
    }
    const [{ store_item_id }] = (await by.get(`${path}?name=${NAME}`)).body.items;
    const own = `/store/v1/publisher/items/${store_item_id as string}`;
    await by.patch(own, { name: 'Other' });
    expect([await count(`name=${NAME}`), await count('name=Other')]).toEqual([0, 1]);
    await by.patch(own, { name: NAME });
  });
});

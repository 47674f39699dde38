import { type ApiClient, ownApp, newOrganization, type TestOrganization } from '#testing';
import { workOf } from '../evaluation/work.harness';

/** A list with a filter for the exact name, and the table row to copy. */
interface NamedList {
  path: string;
  table: string;
  id: string;
  /** Expressions for other unique columns. */
  others?: Record<string, string>;
  by: ApiClient;
}

const NAME = 'Same';
const COUNT = 20_000;
/** A page of one row, and a few rows for the caller and the count. */
const ROWS_MAX = 20;

describe('a list filtered by name', () => {
  const app = ownApp({ autovacuum: false });
  let org: TestOrganization;
  let owner: ApiClient;
  let lists: Record<string, NamedList>;

  const create = async (path: string, body: object, by = owner): Promise<any> => {
    const answer = await by.post(path, body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };

  beforeAll(async () => {
    org = await newOrganization(app);
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
    await create('/registry/v1/apps', { workspace_id, app: 'same', resources: [] });
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
      organizations: { path: '/registry/v1/orgs', table: 'organizations', id: 'org_id', by: platform },
      'API keys': {
        path: keys,
        table: 'api_keys',
        id: 'key_id',
        others: { hash: `sha256(n::text::bytea)` },
        by: owner,
      },
      'signing keys': {
        path: '/registry/v1/org/signing-keys',
        table: 'org_signing_keys',
        id: 'kid',
        by: owner,
      },
      apps: {
        path: '/registry/v1/apps',
        table: 'apps',
        id: 'app_id',
        others: { app: `'loaded-' || n` },
        by: owner,
      },
      tools: {
        path: `/mcp/v1/servers/${server.server_id}/tools`,
        table: 'mcp_tools',
        id: 'tool_id',
        by: owner,
      },
      'items of the publisher': {
        path: '/store/v1/publisher/items',
        table: 'store_items',
        id: 'store_item_id',
        others: { ordinal: 'n + 1' },
        by: owner,
      },
      'items of the store': { path: '/store/v1/items', table: '', id: 'store_item_id', by: owner },
    };
  });

  const nameOf = ({ table }: NamedList): string => (table === 'apps' ? 'same' : NAME);

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
    const list = lists[kind]!;
    const answer = await list.by.get(`${list.path}?name=${nameOf(list)}`);
    expect([answer.status, answer.body.items.length, answer.body.page.total]).toEqual([200, 1, 1]);
    const member = list.table === 'apps' ? 'app' : 'name';
    expect(answer.body.items[0][member]).toBe(nameOf(list));
    for (const other of [nameOf(list).slice(0, 2), nameOf(list).toUpperCase(), `${nameOf(list)} `]) {
      const none = await list.by.get(`${list.path}?name=${encodeURIComponent(other)}`);
      expect([other, none.status, none.body.items]).toEqual([other, 200, []]);
    }
    expect((await list.by.get(`${list.path}?name=${nameOf(list)}&name=b`)).status).toBe(400);
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

  describe('on freshly loaded tables', () => {
    /** Copies the row of a list many times, with different ids and names. Generated columns cannot be inserted. */
    const load = async ({ table, id, others = {} }: NamedList): Promise<void> => {
      const columns = await app.database.query<{ name: string }>(
        `SELECT column_name AS name FROM information_schema.columns
          WHERE table_name = $1 AND is_generated = 'NEVER' AND is_identity = 'NO' ORDER BY ordinal_position`,
        [table],
      );
      const changed: Record<string, string> = {
        [id]: `'loaded_' || lpad(n::text, 26, '0')`,
        name: `'loaded ' || n`,
        ...others,
      };
      const names = columns.map(({ name }) => name);
      await app.database.query(
        `INSERT INTO ${table} (${names.join(', ')})
          SELECT ${names.map((name) => changed[name] ?? name).join(', ')}
          FROM (SELECT * FROM ${table} WHERE ${table === 'apps' ? `app = 'same'` : `name = '${NAME}'`}) t, generate_series(1, ${COUNT}) n`,
      );
    };

    beforeAll(async () => {
      for (const name of NAMES.slice(0, -1)) await load(lists[name]!);
      await app.database.query(
        `INSERT INTO store_listings (audience, facet, store_item_id)
          SELECT '*', facet, store_item_id FROM store_items, LATERAL (VALUES (''), ('category:skills'), ('name:' || name)) f(facet)
          WHERE name <> $1`,
        [NAME],
      );
    });

    it.each(NAMES)('reads few rows of %s', async (kind) => {
      const list = lists[kind]!;
      let answer: any;
      const works = await workOf(app.database, async () => {
        answer = await list.by.get(`${list.path}?name=${nameOf(list)}`);
      });
      expect(answer.body.items).toHaveLength(1);
      const read = Math.max(...works.map(({ rows }) => rows));
      expect([kind, read, read < ROWS_MAX]).toEqual([kind, read, true]);
    });
  });
});

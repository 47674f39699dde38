import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { type ApiClient, ownApp, documentedCodes } from '#testing';
import { outcome, places, PUBLISHER, type StoreItem, StoreOrg } from './store.fixture';

const string = { type: 'string' };
const strings = { type: 'array', items: string };
const boolean = { type: 'boolean' };
const int32 = { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 };
const int64 = { type: 'integer' };
const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });
const object = (required: Record<string, object>, optional: Record<string, object> = {}) => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
  additionalProperties: false,
});

/** The tables of the specification as a schema. Requires every member, even those that are optional there. */
const PIN = object({
  kind: string,
  artifact_id: string,
  version_id: string,
  version_ordinal: int64,
  release_id: orNull(string),
});
const COMPONENT = object({ key: string, source: PIN, parent_key: orNull(string) });
const MANIFEST = object({
  schema_version: int32,
  adapter: string,
  adapter_version: int32,
  format: string,
  root: PIN,
  components: { type: 'array', items: COMPONENT },
  actions: strings,
});
const PROFILE = object({
  capabilities: { type: 'array', items: object({ kind: string, name: string }) },
  required_permissions: strings,
  dependencies: {
    type: 'array',
    items: object({ skill_id: string, version_ordinal: int64, source_digest: string }),
  },
  has_pinned_skills: boolean,
  max_step_count: int32,
});
const ITEM = object({
  store_item_id: string,
  publication_id: string,
  publisher_org_id: string,
  name: string,
  category: string,
  source: object({ kind: string, release_id: string, artifact_id: orNull(string) }),
  manifest: MANIFEST,
  license: string,
  actions: strings,
  sha256: string,
  size_bytes: int64,
  file_count: int64,
  policy: object({
    generation: int64,
    audience: object({ is_public: boolean, org_ids: strings }),
    is_listed: boolean,
    can_acquire: boolean,
  }),
  agent_profile: orNull(PROFILE),
  artwork: orNull(string),
  highlights: strings,
  is_reviewed: boolean,
  release_notes: orNull(string),
  tagline: orNull(string),
  topics: strings,
  version_label: orNull(string),
});
const PAGE = object({
  items: { type: 'array', items: ITEM },
  page: object({ limit: int32, offset: int32, total: orNull({ type: 'integer', minimum: 0 }) }),
});

interface Listing {
  items: StoreItem[];
  page: { limit: number; offset: number; total: number };
}

describe('the listing of an organization', () => {
  const app = ownApp({ env: { RATE_LIMIT_TIMEOUT_MS: '60000' }, autovacuum: false });
  let org: StoreOrg;
  let viewer: ApiClient;

  beforeAll(async () => {
    org = await StoreOrg.open(app);
    viewer = await org.org.member('viewer');
  });

  const list = (query = '') => viewer.get<Listing>(`${PUBLISHER}${query}`);

  it('has every specified member, null if empty, and no other member', async () => {
    const { agent_id } = await org.agent();
    await org.publish('agent', agent_id, { category: 'agents', audience: { is_public: false, org_ids: [org.id] } });
    await org.item({ tagline: 't', artwork: 'https://example.com/a.png', highlights: ['h'], topics: ['t'], release_notes: 'n', version_label: '1' });
    const validate = addFormats.default(new Ajv2020({ strict: false, allErrors: true })).compile(PAGE);
    const { status, body } = await list();
    expect([status, body.items.length, validate(body) || validate.errors]).toEqual([200, 2, true]);
  }); // oxfmt-ignore

  it('covers all workspaces of the organization without a workspace header, and no other organization', async () => {
    const other = await StoreOrg.open(app);
    await other.item();
    const workspace_id = await org.org.newWorkspace();
    const skill = await org.admin.post<{ skill_id: string }>('/skill/v1/skills', {
      workspace_id,
      name: 'beside',
      description: 'd',
      instructions: 'i',
    });
    const otherItem = await org.publish('skill', skill.body.skill_id, { workspace_id });
    const { body } = await list();
    expect(body.items[0]!.store_item_id).toBe(otherItem.store_item_id);
    expect(new Set(body.items.map((item) => item.publisher_org_id))).toEqual(new Set([org.id]));
  });

  it('has a separate rate limit, which its headers show', async () => {
    const by = await org.org.member('viewer');
    const { headers } = await by.get(PUBLISHER);
    expect(headers.get('ratelimit-policy')).toBe('"store_listing";q=120;w=60');
    expect(headers.get('ratelimit')).toMatch(/^"store_listing";r=119;t=\d+$/);
  });

  it('returns 429 after 120 requests in a minute, by default', async () => {
    const by = await org.org.member('viewer');
    const ask = () => by.get(`${PUBLISHER}?limit=0`);
    // together, so that even a slow machine finishes within a minute
    for (let n = 0; n < 6; n++) {
      const answers = await Promise.all(Array.from({ length: 20 }, ask));
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    }
    const refused = await ask();
    expect(outcome(refused)).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await by.get(`${PUBLISHER}/item_x`)).status).toBe(404);
  });

  it.each([
    'limit=-1',
    'limit=x',
    'limit=1.5',
    'limit=501',
    'offset=-1',
    'offset=1e3',
    'offset=2147483648',
    'cursor=x',
    'sort=name',
    'q=x',
    'limit=1&limit=2',
  ])('rejects ?%s', async (query) => {
    const answer = await list(`?${query}`);
    expect([...outcome(answer), places(answer)]).toEqual([400, 'invalid_query', [query.split('=')[0]]]);
  });

  it('documents exactly the codes of the specification, in its order', () => {
    expect(documentedCodes('listPublisherItems')).toEqual({
      400: ['invalid_query', 'invalid_request'],
      401: [
        'alg_mismatch', 'alg_not_allowed', 'audience_mismatch', 'invalid_api_key', 'missing_identity', 'missing_org',
        'missing_user', 'signature_invalid', 'token_expired', 'token_malformed', 'token_missing', 'token_not_yet_valid',
        'token_rejected', 'token_service_account_unbound', 'unauthorized', 'unknown_account', 'unknown_key',
        'untrusted_issuer',
      ],
      403: ['access_denied', 'account_suspended', 'forbidden', 'platform_principal_refused'],
      429: ['rate_limited'],
      500: ['internal_error'],
      503: ['auth_unavailable', 'service_overloaded', 'service_unavailable', 'storage_unavailable'],
      504: ['request_timeout'],
    }); // oxfmt-ignore
  });

  describe('with many items', () => {
    const COUNT = 2_000;
    let many: StoreOrg;
    let reader: ApiClient;

    beforeAll(async () => {
      many = await StoreOrg.open(app);
      reader = await many.org.member('viewer');
      const { store_item_id } = await many.item();
      await app.database.query(
        `INSERT INTO store_items (store_item_id, ordinal, name, org_id, workspace_id, artifact_kind, artifact_id,
           category, license, highlights, topics, is_reviewed, release_id, publication_id, actions, manifest, sha256,
           size_bytes, file_count, policy_generation, is_public, org_ids, is_listed, can_acquire, generation, created_at,
           updated_at, created_by)
         SELECT 'item_' || lpad(n::text, 26, '0'), n, 'item ' || n, org_id, workspace_id, artifact_kind, artifact_id,
           category, license, highlights, topics, is_reviewed, release_id, publication_id, actions, manifest, sha256,
           size_bytes, file_count, policy_generation, is_public, org_ids, is_listed, can_acquire, generation, created_at,
           updated_at, created_by
         FROM store_items, generate_series(2, ${COUNT}) n WHERE store_item_id = $1`,
        [store_item_id],
      );
      await app.database.query('UPDATE store_item_counts SET count = $2 WHERE org_id = $1', [many.id, COUNT]);
    });

    const pageOf = async (query: string) => (await reader.get<Listing>(`${PUBLISHER}?${query}`)).body;

    it('pages exactly by offset from the newest', async () => {
      const first = await pageOf('limit=3');
      expect(first.items.map(({ name }) => name)).toEqual([
        `item ${COUNT}`,
        `item ${COUNT - 1}`,
        `item ${COUNT - 2}`,
      ]);
      expect(first.page).toEqual({ limit: 3, offset: 0, total: COUNT });
      const deep = await pageOf(`limit=2&offset=${COUNT - 3}`);
      expect(deep.items.map(({ name }) => name)).toEqual(['item 3', 'item 2']);
      const last = await pageOf(`offset=${COUNT - 1}`);
      expect([last.items.length, last.page]).toEqual([1, { limit: 50, offset: COUNT - 1, total: COUNT }]);
      for (const query of ['limit=0', `offset=${COUNT}`, 'offset=2147483647']) {
        const { items, page } = await pageOf(query);
        expect([items, page.total]).toEqual([[], COUNT]);
      }
    });

    it('puts a new item first', async () => {
      const item = await many.item();
      const { items, page } = await pageOf('limit=2');
      expect([items[0]!.store_item_id, items[1]!.name, page.total]).toEqual([item.store_item_id, `item ${COUNT}`, COUNT + 1]);
    }); // oxfmt-ignore

    it('reads no more rows for a deep page than for the first', async () => {
      for (const query of ['limit=10', `limit=10&offset=${COUNT - 50}`]) {
        const spy = jest.spyOn(app.database, 'query');
        await pageOf(query);
        const statement = spy.mock.calls
          .map(([one]) => one as { text?: string; values?: unknown[] })
          .find(({ text }) => text?.includes('bytes_before'))!;
        spy.mockRestore();
        const [row] = await app.database.query<{ 'QUERY PLAN': { parse(): unknown } }>(
          `EXPLAIN (ANALYZE, FORMAT JSON) ${statement.text}`,
          statement.values,
        );
        const text = JSON.stringify(row!['QUERY PLAN'].parse());
        expect(text).toContain('store_items_by_ordinal');
        const read = [...text.matchAll(/"Actual Rows":([\d.]+)/g)].map(([, rows]) => Number(rows));
        expect([query, Math.max(...read)]).toEqual([query, 10]);
      }
    });
  });

  it('gives concurrently published items different positions', async () => {
    const busy = await StoreOrg.open(app);
    await Promise.all(Array.from({ length: 6 }, () => busy.item()));
    const reader = await busy.org.member('viewer');
    const { body } = await reader.get<Listing>(PUBLISHER);
    expect([body.page.total, new Set(body.items.map((item) => item.store_item_id)).size]).toEqual([6, 6]);
  });
});

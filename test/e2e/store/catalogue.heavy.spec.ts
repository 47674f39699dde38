import { ownApp } from '#testing';
import { nodesOf, planOf } from '../evaluation/plans.harness';
import { ITEMS, OPEN, type StoreItem, StoreOrg } from './store.fixture';

interface Page {
  items: StoreItem[];
  page: { total: number | null; next_cursor: string | null };
}

describe('the catalogue with many items of other organizations', () => {
  const app = ownApp({ autovacuum: false });
  const COUNT = 20_000;
  let reader: StoreOrg;
  let seen: StoreItem;

  beforeAll(async () => {
    const publisher = await StoreOrg.open(app);
    reader = await StoreOrg.open(app);
    seen = await publisher.item({ topics: ['rare'] }, { ...OPEN, audience: { is_public: false, org_ids: [reader.id] } });
    await app.database.query(
      `INSERT INTO store_items (store_item_id, ordinal, name, org_id, workspace_id, artifact_kind, artifact_id,
         category, license, highlights, topics, is_reviewed, release_id, publication_id, actions, manifest, sha256,
         size_bytes, file_count, policy_generation, is_public, org_ids, is_listed, can_acquire, generation, created_at,
         updated_at, created_by)
       SELECT 'item_z' || lpad(n::text, 25, '0'), n + 100000, 'item ' || n, org_id, workspace_id, artifact_kind, artifact_id,
         category, license, highlights, topics, is_reviewed, release_id, publication_id, actions, manifest, sha256,
         size_bytes, file_count, policy_generation, is_public, org_ids, is_listed, can_acquire, generation, created_at,
         updated_at, created_by
       FROM store_items, generate_series(1, ${COUNT}) n WHERE store_item_id = $1`,
      [seen.store_item_id],
    );
    await app.database.query(
      `INSERT INTO store_listings (audience, facet, store_item_id)
       SELECT CASE WHEN n % 4 = 0 THEN '*' ELSE 'org_' || n % 4 END, facet, 'item_z' || lpad(n::text, 25, '0')
       FROM generate_series(1, ${COUNT}) n, unnest(ARRAY['', 'category:skills', 'topic:rare']) facet`,
    );
  }); // oxfmt-ignore

  const list = async (by: StoreOrg, query = '') => (await by.admin.get<Page>(`${ITEMS}${query}`)).body;

  it.each([
    ['on freshly loaded tables', ''],
    ['with statistics', 'ANALYZE store_items, store_listings'],
  ])('reads about as many rows as it returns %s', async (_, prepare) => {
    if (prepare) await app.database.query(prepare);
    for (const query of ['?limit=20', '?limit=20&category=skills', '?limit=20&topic=rare']) {
      const first = await list(reader, query);
      expect(first.items).toHaveLength(20);
      for (const page of [query, `${query}&cursor=${first.page.next_cursor}`]) {
        const spy = jest.spyOn(app.database, 'query');
        await list(reader, page);
        const { text, values } = spy.mock.calls
          .map(([one]) => one as { text: string; values: unknown[] })
          .find((one) => one.text?.includes('page_id'))!;
        spy.mockRestore();
        const [row] = await app.database.query<{ 'QUERY PLAN': { parse(): unknown } }>(
          `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
          values,
        );
        const read = [...JSON.stringify(row!['QUERY PLAN'].parse()).matchAll(/"Actual Rows":([\d.]+)/g)];
        expect([page, Math.max(...read.map(([, rows]) => Number(rows))) <= 25]).toEqual([page, true]);
        const nodes = nodesOf(await planOf(app.database, text, values)).map((node) => node['Node Type']);
        expect(nodes).toContain('Merge Append');
        expect(nodes).not.toContain('Seq Scan');
      }
    }
  }); // oxfmt-ignore

  it('pages by cursor through all items, each once', async () => {
    const itemIds: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { items, page }: Page = await list(reader, `?limit=500${cursor && `&cursor=${cursor}`}`);
      itemIds.push(...items.map((item) => item.store_item_id));
      cursor = page.next_cursor;
    }
    expect(new Set(itemIds).size).toBe(itemIds.length);
    expect(itemIds.length).toBe((await list(reader, '?limit=0')).page.total);
    expect(itemIds).toContain(seen.store_item_id);
  });

  it('finds words among many items', async () => {
    expect((await list(reader, '?q=19996')).items.map(({ name }) => name)).toEqual(['item 19996']);
  });
});

import { ownApp } from '#testing';
import { ITEMS, OPEN, outcome, places, sha256, type StoreItem, StoreOrg } from './store.fixture';

interface Page {
  items: StoreItem[];
  page: { total: number | null; next_cursor: string | null };
}

describe('the catalogue', () => {
  const app = ownApp();
  let publisher: StoreOrg;
  let reader: StoreOrg;

  beforeAll(async () => {
    publisher = await StoreOrg.open(app);
    reader = await StoreOrg.open(app);
  });

  const list = async (by: StoreOrg, query = '') => {
    const { body } = await by.admin.get<Page>(`${ITEMS}${query}`);
    return body;
  };
  const ids = async (by: StoreOrg, query = '') =>
    (await list(by, query)).items.map((item) => item.store_item_id);

  it('lists the organization’s own items and the items that admit it, each once, newest first', async () => {
    const isPublic = await publisher.item({}, OPEN);
    await publisher.item({}, { ...OPEN, is_listed: false });
    const forReader = await publisher.item({}, { ...OPEN, audience: { is_public: false, org_ids: [reader.id] } });
    const both = await publisher.item({}, { ...OPEN, audience: { is_public: true, org_ids: [reader.id] } });
    const own = await publisher.item({}, { ...OPEN, audience: { is_public: false } });
    const expected = [both, forReader, isPublic].map((item) => item.store_item_id);
    expect(await ids(reader)).toEqual(expected);
    expect(await ids(publisher)).toEqual([own.store_item_id, ...expected]);
    expect((await list(reader)).page.total).toBe(3);
    await publisher.setPolicy(both.store_item_id, { ...OPEN, audience: { is_public: false } });
    expect(await ids(reader)).toEqual(expected.slice(1));
    const [item] = (await list(reader)).items as unknown as Record<string, unknown>[];
    expect([item!.signature, typeof item!.created_at, typeof item!.updated_at]).toEqual([null, 'string', 'string']);
  }); // oxfmt-ignore

  it('filters by words, category, topic, and combinations of them', async () => {
    const org = await StoreOrg.open(app);
    const fields = [
      { name: 'Invoice reader', category: 'agents', topics: ['finance', 'pdf'] },
      { name: 'Invoice checker', category: 'tools', topics: ['finance'] },
      { name: 'Weather', tagline: 'invoices rain', category: 'tools', topics: ['pdf'] },
    ];
    const made: StoreItem[] = [];
    for (const one of fields) made.push(await org.item(one, { ...OPEN, audience: { is_public: false } }));
    const names = async (query: string) => (await list(org, query)).items.map(({ name }) => name).filter((name) => fields.some((one) => one.name === name));
    expect(await names('?q=invoice')).toEqual(['Weather', 'Invoice checker', 'Invoice reader']);
    expect(await names('?q=invoice+read')).toEqual(['Invoice reader']);
    expect(await names('?category=tools')).toEqual(['Weather', 'Invoice checker']);
    expect(await names('?topic=pdf')).toEqual(['Weather', 'Invoice reader']);
    expect(await names('?topic=pdf&category=agents')).toEqual(['Invoice reader']);
    expect(await names('?topic=finance&category=tools&q=check')).toEqual(['Invoice checker']);
    expect(await names('?topic=nothing')).toEqual([]);
    await org.admin.patch(`/store/v1/publisher/items/${made[2]!.store_item_id}`, { topics: ['sun'], category: 'other' });
    expect(await names('?topic=pdf')).toEqual(['Invoice reader']);
    expect(await names('?category=tools')).toEqual(['Invoice checker']);
    expect(await names('?topic=sun&category=other')).toEqual(['Weather']);
  }); // oxfmt-ignore

  it('rejects an unknown category, parameter or cursor', async () => {
    const refused = async (query: string) => {
      const answer = await reader.admin.get(`${ITEMS}?${query}`);
      return [...outcome(answer), places(answer)];
    };
    expect(await refused('category=x')).toEqual([422, 'validation_failed', ['category']]);
    expect(await refused('tag=x')).toEqual([400, 'invalid_query', ['tag']]);
    expect(await refused('cursor=x')).toEqual([400, 'invalid_query', ['cursor']]);
    expect(await refused('limit=-1')).toEqual([400, 'invalid_query', ['limit']]);
  });

  it('lets other organizations download only what the publisher offers, with a digest of the bytes', async () => {
    const closed = await publisher.item({}, { ...OPEN, can_acquire: false });
    const notDownloadable = await publisher.item({ actions: ['install'] }, OPEN);
    const open = await publisher.item({}, OPEN);
    const get = (by: StoreOrg, id: string, query = '') => by.admin.get(`${ITEMS}/${id}/package${query}`);
    for (const { store_item_id } of [closed, notDownloadable]) {
      expect(outcome(await get(reader, store_item_id))).toEqual([403, 'forbidden']);
      expect((await get(publisher, store_item_id)).status).toBe(200);
    }
    const { headers } = await get(reader, open.store_item_id);
    expect([headers.get('etag'), headers.get('content-length')]).toEqual([`"${open.sha256}"`, String(open.size_bytes)]);
    expect(headers.get('repr-digest')).toBe(`sha-256=:${Buffer.from(open.sha256, 'hex').toString('base64')}:`);
    expect(headers.get('content-disposition')).toBe('attachment; filename="Item.tar.gz"');
    expect(sha256(await reader.download(open.store_item_id))).toBe(open.sha256);
    const path = `${ITEMS}/${open.store_item_id}/package`;
    const part = await reader.admin.get(path, { range: 'bytes=2-5' });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 2-5/${open.size_bytes}`]);
    const notModified = await reader.admin.get(path, { 'if-none-match': headers.get('etag')! });
    expect(notModified.status).toBe(304);
    expect(outcome(await get(reader, open.store_item_id, '?release_id=rel_x'))).toEqual([404, 'not_found']);
  }); // oxfmt-ignore
});

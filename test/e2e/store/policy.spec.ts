import { sharedApp } from '#testing';
import { ListingRepository } from '../../../src/store/items/listing.repository';
import { ITEMS, OPEN, outcome, places, PUBLISHER, type StoreItem, StoreOrg } from './store.fixture';

describe('the policy of an item', () => {
  const app = sharedApp();
  let org: StoreOrg;
  let other: StoreOrg;

  beforeAll(async () => {
    org = await StoreOrg.open(app);
    other = await StoreOrg.open(app);
  });

  const put = (id: string, body: unknown, ifMatch?: string) =>
    org.admin.put<StoreItem>(`${PUBLISHER}/${id}/policy`, body, ifMatch ? { 'if-match': ifMatch } : {});
  const read = (by: StoreOrg, id: string) => by.admin.get(`${ITEMS}/${id}`);

  it('does not accept the ETag of the item as that of the policy', async () => {
    const publisher = await StoreOrg.open(app);
    const item = await publisher.item();
    const path = `${PUBLISHER}/${item.store_item_id}`;
    const etag = (await publisher.admin.get(path)).headers.get('etag')!;
    const stale = await publisher.admin.put(`${path}/policy`, OPEN, { 'if-match': etag });
    expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed']);
    expect(stale.body.detail).toBe(
      'If-Match takes the generation of the policy, not the ETag of the item. The generation is "1".',
    );
    const changed = await publisher.admin.put(`${path}/policy`, OPEN, { 'if-match': '"1"' });
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"2"']);
    const renamed = await publisher.admin.patch(path, { name: 'New' }, { 'if-match': '"2"' });
    expect(renamed.status).toBe(412);
  });

  it('gets a new generation with every change, and only then', async () => {
    const { store_item_id: id } = await org.item();
    const first = await put(id, OPEN, '"1"');
    expect([first.status, first.headers.get('etag'), first.body.policy.generation]).toEqual([200, '"2"', 2]);
    const same = await put(id, OPEN, '"2"');
    expect([same.headers.get('etag'), same.body.policy.generation]).toEqual(['"2"', 2]);
    const sentBack = await put(id, { ...same.body.policy, is_listed: false });
    expect(sentBack.body.policy).toEqual({ ...same.body.policy, generation: 3, is_listed: false });
    await org.admin.patch(`${PUBLISHER}/${id}`, { name: 'Other' });
    expect((await org.admin.get<StoreItem>(`${PUBLISHER}/${id}`)).body.policy.generation).toBe(3);
  });

  it('rejects a stale generation, and applies one of two concurrent changes', async () => {
    const { store_item_id: id } = await org.item();
    const stale = await put(id, OPEN, '"7"');
    expect(outcome(stale)).toEqual([412, 'precondition_failed']);
    expect(stale.body).toMatchObject({
      detail:
        'The policy has changed. Its generation is now 1. Read the item again before you replace its policy.',
    });
    const answers = await Promise.all([
      put(id, OPEN, '"1"'),
      put(id, { ...OPEN, can_acquire: false }, '"1"'),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
  });

  it.each<[string, unknown, number, string[]]>([
    ['a missing audience', { is_listed: true, can_acquire: true }, 400, ['/audience']],
    ['a text for is_listed', { ...OPEN, is_listed: 'yes' }, 400, ['/is_listed']],
    ['a missing can_acquire', { audience: { is_public: true }, is_listed: true }, 400, ['/can_acquire']],
    ['an unknown member', { ...OPEN, listed: true }, 400, ['/listed']],
    ['an unknown member of the audience', { ...OPEN, audience: { is_public: true, orgs: [] } }, 400, ['/audience/orgs']],
    ['a null audience', { ...OPEN, audience: null }, 400, ['/audience']],
    ['null org_ids', { ...OPEN, audience: { is_public: true, org_ids: null } }, 400, ['/audience/org_ids']],
    ['too many organizations', { ...OPEN, audience: { is_public: true, org_ids: Array.from({ length: 1_001 }, (_, i) => `org_${i}`) } }, 400, ['/audience/org_ids']],
  ])('rejects %s', async (_, body, status, pointers) => {
    const { store_item_id } = await org.item();
    const answer = await put(store_item_id, body);
    expect([answer.status, places(answer)]).toEqual([status, pointers]);
  }); // oxfmt-ignore

  it('rejects an unknown organization, with a pointer to it', async () => {
    const { store_item_id } = await org.item();
    const org_ids = [org.id, other.id, 'org_unknown'];
    const answer = await put(store_item_id, { ...OPEN, audience: { is_public: false, org_ids } });
    expect([...outcome(answer), places(answer)]).toEqual([400, 'invalid_request', ['/audience/org_ids/2']]);
  });

  it('determines who sees the item, and hides the other organizations of its audience', async () => {
    const third = await StoreOrg.open(app);
    const { store_item_id: id } = await org.item();
    const unknown = await read(other, 'item_01jd0000000000000000000001');
    const hidden = await read(other, id);
    expect(outcome(hidden)).toEqual([404, 'not_found']);
    const masked = ({ body }: { body: unknown }): unknown =>
      JSON.parse(JSON.stringify(body).replace(/item_\w+/g, 'item').replace(/"trace_id":"\w+"/, '"trace_id":""'));
    expect(masked(hidden)).toEqual(masked(unknown));
    await put(id, { audience: { is_public: false, org_ids: [third.id, other.id] }, is_listed: false, can_acquire: false });
    const seen = await read(other, id);
    expect([seen.status, (seen.body as StoreItem).policy.audience]).toEqual([200, { is_public: false, org_ids: [other.id] }]);
    const own = await read(org, id);
    expect((own.body as StoreItem).policy.audience.org_ids).toEqual([third.id, other.id]);
    await put(id, { audience: { is_public: false }, is_listed: true, can_acquire: true });
    expect(outcome(await read(other, id))).toEqual([404, 'not_found']);
    await put(id, { audience: { is_public: true }, is_listed: false, can_acquire: false });
    expect((await read(other, id)).status).toBe(200);
  }); // oxfmt-ignore

  it('hides a withdrawn item from everyone else, permanently', async () => {
    const { store_item_id: id } = await org.item({}, OPEN);
    expect((await read(other, id)).status).toBe(200);
    for (let n = 0; n < 2; n++) {
      const { status, body } = await org.admin.post<StoreItem>(`${PUBLISHER}/${id}/withdraw`);
      expect([status, body.policy.is_listed, body.policy.can_acquire, body.policy.generation]).toEqual([200, false, false, 3]);
    }
    const acquire = { workspace_id: other.workspace };
    const answers = [
      await read(other, id),
      await other.admin.get(`${ITEMS}/${id}/package`),
      await other.admin.post(`${ITEMS}/${id}/acquire`, acquire),
    ];
    expect(answers.map(outcome)).toEqual(answers.map(() => [404, 'not_found']));
    const changes = [
      await put(id, OPEN),
      await org.admin.post(`${PUBLISHER}/${id}/releases`, {}),
      await org.admin.patch(`${PUBLISHER}/${id}`, { name: 'x' }),
    ];
    expect(changes.map(outcome)).toEqual(changes.map(() => [409, 'conflict']));
    const { body } = await org.admin.get<{ items: StoreItem[] }>(PUBLISHER);
    expect(body.items.map((item) => item.store_item_id)).toContain(id);
    expect((await read(org, id)).status).toBe(200);
    const own = await org.admin.post(`${ITEMS}/${id}/acquire`, { workspace_id: org.workspace });
    expect(outcome(own)).toEqual([403, 'forbidden']);
    expect(own.body.detail).toBe('This item was withdrawn, so it cannot be acquired. To offer the resource again, publish it as a new item.');
  }); // oxfmt-ignore

  it('does not allow others to publish, change or withdraw the item', async () => {
    const { store_item_id: id } = await org.item({}, OPEN);
    const path = `${PUBLISHER}/${id}`;
    const answers = [
      await other.admin.get(path),
      await other.admin.patch(path, { name: 'x' }),
      await other.admin.put(`${path}/policy`, OPEN),
      await other.admin.post(`${path}/withdraw`),
      await other.admin.post(`${path}/releases`, {}),
      await other.admin.get(`${path}/releases`),
    ];
    expect(answers.map(outcome)).toEqual(answers.map(() => [404, 'not_found']));
  });

  it('can be reviewed only by platform principals, and again after a new release', async () => {
    const { store_item_id: id } = await org.item({}, OPEN);
    const review = `${ITEMS}/${id}/review`;
    expect(outcome(await org.admin.post(review))).toEqual([403, 'access_denied']);
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const platform = app.api(await app.issuer.issueToken(claims));
    expect((await platform.post<StoreItem>(review)).body.is_reviewed).toBe(true);
    expect((await platform.post<StoreItem>(review, { is_reviewed: false })).body.is_reviewed).toBe(false);
    expect((await platform.post<StoreItem>(review, {})).body.is_reviewed).toBe(true);
    expect(places(await platform.post(review, { is_reviewed: 'yes' }))).toEqual(['/is_reviewed']);
    expect(outcome(await platform.post(`${ITEMS}/item_x/review`))).toEqual([404, 'not_found']);
    expect((await org.release(id)).is_reviewed).toBe(false);
  });

  it('cannot be marked as reviewed for a release that the reviewer has not seen', async () => {
    const { store_item_id: id, source } = await org.item({}, OPEN);
    const review = `${ITEMS}/${id}/review`;
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const platform = app.api(await app.issuer.issueToken(claims));
    const next = await org.release(id);
    expect(outcome(await platform.post(review, { release_id: source.release_id }))).toEqual([
      409,
      'conflict',
    ]);
    const reviewed = await platform.post<StoreItem>(review, { release_id: next.source.release_id });
    expect([reviewed.status, reviewed.body.is_reviewed]).toEqual([200, true]);
  });

  it.each<[boolean, object]>([
    [false, { name: 'Other' }],
    [false, { tagline: 'Other' }],
    [false, { artwork: 'https://example.com/other.png' }],
    [false, { highlights: ['Other'] }],
    [false, { category: 'other' }],
    [true, { name: 'Item', topics: ['other'], license: 'MIT', release_notes: 'Other' }],
  ])('keeps the review: %s, for a change of %j', async (isKept, patch) => {
    const { store_item_id: id } = await org.item();
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const platform = app.api(await app.issuer.issueToken(claims));
    await platform.post(`${ITEMS}/${id}/review`);
    const { body } = await org.admin.patch<StoreItem>(`${PUBLISHER}/${id}`, patch);
    expect(body.is_reviewed).toBe(isKept);
  });

  it('is written to the lists of the catalogue only when they change', async () => {
    const { store_item_id: id } = await org.item({ topics: ['a'] });
    const listed = jest.spyOn(app.get(ListingRepository), 'put');
    const writesOf = async (change: () => Promise<unknown>): Promise<number> => {
      listed.mockClear();
      await change();
      return listed.mock.calls.length;
    };
    const path = `${PUBLISHER}/${id}`;
    const patch = (body: object) => () => org.admin.patch(path, body);
    expect(await writesOf(patch({ tagline: 'Other', license: 'MIT', topics: ['a'] }))).toBe(0);
    expect(await writesOf(patch({ name: 'Other' }))).toBe(1);
    expect(await writesOf(() => org.release(id))).toBe(0);
    expect(await writesOf(() => put(id, { ...OPEN, is_listed: false }))).toBe(1);
    expect(await writesOf(() => put(id, { ...OPEN, is_listed: false, can_acquire: false }))).toBe(0);
    expect(await writesOf(() => put(id, OPEN))).toBe(1);
    expect(await writesOf(patch({ topics: ['b'] }))).toBe(1);
    expect(await writesOf(patch({ category: 'other' }))).toBe(1);
    expect(await writesOf(() => org.admin.post(`${path}/withdraw`))).toBe(1);
    listed.mockRestore();
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { ObjectStorage } from '#platform/storage';
import { ownApp, type TestApp } from '#testing';
import { type Acquisition, ACQUISITIONS, ITEMS, OPEN, PUBLISHER, StoreOrg } from './store.fixture';

/** Longer than the idle-in-transaction timeout of PostgreSQL, which is twice the request timeout. */
const SLOW_MS = 5_000;

describe('a slow installation', () => {
  const app = ownApp({ env: { LOCK_TIMEOUT_MS: '2000' } });
  let hasty: TestApp;
  let publisher: StoreOrg;
  let buyer: StoreOrg;

  beforeAll(async () => {
    hasty = await app.another({ REQUEST_TIMEOUT_MS: '2000' });
    publisher = await StoreOrg.open(app);
  });
  beforeEach(async () => {
    buyer = await StoreOrg.open(app);
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await hasty.close();
  });

  /**
   * Publishes a file whose content the process with short timeouts takes long to store.
   *
   * @param done what the process waits for before it stores the content
   */
  async function slowItem(done?: Promise<void>): Promise<{ id: string; writing: Promise<void> }> {
    const path = `/file/v1/files?workspace_id=${publisher.workspace}`;
    const file = await publisher.admin.post<{ file_id: string }>(path, Buffer.from(`${Math.random()}`));
    const item = await publisher.publish('file', file.body.file_id);
    await publisher.setPolicy(item.store_item_id, OPEN);
    const storage = hasty.get(ObjectStorage);
    const write = storage.write.bind(storage);
    let begin!: () => void;
    const writing = new Promise<void>((resolve) => (begin = resolve));
    jest.spyOn(storage, 'write').mockImplementation(async (key, bytes) => {
      begin();
      await Promise.all([sleep(SLOW_MS), done]);
      return write(key, bytes);
    });
    return { id: item.store_item_id, writing };
  }

  const acquire = (item: string, by = buyer.admin) =>
    by.post<Acquisition>(`${ITEMS}/${item}/acquire`, { workspace_id: buyer.workspace });
  const acquireSlowly = async (item: string) => acquire(item, hasty.api(await buyer.org.token('owner')));

  it('succeeds, because no transaction waits for the storage', async () => {
    const { status, body } = await acquireSlowly((await slowItem()).id);
    expect([status, body.copies.map(({ kind, change }) => [kind, change])]).toEqual([
      201,
      [['file', 'created']],
    ]);
  });

  it('does not block the publisher from withdrawing, and then fails and leaves nothing behind', async () => {
    let goOn!: () => void;
    const withdrawn = new Promise<void>((resolve) => (goOn = resolve));
    const { id, writing } = await slowItem(withdrawn);
    const acquiring = acquireSlowly(id);
    await writing;
    const { status } = await publisher.admin.post(`${PUBLISHER}/${id}/withdraw`);
    goOn();
    expect(status).toBe(200);
    expect(await acquiring).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect((await buyer.admin.get(ACQUISITIONS)).body.items).toEqual([]);
    const [{ count }] = (await app.database.query(
      `SELECT count(*)::int AS count FROM (SELECT org_id FROM blobs UNION ALL SELECT org_id FROM blob_writes) blobs_of_org
       WHERE org_id = '${buyer.id}'`,
    )) as [{ count: number }];
    expect(count).toBe(0);
  });

  it('is not blocked by an upload of the same bytes', async () => {
    const path = `/file/v1/files?workspace_id=${publisher.workspace}`;
    const file = await publisher.admin.post<{ file_id: string }>(path, Buffer.alloc(0));
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((name) => publisher.admin.post(`${path}&name=${name}`, Buffer.alloc(0))),
    );
    expect([file.status, ...answers.map(({ status }) => status)]).toEqual([201, 201, 201, 201]);
  });

  it('returns the same acquisition when repeated, even if the item is no longer offered', async () => {
    const item = await publisher.item({}, OPEN);
    const first = await acquire(item.store_item_id);
    await publisher.setPolicy(item.store_item_id, { ...OPEN, can_acquire: false });
    const again = await acquire(item.store_item_id);
    expect([again.status, again.body.acquisition_id]).toEqual([200, first.body.acquisition_id]);
    await publisher.admin.post(`${PUBLISHER}/${item.store_item_id}/withdraw`);
    const withdrawn = await acquire(item.store_item_id);
    expect([withdrawn.status, withdrawn.body.acquisition_id, withdrawn.body.latest_release_id]).toEqual([
      200,
      first.body.acquisition_id,
      null,
    ]);
  });

  it('returns 409 if a repeat names a release other than the installed one', async () => {
    const item = await publisher.item({}, OPEN);
    const path = `${ITEMS}/${item.store_item_id}/acquire`;
    const first = item.source.release_id;
    await publisher.release(item.store_item_id);
    await acquire(item.store_item_id);
    const body = { workspace_id: buyer.workspace, release_id: first };
    expect(await buyer.admin.post(path, body)).toMatchObject({ status: 409, body: { code: 'conflict' } });
  });

  it('names the component whose name is taken', async () => {
    const { skill_id, name } = await publisher.skill();
    const item = await publisher.publish('skill', skill_id);
    await publisher.setPolicy(item.store_item_id, OPEN);
    await buyer.skill({ name });
    const { status, body } = await acquire(item.store_item_id);
    expect([status, (body as unknown as { detail: string }).detail]).toEqual([
      409,
      expect.stringContaining(`The skill "${name}" of the package cannot be installed.`),
    ]);
  });

  it('can choose among the releases in the catalogue, which do not show who created them', async () => {
    const item = await publisher.item({ version_label: '1', release_notes: 'first' }, OPEN);
    await publisher.release(item.store_item_id);
    const { status, body } = await buyer.admin.get(`${ITEMS}/${item.store_item_id}/releases`);
    expect([status, body.page.total]).toEqual([200, 2]);
    expect(body.items[0]).toMatchObject({ version_label: null, release_notes: null });
    expect(body.items[1]).toMatchObject({ version_label: '1', release_notes: 'first' });
    expect(body.items[1].release_id).toBe(item.source.release_id);
    expect(body.items[1]).not.toHaveProperty('created_by');
    await publisher.setPolicy(item.store_item_id, { ...OPEN, audience: { is_public: false } });
    expect((await buyer.admin.get(`${ITEMS}/${item.store_item_id}/releases`)).status).toBe(404);
  });

  it('keeps the name and metadata that were set on a copy, because they have no versions', async () => {
    const path = `/file/v1/files?workspace_id=${publisher.workspace}&name=theirs`;
    const { body: file } = await publisher.admin.post<{ file_id: string }>(path, Buffer.from('1'));
    const item = await publisher.publish('file', file.file_id);
    await publisher.setPolicy(item.store_item_id, OPEN);
    const { body } = await acquire(item.store_item_id);
    const copy = `/file/v1/files/${body.copies[0]!.artifact_id}`;
    await buyer.admin.patch(copy, { name: 'ours', metadata: { by: 'us' } });
    await publisher.admin.post(`/file/v1/files/${file.file_id}/versions`, Buffer.from('2'));
    await publisher.release(item.store_item_id);
    const upgraded = await buyer.admin.post(`${ACQUISITIONS}/${body.acquisition_id}/upgrade`);
    expect(upgraded.body.changes).toMatchObject([{ change: 'updated' }]);
    expect((await buyer.admin.get(copy)).body).toMatchObject({
      name: 'ours',
      metadata: { by: 'us' },
      version_ordinal: 2,
    });
  });
});

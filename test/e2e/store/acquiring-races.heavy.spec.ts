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
});

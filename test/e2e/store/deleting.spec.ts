import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BlobStore } from '#platform/storage';
import { sharedApp } from '#testing';
import { StoreItemRepository } from '../../../src/store/items/store-item.repository';
import { StoreItemsStep } from '../../../src/store/items/store-items.step';
import { type ErasureRun, ErasureSteps } from '../../../src/resources';
import { ACQUISITIONS, ITEMS, OPEN, PUBLISHER, type StoreItem, StoreOrg } from './store.fixture';

describe('an item of the store', () => {
  const app = sharedApp();
  let publisher: StoreOrg;

  beforeEach(async () => {
    publisher = await StoreOrg.open(app);
  });

  const withdraw = async (id: string): Promise<void> => {
    expect((await publisher.admin.post(`${PUBLISHER}/${id}/withdraw`)).status).toBe(200);
  };
  const objectsOf = ({ id }: StoreOrg) => path.join(fileURLToPath(app.env.STORAGE_URL!), 'objects', id);
  const remove = (id: string, query = '') => publisher.admin.delete(`${PUBLISHER}/${id}${query}`);

  it('is deleted with its packages once it is withdrawn, by admins', async () => {
    const { store_item_id: id } = await publisher.item({ name: 'gone' }, OPEN);
    await publisher.release(id);
    const live = await remove(id);
    expect([live.status, live.body.detail]).toEqual([409, expect.stringContaining('Withdraw it')]);
    await withdraw(id);
    expect((await (await publisher.org.member('publisher')).delete(`${PUBLISHER}/${id}`)).status).toBe(403);
    expect((await remove(id)).status).toBe(204);
    const after = [
      publisher.admin.get(`${PUBLISHER}/${id}`),
      publisher.admin.get(`${PUBLISHER}/${id}/releases`),
      publisher.admin.get(`${ITEMS}/${id}`),
      remove(id),
    ];
    expect((await Promise.all(after)).map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    await app.get(BlobStore).deleteOrphans();
    expect(await readdir(objectsOf(publisher))).toEqual([]);
  });

  it('leaves no gap in the pages of its organization', async () => {
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) ids.push((await publisher.item({ name })).store_item_id);
    await withdraw(ids[1]!);
    await withdraw(ids[2]!);
    const removed = await Promise.all([remove(ids[1]!), remove(ids[2]!)]);
    expect(removed.map(({ status }) => status)).toEqual([204, 204]);
    await publisher.item({ name: 'e' });
    const pages = await Promise.all(
      [0, 1, 2, 3].map((offset) => publisher.admin.get(`${PUBLISHER}?limit=1&offset=${offset}`)),
    );
    expect(pages.map(({ body }) => [body.page.total, body.items.map((one: any) => one.name)])).toEqual([
      [3, ['e']],
      [3, ['d']],
      [3, ['a']],
      [3, []],
    ]);
  });

  it('goes with its erased workspace, even if others have acquired it, and leaves no gap', async () => {
    const other = await publisher.org.newWorkspace();
    const items: StoreItem[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      const workspace_id = 'bd'.includes(name) ? other : publisher.workspace;
      const { skill_id } = await publisher.skill({ workspace_id });
      items.push(await publisher.publish('skill', skill_id, { name, workspace_id }));
    }
    const [first, kept] = items.map(({ store_item_id }) => store_item_id);
    await publisher.setPolicy(first!, OPEN);
    await publisher.release(first!);
    const acquirer = await StoreOrg.open(app);
    const { acquisition_id, copies } = (await acquirer.acquire(first!)).body;

    const step = new StoreItemsStep(new ErasureSteps(), app.get(StoreItemRepository), app.get(BlobStore));
    const run: ErasureRun = {
      erasureId: 'era',
      orgId: publisher.id,
      workspaceId: publisher.workspace,
      subject: 'workspace',
      isOfOrg: false,
      id: publisher.workspace,
      isForced: false,
      requestedAt: new Date(),
      isDryRun: false,
    };
    for (const isDryRun of [true, false]) {
      const batch = await app.database.transaction((tx) => step.run(tx, { ...run, isDryRun }));
      expect(batch).toEqual({ counts: { store_items: 2, store_releases: 3 }, next: null });
    }
    const own = (await publisher.admin.get(`${PUBLISHER}?limit=2`)).body;
    expect([own.page.total, own.items.map((one: any) => one.name)]).toEqual([2, ['d', 'b']]);
    const found = [first, kept].map((id) => publisher.admin.get(`${PUBLISHER}/${id}`));
    expect((await Promise.all(found)).map(({ status }) => status)).toEqual([404, 200]);
    expect((await acquirer.admin.get(`${ACQUISITIONS}/${acquisition_id}`)).body.item_erased).toBe(true);
    expect((await acquirer.admin.get(`/skill/v1/skills/${copies[0]!.artifact_id}`)).status).toBe(200);
    await app.get(BlobStore).deleteOrphans();
    expect(await readdir(objectsOf(publisher))).toHaveLength(2);
  });

  it('that others have acquired is kept, even with force', async () => {
    const { store_item_id: id } = await publisher.item({}, OPEN);
    const other = await StoreOrg.open(app);
    expect((await other.acquire(id)).status).toBe(201);
    await withdraw(id);
    const refused = await remove(id, '?force=true');
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringContaining('Other organizations'),
    ]);
    expect((await publisher.admin.get(`${PUBLISHER}/${id}/releases`)).body.page.total).toBe(1);
  });

  it('that its own organization has acquired is deleted with force, and the acquisition says so', async () => {
    const { store_item_id: id } = await publisher.item({}, OPEN);
    const workspace_id = await publisher.org.newWorkspace();
    const { acquisition_id } = (await publisher.acquire(id, { workspace_id })).body;
    await withdraw(id);
    const refused = await remove(id);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining(acquisition_id)]);
    expect((await publisher.admin.get(`${ACQUISITIONS}/${acquisition_id}`)).body).not.toHaveProperty(
      'item_erased',
    );
    expect((await remove(id, '?force=true')).status).toBe(204);
    expect((await publisher.admin.get(`${ACQUISITIONS}/${acquisition_id}`)).body).toMatchObject({
      store_item_id: id,
      item_erased: true,
      latest_release_id: null,
    });
  });
});

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createTestApp, type TestApp } from '#testing';
import { Environment } from '#platform/config';
import { type Database, sql } from '#platform/db';
import { BlobRepository } from './blob.repository';
import { BlobStore, type WrittenBlob } from './blob-store';
import { StorageErrors } from './storage-errors';
import { StorageQuota } from './storage-quota';
import { contentOf, failingAfter, inDirectory, streamOf, type TestStorage } from './storages.fixture';

const MIB = 1024 ** 2;
const UNAVAILABLE = { status: 503, code: 'storage_unavailable' };

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe('kept bytes', () => {
  let app: TestApp;
  let database: Database;
  let test: TestStorage;
  let blobs: BlobStore;
  let scope: { orgId: string };

  beforeAll(async () => {
    [app, test] = await Promise.all([createTestApp(), inDirectory()]);
    ({ database } = app);
    blobs = new BlobStore(
      test.storage,
      new BlobRepository(database),
      new Environment(),
      app.get(StorageQuota),
      app.get(StorageErrors),
    );
  });

  afterAll(async () => {
    await app.close();
    await test.close();
  });

  beforeEach(() => {
    scope = { orgId: `org_${randomUUID()}` };
  });

  const keep = (...written: WrittenBlob[]): Promise<void> =>
    blobs.keepOrDiscard(written, () =>
      database.transaction(async (tx) => {
        for (const blob of written) await blobs.keep(tx, scope, blob);
      }),
    );

  async function keptBlob(bytes: Buffer): Promise<WrittenBlob> {
    const blob = await blobs.write(scope, streamOf(bytes));
    await keep(blob);
    return blob;
  }

  /** Lists the objects of the organization in the storage itself. */
  async function objects(): Promise<string[]> {
    return (await test.objects()).filter((key) => key.startsWith(scope.orgId));
  }

  /** Lists the unfinished writes of the organization. */
  const writes = (): Promise<{ storage_key: string; heartbeat_at: Date | null }[]> =>
    database.query(sql`SELECT storage_key, heartbeat_at FROM blob_writes WHERE org_id = ${scope.orgId}`);

  const age = (seconds: number): Promise<unknown> =>
    database.query(
      sql`UPDATE blob_writes SET heartbeat_at = heartbeat_at - ${seconds} * interval '1 second' WHERE org_id = ${scope.orgId}`,
    );

  const has = (of: { orgId: string }, digest: string): Promise<boolean> =>
    database.transaction((tx) => blobs.hold(tx, of, digest));

  async function read(digest: string): Promise<Buffer> {
    return contentOf((await blobs.open(scope, digest)).read());
  }

  it.each([0, 1, 6 * MIB])('are read as they were written (%d bytes)', async (size) => {
    const bytes = randomBytes(size);
    const blob = await keptBlob(bytes);
    expect([blob.size, blob.sha256]).toEqual([size, sha256(bytes)]);
    expect((await read(blob.sha256)).equals(bytes)).toBe(true);
    expect(await has(scope, blob.sha256)).toBe(true);
    expect(await writes()).toEqual([]);
  });

  it('are stored once per organization', async () => {
    const bytes = randomBytes(1_000);
    await keptBlob(bytes);
    const [first] = await objects();
    const second = await keptBlob(bytes);
    expect(await objects()).toEqual([first]);
    expect(await writes()).toEqual([]);
    expect((await read(second.sha256)).equals(bytes)).toBe(true);
    const other = { orgId: `org_${randomUUID()}` };
    expect(await has(other, second.sha256)).toBe(false);
    await expect(blobs.open(other, second.sha256)).rejects.toMatchObject(UNAVAILABLE);
  });

  it('are stored once if several writes store them at the same time', async () => {
    const bytes = randomBytes(100_000);
    const all = await Promise.all(Array.from({ length: 5 }, () => keptBlob(bytes)));
    expect(await objects()).toHaveLength(1);
    expect(await writes()).toEqual([]);
    expect((await read(all[0]!.sha256)).equals(bytes)).toBe(true);
  });

  it('stay while a transaction refers to them, and are gone once they were released', async () => {
    const { sha256 } = await keptBlob(randomBytes(100));
    const release = () => database.transaction((tx) => Promise.resolve(blobs.release(tx, scope, [sha256])));
    await database.transaction(async (tx) => {
      expect(await blobs.hold(tx, scope, sha256)).toBe(true);
      const isLocked = sql`SELECT 1 FROM blobs WHERE org_id = ${scope.orgId} FOR UPDATE NOWAIT`;
      await expect(database.query(isLocked)).rejects.toMatchObject({ code: '55P03' });
    });
    await release();
    expect(await has(scope, sha256)).toBe(false);
  });

  it('leave nothing if the transaction that keeps them fails', async () => {
    const written = await Promise.all(
      [1_000, 6 * MIB].map((size) => blobs.write(scope, streamOf(randomBytes(size)))),
    );
    const failure = new Error('a name is taken');
    const work = blobs.keepOrDiscard(written, () =>
      database.transaction(async (tx) => {
        for (const blob of written) await blobs.keep(tx, scope, blob);
        throw failure;
      }),
    );
    await expect(work).rejects.toBe(failure);
    expect(await has(scope, written[0]!.sha256)).toBe(false);
    expect(await objects()).toEqual([]);
    expect(await writes()).toEqual([]);
  });

  it.each([10, 6 * MIB])('leave nothing if their source fails after %d bytes', async (size) => {
    const failure = new Error('the client has gone');
    await expect(blobs.write(scope, failingAfter(randomBytes(size), failure))).rejects.toBe(failure);
    expect(await objects()).toEqual([]);
    expect(await test.leftovers()).toEqual([]);
    expect(await writes()).toEqual([]);
  });

  it('are found if the request that wrote them is rolled back with all that it has written', async () => {
    const request = database.joinTransactions(
      async () => {
        await database.transaction((tx) => blobs.writeWithin(tx, scope, streamOf(randomBytes(10))));
        throw new Error('a later step failed');
      },
      () => Promise.resolve(true),
    );
    await expect(request).rejects.toThrow('a later step failed');
    expect(await objects()).toHaveLength(1);
    await database.query(
      sql`UPDATE blob_writes SET heartbeat_at = now() - interval '1 day' WHERE org_id = ${scope.orgId}`,
    );
    await blobs.deleteOrphans();
    expect(await objects()).toEqual([]);
  });

  it('are deleted if the process died before they were kept, but not while it writes', async () => {
    const fresh = await blobs.write(scope, streamOf(Buffer.from('fresh')));
    await blobs.deleteOrphans();
    expect(await objects()).toEqual([fresh.row.storage_key]);
    await age(new Environment().STORAGE_ORPHAN_SECONDS - 60);
    await blobs.deleteOrphans();
    expect(await objects()).toEqual([fresh.row.storage_key]);
    await age(61);
    await blobs.deleteOrphans();
    expect(await objects()).toEqual([]);
    expect(await writes()).toEqual([]);
    fresh.stop();
  });

  it('are rejected if they were considered abandoned before they were kept', async () => {
    const blob = await blobs.write(scope, streamOf(Buffer.from('late')));
    await age(new Environment().STORAGE_ORPHAN_SECONDS + 1);
    await blobs.deleteOrphans();
    await expect(keep(blob)).rejects.toMatchObject(UNAVAILABLE);
    expect(await has(scope, blob.sha256)).toBe(false);
  });

  it('are rejected and deleted if they arrive after they were considered abandoned', async () => {
    const late = async function* () {
      yield Buffer.from('late');
      await database.query(sql`DELETE FROM blob_writes WHERE org_id = ${scope.orgId}`);
    };
    await expect(blobs.write(scope, late())).rejects.toMatchObject(UNAVAILABLE);
    expect(await objects()).toEqual([]);
    const blob = await blobs.write(scope, streamOf(Buffer.from('late')));
    await database.query(sql`DELETE FROM blob_writes WHERE org_id = ${scope.orgId}`);
    await expect(keep(blob)).rejects.toMatchObject(UNAVAILABLE);
    expect(await objects()).toEqual([]);
  });

  it('are not deleted if the process does not learn that its transaction committed', async () => {
    const bytes = randomBytes(1_000);
    const blob = await blobs.write(scope, streamOf(bytes));
    const lost = blobs.keepOrDiscard([blob], async () => {
      await database.transaction((tx) => blobs.keep(tx, scope, blob));
      throw new Error('the connection was lost');
    });
    await expect(lost).rejects.toThrow('the connection was lost');
    await blobs.deleteOrphans();
    expect((await read(blob.sha256)).equals(bytes)).toBe(true);
  });

  it('are never returned as complete if the storage has lost or damaged them', async () => {
    const bytes = randomBytes(MIB);
    const blob = await keptBlob(bytes);
    const damaged = Buffer.from(bytes);
    damaged[10] = damaged[10]! ^ 1;
    for (const instead of [damaged, bytes.subarray(1), Buffer.alloc(0), Buffer.alloc(MIB)]) {
      await test.replace(blob.row.storage_key, instead);
      let received = 0;
      const reading = async (): Promise<void> => {
        for await (const chunk of (await blobs.open(scope, blob.sha256)).read()) received += chunk.length;
      };
      await expect(reading()).rejects.toMatchObject(UNAVAILABLE);
      expect(received).toBeLessThan(bytes.length);
    }
    await test.storage.delete(blob.row.storage_key);
    await expect(read(blob.sha256)).rejects.toMatchObject(UNAVAILABLE);
  });

  it('are deleted even if others cannot be deleted', async () => {
    for (let count = 0; count < 3; count++) {
      (await blobs.write(scope, streamOf(Buffer.from('orphan')))).stop();
    }
    await age(new Environment().STORAGE_ORPHAN_SECONDS + 1);
    const [stuck] = (await writes()).map((row) => row.storage_key);
    const remove = test.storage.delete.bind(test.storage);
    const spy = jest
      .spyOn(test.storage, 'delete')
      .mockImplementation((key) => (key === stuck ? Promise.reject(new Error('denied')) : remove(key)));
    await blobs.deleteOrphans();
    expect(await objects()).toEqual([stuck]);
    spy.mockRestore();
    await blobs.deleteOrphans();
    expect(await objects()).toEqual([]);
    expect(await writes()).toEqual([]);
  });
});

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Environment } from '#platform/config';
import { sql } from '#platform/db';
import { ownApp } from '#testing';
import { BlobRepository } from './blob.repository';
import { BlobStore, type WrittenBlob } from './blob-store';
import { StorageErrors } from './storage-errors';
import { StorageQuota } from './storage-quota';
import { StorageVerificationRepository } from './storage-verification.repository';
import {
  type LostBytes,
  type Orphan,
  StorageVerifier,
  type Verification,
  type VerifyOptions,
} from './storage-verifier';
import { describeStorages, inDirectory, streamOf, type TestStorage } from './storages.fixture';

describe('the comparison of the database with', () => {
  const app = ownApp();
  const scope = { orgId: `org_${randomUUID()}` };
  let test: TestStorage;
  let blobs: BlobStore;

  beforeEach(async () => {
    await app.database.query(sql`DELETE FROM blobs`);
    await app.database.query(sql`DELETE FROM blob_writes`);
  });

  function use(storage: TestStorage): void {
    test = storage;
    blobs = new BlobStore(
      test.storage,
      new BlobRepository(app.database),
      new Environment(),
      app.get(StorageQuota),
      app.get(StorageErrors),
    );
  }

  async function kept(bytes: Buffer = randomBytes(100)): Promise<WrittenBlob> {
    const blob = await blobs.write(scope, streamOf(bytes));
    await blobs.keepOrDiscard([blob], () => app.database.transaction((tx) => blobs.keep(tx, scope, blob)));
    return blob;
  }

  /** Compares, also objects that have just been written. */
  async function verify(options: VerifyOptions = {}) {
    const findings: (LostBytes | Orphan)[] = [];
    const verifier = new StorageVerifier(test.storage, new StorageVerificationRepository(app.database));
    // less than 0, because the clock of a bucket may be a second ahead
    const result = await verifier.verify((one) => findings.push(one), { orphanMs: -10_000, ...options });
    const found = findings.map(({ finding, storage_key }) => `${finding} ${storage_key}`);
    return { result, findings, found: found.sort() };
  }

  const counts = (result: Verification): number[] => [
    result.rows,
    result.objects,
    result.lost,
    result.orphan,
  ];

  describeStorages('a storage', (create) => {
    beforeEach(async () => use(await create()));
    afterEach(() => test.close());

    it('finds nothing in a complete one', async () => {
      for (let count = 0; count < 5; count++) await kept();
      await test.storage.writeMarker('{}');
      const { result, found } = await verify({ hash: true });
      expect([counts(result), found]).toEqual([[5, 5, 0, 0], []]);
    });

    it('reports nothing once another storage is there', async () => {
      await test.storage.delete((await kept()).row.storage_key);
      const checkStorage = () => Promise.reject(new Error('the mount has vanished'));
      await expect(verify({ checkStorage })).rejects.toThrow('the mount has vanished');
      const reported = jest.fn();
      const verifier = new StorageVerifier(test.storage, new StorageVerificationRepository(app.database));
      await expect(verifier.verify(reported, { checkStorage })).rejects.toThrow();
      expect(reported).not.toHaveBeenCalled();
    });

    it('names each object that is missing, has another size, or other bytes, and what is left over', async () => {
      const [missing, short, damaged, whole] = [await kept(), await kept(), await kept(), await kept()];
      await test.storage.delete(missing.row.storage_key);
      await test.replace(short.row.storage_key, Buffer.alloc(99));
      await test.replace(damaged.row.storage_key, Buffer.alloc(100));
      const orphan = `${scope.orgId}/${randomUUID()}`;
      await test.storage.write(orphan, streamOf(Buffer.from('orphan')));

      const { result, findings, found } = await verify();
      const byMetadata = [
        `missing ${missing.row.storage_key}`,
        `orphan ${orphan}`,
        `wrong_size ${short.row.storage_key}`,
      ];
      expect([counts(result), found]).toEqual([[4, 4, 2, 1], byMetadata]);
      expect(findings).toContainEqual({
        finding: 'wrong_size',
        storage_key: short.row.storage_key,
        sha256: short.sha256,
        size_bytes: 100,
        found_bytes: 99,
        used_by: [],
      });
      const hashed = await verify({ hash: true });
      expect(hashed.found).toEqual([...byMetadata, `wrong_hash ${damaged.row.storage_key}`].sort());
      expect(JSON.stringify(hashed.findings)).not.toContain(whole.row.storage_key);
      expect((await verify({ orphanMs: 3_600_000 })).result.orphan).toBe(0);
    });

    it('finds nothing wrong with unfinished writes, nor with what begins and ends meanwhile', async () => {
      const unfinished = await blobs.write(scope, streamOf(Buffer.from('unfinished')));
      const deleted = await kept();
      const list = test.storage.list.bind(test.storage);
      const spy = jest.spyOn(test.storage, 'list').mockImplementation(async function* () {
        await kept();
        await app.database.transaction((tx) => {
          blobs.release(tx, scope, [deleted.sha256]);
          return Promise.resolve();
        });
        await blobs.deleteOrphans();
        yield* list();
      });
      const { found } = await verify({ hash: true });
      expect(found).toEqual([]);
      spy.mockRestore();
      await blobs.discard(unfinished);
    });

    it('lets the clean-up delete what is left over, and nothing else', async () => {
      const blob = await kept();
      const orphan = `${scope.orgId}/${randomUUID()}`;
      await test.storage.write(orphan, streamOf(Buffer.from('orphan')));
      expect((await verify({ deleteOrphans: true })).found).toEqual([`orphan ${orphan}`]);
      await blobs.deleteOrphans();
      expect(await test.objects()).toEqual([blob.row.storage_key]);
      expect((await verify()).found).toEqual([]);
    });

    it('is repaired by an upload of the same bytes', async () => {
      const bytes = randomBytes(1_000);
      const digest = createHash('sha256').update(bytes).digest('hex');
      const [lost, truncated] = [await kept(bytes), await kept()];
      await test.storage.delete(lost.row.storage_key);
      await test.replace(truncated.row.storage_key, Buffer.alloc(10));
      expect((await verify()).result.lost).toBe(2);
      await Promise.all([kept(bytes), kept(bytes)]);
      expect((await verify({ hash: true })).found).toEqual([`wrong_size ${truncated.row.storage_key}`]);
      await blobs.deleteOrphans();
      expect((await blobs.open(scope, digest)).size).toBe(1_000);
      expect(await test.objects()).toHaveLength(2);
    });
  });

  it('a directory reads any number of rows in pages, and finds each once', async () => {
    use(await inDirectory());
    await app.database.query(
      sql`INSERT INTO blobs SELECT ${scope.orgId}, n::text, 1, 0, ${scope.orgId} || '/' || n FROM generate_series(1, 2500) n`,
    );
    const { result, found } = await verify();
    expect([counts(result), new Set(found).size]).toEqual([[2500, 0, 2500, 0], 2500]);
    await test.close();
  });
});

import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from '#platform/db';
import { setLogLevel } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { StartError } from '#platform/process';
import { sharedApp } from '#testing';
import { MarkedStorage } from './marked-storage';
import type { ObjectStorage } from './object-storage';
import { StorageErrors } from './storage-errors';
import { StorageMark } from './storage-mark';
import { StorageMarkRepository } from './storage-mark.repository';
import {
  contentOf,
  describeStorages,
  inDirectory,
  storageAt,
  streamOf,
  type TestStorage,
} from './storages.fixture';

const UNAVAILABLE = { status: 503, code: 'storage_unavailable' };
const OTHER = `{"installation_id":"${randomUUID()}"}`;

describe('the marker of', () => {
  const app = sharedApp();
  let test: TestStorage;
  let metrics: Metrics;

  const newKey = (): string => `org_${randomUUID()}/${randomUUID()}`;
  const one = () => streamOf(Buffer.from('one'));

  /** Returns a storage as a new process has it. */
  const inProcess = (storage: ObjectStorage = test.storage): MarkedStorage => {
    metrics = new Metrics();
    const mark = new StorageMark(new StorageMarkRepository(app.database));
    return new MarkedStorage(storage, mark, new StorageErrors(metrics));
  };

  const errorsOf = async (operation: string): Promise<number> =>
    Number(
      new RegExp(`^registry_storage_errors_total\\{operation="${operation}"\\} (\\d+)$`, 'm').exec(
        await metrics.text(),
      )![1],
    );

  beforeAll(() => setLogLevel('silent')); // the tests make the storage fail
  beforeEach(async () => {
    await app.database.query(sql`UPDATE installation SET storage_marked_at = NULL`);
  });
  afterEach(() => test.close());
  afterAll(async () => {
    await app.database.query(sql`UPDATE installation SET storage_marked_at = now()`);
  });

  describeStorages('a storage', (create) => {
    beforeEach(async () => {
      test = await create();
    });

    it('is written at the first start, and lets later ones start and write', async () => {
      await inProcess().start();
      const key = newKey();
      const later = inProcess();
      await later.start();
      await later.write(key, one());
      expect(await contentOf(later.read(key, 3))).toEqual(Buffer.from('one'));
      await later.delete(key);
      expect(await later.sizeOf(key)).toBeNull();
    });

    it('stops the start with what to check if it is missing, and nothing is written or deleted', async () => {
      const key = newKey();
      await test.storage.write(key, one());
      await app.database.query(sql`UPDATE installation SET storage_marked_at = now()`);
      const started = inProcess();
      await expect(started.start()).rejects.toThrow(StartError);
      await expect(started.start()).rejects.toThrow(
        /lacks the marker .* volume is mounted .* STORAGE_URL is right, .*verify-storage --mark/,
      );
      const refused = newKey();
      await expect(started.write(refused, one())).rejects.toMatchObject(UNAVAILABLE);
      await expect(started.delete(key)).rejects.toMatchObject(UNAVAILABLE);
      expect(await test.objects()).toEqual([key]);
      expect([await errorsOf('write'), await errorsOf('delete')]).toEqual([1, 1]);
    });

    it.each([
      ['of another installation', OTHER],
      ['that is not readable', '{"installation_id"'],
    ])('stops the start and stays as it is if it is one %s', async (_, marker) => {
      await test.storage.writeMarker(marker);
      await expect(inProcess().start()).rejects.toThrow(/has the marker .* of .* check STORAGE_URL/);
      await expect(inProcess().write(newKey(), one())).rejects.toMatchObject(UNAVAILABLE);
      expect(await test.storage.readMarker()).toBe(marker);
    });

    it('is checked at the first write if the storage could not be reached at the start', async () => {
      const storage = inProcess();
      const unreachable = jest
        .spyOn(test.storage, 'readMarker')
        .mockImplementation(() => storageAt('file:///dev/null/none').then((other) => other.readMarker()));
      await storage.start();
      await expect(storage.write(newKey(), one())).rejects.toMatchObject(UNAVAILABLE);
      expect([await errorsOf('check'), await errorsOf('write')]).toEqual([1, 1]);
      unreachable.mockRestore();
      await test.storage.writeMarker(OTHER);
      await expect(storage.write(newKey(), one())).rejects.toMatchObject(UNAVAILABLE);
    });
  });

  describeStorages('two storages', (create) => {
    beforeEach(async () => {
      test = await create();
    });

    it('is only in one of them if two processes start for the first time at once', async () => {
      const other = await create();
      const starts = await Promise.allSettled([inProcess().start(), inProcess(other.storage).start()]);
      expect(starts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const markers = [await test.storage.readMarker(), await other.storage.readMarker()];
      expect(markers.filter((marker) => marker === null)).toHaveLength(1);
      await other.close();
    });
  });

  describe('a directory', () => {
    let directory: string;
    let marked: MarkedStorage;

    beforeEach(async () => {
      test = await inDirectory();
      directory = fileURLToPath(test.url);
      marked = inProcess();
      await marked.start();
    });

    /** Replaces the directory by an empty one, as a lost mount does. */
    const unmount = async (): Promise<void> => {
      await rename(directory, `${directory}.away`);
      await mkdir(directory);
    };
    const mount = async (): Promise<void> => {
      await rm(directory, { recursive: true });
      await rename(`${directory}.away`, directory);
    };

    /** Runs an operation of a storage while `before` and `after` run between the checks of the marker. */
    async function between(
      operation: 'write' | 'delete',
      run: () => Promise<void>,
      before: () => Promise<void>,
      after: () => Promise<void> = () => Promise.resolve(),
    ): Promise<void> {
      const original = test.storage[operation].bind(test.storage) as (...args: unknown[]) => Promise<void>;
      const spy = jest.spyOn(test.storage, operation).mockImplementation(async (...args: unknown[]) => {
        await before();
        await original(...args);
        await after();
      });
      try {
        await run();
      } finally {
        spy.mockRestore();
      }
    }

    it.each([
      ['is lost after the check', unmount, undefined],
      ['is lost after the check, and is back before the next one', unmount, mount],
      ['is lost after the last byte', () => Promise.resolve(), unmount],
    ])('lets no write succeed whose mount %s', async (_, before, after) => {
      const write = () => marked.write(newKey(), one());
      await expect(between('write', write, before, after)).rejects.toMatchObject(UNAVAILABLE);
      if (after !== mount) {
        await expect(write()).rejects.toMatchObject(UNAVAILABLE);
        await mount();
      }
      await write();
    });

    it('lets no deletion succeed whose mount is lost, so that the object is deleted later', async () => {
      const key = newKey();
      await marked.write(key, one());
      const remove = () => marked.delete(key);
      await expect(between('delete', remove, unmount)).rejects.toMatchObject(UNAVAILABLE);
      await mount();
      expect(await marked.sizeOf(key)).toBe(3);
      await remove();
      expect(await marked.sizeOf(key)).toBeNull();
    });

    it('is missing if the directory itself is missing, and nothing creates it', async () => {
      await rm(directory, { recursive: true });
      await expect(inProcess().start()).rejects.toThrow(StartError);
      await expect(marked.write(newKey(), one())).rejects.toMatchObject(UNAVAILABLE);
      expect(await readdir(path.dirname(directory))).toEqual([]);
    });
  });
});

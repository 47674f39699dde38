import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setLogLevel } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { BlobStore } from '#platform/storage';
import { sharedApp } from '#testing';
import { outcome, PUBLISHER, sha256, StoreOrg } from '../store/store.fixture';
import { FileCallers, newBytes, ONE_FILE } from './files.fixture';

const UNAVAILABLE = [503, 'storage_unavailable'];

describe('a storage directory whose volume is not mounted', () => {
  const app = sharedApp();
  let callers: FileCallers;

  beforeAll(() => {
    setLogLevel('silent'); // the tests make the service fail
  });
  beforeEach(async () => {
    callers = await FileCallers.of(app);
  });

  /** Runs work while the directory is an empty one, as it is without its mount. */
  async function unmounted<Result>(work: () => Promise<Result>): Promise<Result> {
    const { storage } = callers;
    await rename(storage, `${storage}.away`);
    await mkdir(storage);
    try {
      return await work();
    } finally {
      await rm(storage, { recursive: true });
      await rename(`${storage}.away`, storage);
    }
  }

  const errors = async (): Promise<number> =>
    Number(
      /^registry_storage_errors_total\{operation="write"\} (\d+)$/m.exec(await app.get(Metrics).text())![1],
    );

  it('lets no upload of a file be acknowledged, and accepts uploads when it is back, without a restart', async () => {
    const before = await errors();
    const [early, late] = [newBytes(1_000), newBytes(1_000)];
    const first = await callers.created(early);
    await unmounted(async () => {
      const forms = Array.from({ length: 3 }, () => callers.uploadForm(callers.form(newBytes(1_000))));
      const raw = Array.from({ length: 3 }, () => callers.upload(newBytes(1_000)));
      for (const answer of await Promise.all([...forms, ...raw])) {
        expect(outcome(answer)).toEqual(UNAVAILABLE);
        expect(answer.headers.get('retry-after')).toBe('5');
        expect(JSON.stringify(answer.body)).not.toContain(callers.storage);
      }
      const version = await callers.editor.post(`${first.path}/versions`, late, { 'content-type': 'a/b' });
      expect(outcome(version)).toEqual(UNAVAILABLE);
    });
    expect((await errors()) - before).toBe(7);
    await app.get(BlobStore).deleteOrphans();
    expect(await callers.counts()).toEqual(ONE_FILE);
    const second = await callers.created(late);
    for (const [file, bytes] of [
      [first, early],
      [second, late],
    ] as const) {
      expect((await callers.download(`${file.path}/content`)).bytes.equals(bytes)).toBe(true);
    }
  });

  it('ends the upload that is in progress when the mount is lost with 503, and leaves nothing of it', async () => {
    const content = newBytes(1_000_000);
    const { token } = callers;
    const connection = callers.connection(`POST ${callers.pathOf()}`, {
      authorization: `Bearer ${token}`,
      'content-length': String(content.length),
      'content-type': 'a/b',
    });
    await connection.write(content.subarray(0, 500_000));
    await callers.untilCounts({ files: 0, versions: 0, blobs: 0, writes: 1, complete: 0, incomplete: 1 });
    await unmounted(async () => {
      await connection.write(content.subarray(500_000));
      expect(await connection.response()).toMatch(/^HTTP\/1.1 503 [^]*storage_unavailable/);
    });
    connection.reset();
    await app.get(BlobStore).deleteOrphans();
    await callers.untilCounts({ files: 0, versions: 0, blobs: 0, writes: 0, complete: 0, incomplete: 0 });
    expect((await callers.upload(content)).status).toBe(201);
  });

  it('lets no package be published or acquired, and loses none that was published before', async () => {
    const [org, other] = [await StoreOrg.open(app), await StoreOrg.open(app)];
    const item = await org.item({}, { audience: { is_public: true }, is_listed: true, can_acquire: true });
    const { skill_id } = await org.skill();
    await unmounted(async () => {
      expect(outcome(await org.admin.post(PUBLISHER, org.bodyOf('skill', skill_id)))).toEqual(UNAVAILABLE);
      expect(outcome(await other.acquire(item.store_item_id))).toEqual(UNAVAILABLE);
    });
    expect(sha256(await org.download(item.store_item_id))).toBe(item.sha256);
    await org.publish('skill', skill_id);
    expect((await other.acquire(item.store_item_id)).status).toBe(201);
  });

  it('keeps the record of deleted bytes until they are deleted from the right disk', async () => {
    const { path: file } = await callers.created(newBytes(1_000));
    await callers.admin.post(`${file}/archive`);
    expect((await callers.admin.delete(file)).status).toBe(204);
    const left = { files: 0, versions: 0, blobs: 0, writes: 1, complete: 1, incomplete: 0 };
    await unmounted(async () => {
      await app
        .get(BlobStore)
        .deleteOrphans()
        .catch(() => undefined);
    });
    expect(await callers.counts()).toEqual(left);
    await app.get(BlobStore).deleteOrphans();
    expect(await callers.counts()).toEqual({ ...left, writes: 0, complete: 0 });
  });

  it('is not confused with the storage of another installation', async () => {
    const marker = path.join(callers.storage, 'objects/.agent-registry.json');
    const own = await readFile(marker, 'utf8');
    await writeFile(marker, own.replace(/[0-9a-f]{12}"/, '000000000000"'));
    expect(outcome(await callers.upload(newBytes(100)))).toEqual(UNAVAILABLE);
    await writeFile(marker, own);
    expect((await callers.upload(newBytes(100))).status).toBe(201);
  });

  it('gets lost bytes back with an upload of the same content', async () => {
    const content = newBytes(1_000);
    const { path: file, view } = await callers.created(content);
    await rm(await callers.objectOf(view.sha256));
    expect((await callers.download(`${file}/content`)).status).toBe(503);
    await callers.created(content);
    expect((await callers.download(`${file}/content`)).bytes.equals(content)).toBe(true);
    const usage = await callers.admin.get('/registry/v1/usage');
    expect(usage.body.file_bytes.used).toBe(1_000);
  });
});

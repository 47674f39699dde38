import { chmod, mkdir, open, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { newId } from '#platform/ids';
import { setLogLevel } from '#platform/logging';
import { BlobStore } from '#platform/storage';
import { sharedApp } from '#testing';
import { FileCallers, newBytes, NO_FILES, ONE_FILE } from './files.fixture';

describe('a failing storage', () => {
  const app = sharedApp();
  let callers: FileCallers;

  beforeAll(() => {
    setLogLevel('silent'); // the tests make the service fail
  });
  beforeEach(async () => {
    callers = await FileCallers.of(app);
  });

  const UNAVAILABLE = { status: 503, body: { code: 'storage_unavailable' } };
  const content = newBytes(1_000_000);

  /** Runs work while a directory of the storage is replaced by something else. */
  async function without(
    folder: string,
    work: () => Promise<void>,
    instead?: () => Promise<void>,
  ): Promise<void> {
    const directory = path.join(callers.storage, folder);
    await mkdir(directory, { recursive: true });
    await rename(directory, `${directory}.away`);
    await (instead ?? (() => writeFile(directory, 'no directory')))();
    try {
      await work();
    } finally {
      await rm(directory, { recursive: true, force: true });
      await rename(`${directory}.away`, directory);
    }
  }

  it.each(['incomplete', 'objects'])(
    'makes uploads return 503 and leave no rows: %s cannot be written',
    async (folder) => {
      await without(folder, async () => {
        for (const answer of [
          await callers.upload(content),
          await callers.uploadForm(callers.form(content)),
          await callers.uploadForm([...callers.form(content), { name: 'name', content: 'x' }]),
        ]) {
          expect(answer).toMatchObject(UNAVAILABLE);
          expect(answer.headers.get('retry-after')).toBe('5');
          expect(answer.body.detail).not.toContain(callers.storage);
        }
        expect(await callers.counts()).toMatchObject({ files: 0, versions: 0, blobs: 0 });
      });
      await app.get(BlobStore).deleteOrphans();
      expect(await callers.counts()).toEqual(NO_FILES);
      expect((await callers.upload(content)).status).toBe(201);
    },
  );

  it('makes uploads return 503 and leave nothing behind when it is full, and the next upload succeeds', async () => {
    const probe = await open(os.devNull);
    const handles = Object.getPrototypeOf(probe) as typeof probe;
    await probe.close();

    const { writeFile: write } = handles;
    let written = 0;
    const spy = jest.spyOn(handles, 'writeFile').mockImplementation(function (this: typeof probe, data) {
      written += 1;
      if (written % 3 > 0) return write.call(this, data);
      return Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
    });
    const answers = [await callers.upload(content), await callers.uploadForm(callers.form(content))];
    spy.mockRestore();
    expect(answers).toMatchObject([UNAVAILABLE, UNAVAILABLE]);
    expect(written).toBe(6);
    expect(await callers.counts()).toEqual(NO_FILES);
    expect((await callers.upload(content)).status).toBe(201);
  });

  it('keeps existing versions when a new one cannot be written', async () => {
    const { path: file } = await callers.created('one');
    await without('incomplete', async () => {
      const answer = await callers.editor.post(`${file}/versions`, content, { 'content-type': 'a/b' });
      expect(answer).toMatchObject(UNAVAILABLE);
      expect((await callers.download(`${file}/content`)).bytes.toString()).toBe('one');
    });
    await app.get(BlobStore).deleteOrphans();
    expect(await callers.counts()).toEqual(ONE_FILE);
  });

  it('is not reported as the cause when the database fails', async () => {
    const { database } = app;
    const query = database.query.bind(database);
    const spy = jest.spyOn(database, 'query').mockImplementation((statement, values) => {
      const text = typeof statement === 'string' ? statement : statement.text;
      if (!text.includes('INSERT INTO blob_writes')) return query(statement, values) as Promise<never[]>;
      return Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
    });
    const answers = [await callers.upload(content), await callers.uploadForm(callers.form(content))];
    spy.mockRestore();
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      answers.map(() => [503, 'service_unavailable']),
    );
  });

  it('makes downloads return 503 before their headers: the object is missing', async () => {
    const { path: file, view } = await callers.created(content);
    await rm(await callers.objectOf(view.sha256));
    for (const headers of [{}, { range: 'bytes=5-10' }] as Record<string, string>[]) {
      const { status, bytes, headers: received } = await callers.download(`${file}/content`, headers);
      expect([status, JSON.parse(bytes.toString())]).toEqual([
        503,
        expect.objectContaining({
          code: 'storage_unavailable',
          detail:
            'The stored bytes are missing or damaged. If this lasts, the operator has to run verify-storage.',
        }),
      ]);
      expect(received).toMatchObject({ 'content-type': 'application/problem+json', 'retry-after': '5' });
      for (const name of ['etag', 'content-disposition', 'repr-digest', 'content-range', 'accept-ranges']) {
        expect(received).not.toHaveProperty(name);
      }
    }
    // requests that need no bytes succeed
    expect((await callers.download(`${file}/content`, {}, 'HEAD')).status).toBe(200);
    expect((await callers.editor.get(file)).status).toBe(200);
  });

  it('makes a small download return 503: its bytes are damaged', async () => {
    const { path: file, view } = await callers.created('small');
    await writeFile(await callers.objectOf(view.sha256), 'smell');
    const { status, bytes } = await callers.download(`${file}/content`);
    expect([status, JSON.parse(bytes.toString()).code]).toEqual([503, 'storage_unavailable']);
  });

  it.each([0, 1, 65_535, 65_536, 500_000, 999_998, 999_999])(
    'aborts a download instead of completing it: byte %i is damaged',
    async (at) => {
      const { path: file, view } = await callers.created(newBytes(1_000_000));
      const object = await callers.objectOf(view.sha256);
      const bytes = await readFile(object);
      bytes[at]! ^= 1;
      await chmod(object, 0o600);
      await writeFile(object, bytes);
      const broken = await callers.download(`${file}/content`);
      expect([broken.status, broken.complete]).toEqual([200, false]);
      expect(broken.bytes.length).toBeLessThan(1_000_000);
      bytes[at]! ^= 1;
      await writeFile(object, bytes);
      expect(await callers.download(`${file}/content`)).toMatchObject({ status: 200, complete: true });
    },
  );

  it('aborts a download: the object is truncated', async () => {
    const { path: file, view } = await callers.created(newBytes(1_000_000));
    await truncate(await callers.objectOf(view.sha256), 999_999);
    for (const range of [undefined, 'bytes=10-']) {
      const broken = await callers.download(`${file}/content`, range === undefined ? {} : { range });
      expect([broken.status, broken.complete]).toEqual([range === undefined ? 200 : 206, false]);
    }
    const before = await callers.download(`${file}/content`, { range: 'bytes=0-500000' });
    expect([before.status, before.complete, before.bytes.length]).toEqual([206, true, 500_001]);
  });

  it('sends no further bytes on the connection of a download that it aborts', async () => {
    const { path: file, view } = await callers.created(newBytes(1_000_000));
    await truncate(await callers.objectOf(view.sha256), 600_000);
    const connection = callers.connection(`GET ${file}/content`);
    await connection.closed;
    const text = connection.received.toString('latin1');
    const [head] = text.split('\r\n\r\n', 1);
    expect(head).toMatch(/^HTTP\/1.1 200 [^]*content-length: 1000000/i);
    expect(text.length - head!.length - 4).toBeLessThan(1_000_000);
    expect(text.slice(head!.length + 4)).not.toContain('storage_unavailable');
  });

  it('deletes all other leftovers if it cannot delete one', async () => {
    const keys = ['a', 'b', 'c'].map(() => `${callers.org.orgId}/${newId('file')}`);
    await app.database.query(`INSERT INTO blob_writes SELECT unnest($1::text[]), $2, NULL`, [
      keys,
      callers.org.orgId,
    ]);
    // a non-empty directory cannot be removed like a file
    const blocked = path.join(callers.storage, 'objects', keys[1]!);
    await mkdir(path.join(blocked, 'x'), { recursive: true });
    await app.get(BlobStore).deleteOrphans();
    expect((await callers.counts()).writes).toBe(1);
    await rm(blocked, { recursive: true });
    await app.get(BlobStore).deleteOrphans();
    expect(await callers.counts()).toEqual(NO_FILES);
  });
});

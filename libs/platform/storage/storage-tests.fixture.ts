import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { READ_BYTES } from './object-storage';
import { contentOf, failingAfter, storageAt, streamOf, type TestStorage } from './storages.fixture';

const MIB = 1024 ** 2;
const UNAVAILABLE = { status: 503, code: 'storage_unavailable' };

const newKey = (): string => `org_${randomUUID()}/${randomUUID()}`;

/** Files and sockets that this process has open. */
const openHandles = (): number => readdirSync('/dev/fd').length;

/** Tests a storage. `create` returns an empty one. */
export function testStorage(create: () => Promise<TestStorage>): void {
  let test: TestStorage;

  beforeAll(async () => {
    test = await create();
  });

  afterAll(() => test.close());

  /** Writes an object, and returns its key. */
  async function written(bytes: Buffer): Promise<string> {
    const key = newKey();
    await test.storage.write(key, streamOf(bytes));
    return key;
  }

  it.each([0, 1, READ_BYTES - 1, READ_BYTES, READ_BYTES + 1, 5 * MIB, 6 * MIB, 11 * MIB])(
    'returns the %d bytes that were written',
    async (size) => {
      const bytes = randomBytes(size);
      const key = await written(bytes);
      const chunks: number[] = [];
      const read: Buffer[] = [];
      for await (const chunk of test.storage.read(key, size)) {
        chunks.push(chunk.length);
        read.push(chunk);
      }
      expect(Buffer.concat(read).equals(bytes)).toBe(true);
      expect(Math.max(0, ...chunks)).toBeLessThanOrEqual(READ_BYTES);
      expect(await test.objects()).toContain(key);
    },
  );

  it('returns any range', async () => {
    const bytes = randomBytes(6 * MIB);
    const key = await written(bytes);
    const last = bytes.length - 1;
    const ranges = [
      [0, 0],
      [last, last],
      [0, last],
      [0, last - 1],
      [1, last],
      [1_000, 2_000],
      [READ_BYTES - 1, READ_BYTES],
      [5 * MIB - 2, 5 * MIB + 1],
    ] as const;
    for (const [start, end] of ranges) {
      const part = await contentOf(test.storage.read(key, bytes.length, { start, end }));
      expect([start, end, part.equals(bytes.subarray(start, end + 1))]).toEqual([start, end, true]);
    }
  });

  it.each([1_000, 6 * MIB])('stores nothing readable if the source fails after %d bytes', async (size) => {
    const failure = new Error('the client has gone');
    const key = newKey();
    await expect(test.storage.write(key, failingAfter(randomBytes(size), failure))).rejects.toBe(failure);
    await expect(contentOf(test.storage.read(key, size))).rejects.toMatchObject(UNAVAILABLE);
    expect(await test.objects()).not.toContain(key);
    await test.storage.delete(key);
    expect(await test.leftovers()).toEqual([]);
  });

  it('deletes an object, and accepts one that is already absent', async () => {
    const key = await written(randomBytes(6 * MIB));
    await test.storage.delete(key);
    await test.storage.delete(key);
    await test.storage.delete(newKey());
    expect(await test.objects()).not.toContain(key);
    await expect(contentOf(test.storage.read(key, 6 * MIB))).rejects.toMatchObject(UNAVAILABLE);
  });

  it('deletes the partial write of a process that died', async () => {
    const key = newKey();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let begun = (): void => undefined;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    // a stalled write, as a process that died would leave it
    const write = test.storage.write(
      key,
      (async function* () {
        yield* streamOf(randomBytes(6 * MIB));
        begun();
        await released;
        yield Buffer.from('late');
      })(),
    );
    const rejected = expect(write).rejects.toMatchObject(UNAVAILABLE);
    await hasBegun;
    expect(await test.leftovers()).toHaveLength(1);
    await test.storage.delete(key);
    expect(await test.leftovers()).toEqual([]);
    release();
    await rejected;
    expect(await test.objects()).not.toContain(key);
    expect(await test.leftovers()).toEqual([]);
  });

  it('deletes only the object with exactly the key, and none whose key has it as a prefix', async () => {
    const key = await written(Buffer.from('one'));
    await test.storage.write(`${key}-2`, streamOf(Buffer.from('two')));
    await test.storage.delete(key);
    expect(await contentOf(test.storage.read(`${key}-2`, 3))).toEqual(Buffer.from('two'));
  });

  it('writes and reads 20 objects at once', async () => {
    const all = Array.from({ length: 20 }, (_, index) =>
      randomBytes(index === 0 ? 6 * MIB : 100_000 + index),
    );
    const keys = await Promise.all(all.map((bytes) => written(bytes)));
    const read = await Promise.all(
      keys.map((key, index) => contentOf(test.storage.read(key, all[index]!.length))),
    );
    expect(read.map((bytes, index) => bytes.equals(all[index]!))).toEqual(all.map(() => true));
  });

  it('lets readers stop early, many times over', async () => {
    const key = await written(randomBytes(6 * MIB));
    const before = openHandles();
    for (let count = 0; count < 40; count++) {
      for await (const chunk of test.storage.read(key, 6 * MIB)) {
        expect(chunk.length).toBeGreaterThan(0);
        break;
      }
    }
    expect(openHandles() - before).toBeLessThan(20);
  });

  it('never returns an object of another size as complete', async () => {
    const bytes = randomBytes(6 * MIB);
    const key = await written(bytes);
    for (const size of [0, 1, READ_BYTES, 6 * MIB - 1]) {
      await test.replace(key, bytes.subarray(0, size));
      await expect(contentOf(test.storage.read(key, bytes.length))).rejects.toMatchObject(UNAVAILABLE);
      const end = { start: bytes.length - 10, end: bytes.length - 1 };
      await expect(contentOf(test.storage.read(key, bytes.length, end))).rejects.toMatchObject(UNAVAILABLE);
    }
  });

  it('lists every object with its size, in the binary order of the keys, and nothing else', async () => {
    const listed = await create();
    const keys = ['b/2', 'b/10', 'B/1', 'b-a/1', 'b/_', 'a/1'];
    for (const [at, key] of keys.entries()) await listed.storage.write(key, streamOf(Buffer.alloc(at)));
    await listed.storage.writeMarker('{}');
    const found: [string, number][] = [];
    for await (const batch of listed.storage.list()) {
      for (const { key, size, modifiedAt } of batch) {
        expect(Math.abs(Date.now() - modifiedAt.getTime())).toBeLessThan(3_600_000);
        found.push([key, size]);
      }
    }
    expect(found).toEqual(
      keys.map((key, at) => [key, at] as [string, number]).sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    await listed.close();
  });

  it('returns the size of an object, and null for a missing one', async () => {
    const key = await written(Buffer.alloc(1_234));
    expect([await test.storage.sizeOf(key), await test.storage.sizeOf(newKey())]).toEqual([1_234, null]);
  });

  it('keeps a marker, which can be replaced', async () => {
    expect(await test.storage.readMarker()).toBeNull();
    await test.storage.writeMarker('one');
    await test.storage.writeMarker('another');
    expect(await test.storage.readMarker()).toBe('another');
    expect(await test.leftovers()).toEqual([]);
  });

  it('reports whether it can be reached', async () => {
    const elsewhere = test.url.startsWith('file:')
      ? 'file:///dev/null/none'
      : test.url.replace(/^s3:\/\/[^/]+/, 's3://no-such-bucket');
    const other = await storageAt(elsewhere);
    await expect(other.readMarker()).rejects.toMatchObject(UNAVAILABLE);
    await expect(other.write(newKey(), streamOf(Buffer.from('x')))).rejects.toMatchObject(UNAVAILABLE);
    other.close();
  });
}

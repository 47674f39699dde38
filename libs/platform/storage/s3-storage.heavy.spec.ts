import { randomBytes, randomUUID } from 'node:crypto';
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { describeWithS3, type TestBucket } from '#testing';
import { type Fault, FailingProxy } from './failing-proxy.fixture';
import { parseS3Url } from './s3-location';
import { S3Storage } from './s3-storage';
import { contentOf, failingAfter, streamOf } from './storages.fixture';

const MIB = 1024 ** 2;
const UNAVAILABLE = { status: 503, code: 'storage_unavailable' };
/** Timeout of the storage in milliseconds, short for tests. */
const STALL_MS = 500;

const newKey = (): string => `org_${randomUUID()}/${randomUUID()}`;

describeWithS3('a bucket that fails', (createBucket) => {
  let bucket: TestBucket;
  let proxy: FailingProxy;
  let storage: S3Storage;

  beforeAll(async () => {
    bucket = await createBucket();
    proxy = await FailingProxy.to(bucket.endpoint);
    storage = new S3Storage(parseS3Url(bucket.url(proxy.endpoint, 'files')), { limitBytes: 1024 ** 3 });
  });

  afterEach(() => proxy.restore());

  afterAll(async () => {
    storage.close();
    bucket.client.destroy();
    await proxy.close();
  });

  async function objects(): Promise<(string | undefined)[]> {
    const { Contents = [] } = await bucket.client.send(new ListObjectsV2Command({ Bucket: bucket.name }));
    return Contents.map(({ Key }) => Key);
  }

  async function uploads(): Promise<(string | undefined)[]> {
    const { Uploads = [] } = await bucket.client.send(
      new ListMultipartUploadsCommand({ Bucket: bucket.name }),
    );
    return Uploads.map(({ Key }) => Key);
  }

  /** A storage with a short timeout. */
  const impatient = (): S3Storage =>
    new S3Storage(parseS3Url(bucket.url(proxy.endpoint, 'files')), {
      limitBytes: 1024 ** 3,
      stallMs: STALL_MS,
    });

  const steps: [string, (request: string) => boolean, number, Fault[]][] = [
    [
      'the only request of a small object',
      (request) => request.startsWith('PUT'),
      1_000,
      ['error', 'slow down', 'hang', 'flip request'],
    ],
    [
      'the first request of a large object',
      (request) => /^POST .*\?uploads/.test(request),
      6 * MIB,
      ['error'],
    ],
    ['the first part', (request) => /^PUT .*partNumber=1/.test(request), 6 * MIB, ['lose response']],
    ['the last part', (request) => /^PUT .*partNumber=2/.test(request), 6 * MIB, ['hang', 'flip request']],
    [
      'the last request of a large object',
      (request) => /^POST .*uploadId=/.test(request),
      6 * MIB,
      ['error', 'lose response'],
    ],
  ];

  describe.each(steps)('in %s', (_, matches, size, faults) => {
    it.each(faults)('rejects the write and leaves nothing after `%s`', async (fault) => {
      const key = newKey();
      const into = fault === 'hang' ? impatient() : storage;
      proxy.fail(fault, matches);
      let isClosed = false;
      const source = async function* () {
        try {
          yield* streamOf(randomBytes(size));
        } finally {
          isClosed = true;
        }
      };
      await expect(into.write(key, source())).rejects.toMatchObject(UNAVAILABLE);
      expect(proxy.failed).toBeGreaterThan(0);
      expect(isClosed).toBe(true);
      proxy.restore();
      await storage.delete(key);
      expect(await objects()).toEqual([]);
      expect(await uploads()).toEqual([]);
      if (into !== storage) into.close();
    });
  });

  it('throws the error of the source instead of its own', async () => {
    const key = newKey();
    const failure = new Error('the client has gone');
    proxy.fail('error', (request) => request.startsWith('DELETE'));
    await expect(storage.write(key, failingAfter(randomBytes(6 * MIB), failure))).rejects.toBe(failure);
    expect(await uploads()).toHaveLength(1);
    await expect(storage.delete(key)).rejects.toMatchObject(UNAVAILABLE);
    proxy.restore();
    await storage.delete(key);
    expect(await uploads()).toEqual([]);
  });

  it('lets an organization wait only for its own slow uploads', async () => {
    const [slow, other] = [`org_${randomUUID()}`, `org_${randomUUID()}`];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const hanging = async function* () {
      yield Buffer.from('slow');
      await released;
    };
    const writes = Array.from({ length: 20 }, () => storage.write(`${slow}/${randomUUID()}`, hanging()));
    const key = `${other}/${randomUUID()}`;
    await storage.write(key, streamOf(Buffer.from('fast')));
    expect(await objects()).toEqual([`files/${key}`]);
    release();
    await Promise.all(writes);
    const written = await objects();
    expect(written).toHaveLength(21);
    await Promise.all(written.map((one) => storage.delete(one!.replace('files/', ''))));
  });

  it('survives a single failure of any request', async () => {
    const key = newKey();
    const bytes = randomBytes(6 * MIB);
    const failed = new Set<string>();
    proxy.fail('error', (request) => {
      const isFirst = !failed.has(request);
      failed.add(request);
      return isFirst;
    });
    await storage.write(key, streamOf(bytes));
    expect((await contentOf(storage.read(key, bytes.length))).equals(bytes)).toBe(true);
    await storage.delete(key);
    expect(failed.size).toBeGreaterThan(5);
    expect(await objects()).toEqual([]);
  });

  describe('while it is read', () => {
    const bytes = randomBytes(2 * MIB);
    const key = newKey();
    const isGet = (request: string): boolean => request.startsWith('GET');

    beforeAll(() => storage.write(key, streamOf(bytes)));
    afterAll(() => storage.delete(key));

    it.each<Fault>(['error', 'reset', 'truncate', 'hang', 'stall'])(
      'never completes a read after `%s`',
      async (fault) => {
        const from = fault === 'hang' || fault === 'stall' ? impatient() : storage;
        proxy.fail(fault, isGet);
        await expect(contentOf(from.read(key, bytes.length))).rejects.toMatchObject(UNAVAILABLE);
        const range = { start: 10, end: MIB };
        await expect(contentOf(from.read(key, bytes.length, range))).rejects.toMatchObject(UNAVAILABLE);
        expect(proxy.failed).toBeGreaterThanOrEqual(2);
        if (from !== storage) from.close();
      },
    );

    it('does not retry after the first byte, so that no byte is returned twice', async () => {
      proxy.fail('reset', isGet);
      let received = 0;
      const read = async (): Promise<void> => {
        for await (const chunk of storage.read(key, bytes.length)) {
          expect(chunk.equals(bytes.subarray(received, received + chunk.length))).toBe(true);
          received += chunk.length;
        }
      };
      await expect(read()).rejects.toMatchObject(UNAVAILABLE);
      expect(proxy.failed).toBe(1);
    });

    it('waits longer for a slow reader than for a slow bucket', async () => {
      const patient = impatient();
      const chunks: Buffer[] = [];
      for await (const chunk of patient.read(key, bytes.length)) {
        if (chunks.length === 1) await new Promise((resolve) => setTimeout(resolve, STALL_MS * 3));
        chunks.push(chunk);
      }
      expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
      patient.close();
    });
  });

  it('fails immediately if nothing listens at the endpoint', async () => {
    const closed = await FailingProxy.to(bucket.endpoint);
    const { endpoint } = closed;
    await closed.close();
    const closedStorage = new S3Storage(parseS3Url(bucket.url(endpoint)), { limitBytes: 1 });
    await expect(closedStorage.readMarker()).rejects.toMatchObject(UNAVAILABLE);
    await expect(closedStorage.write(newKey(), streamOf(Buffer.from('x')))).rejects.toMatchObject(
      UNAVAILABLE,
    );
    await expect(contentOf(closedStorage.read(newKey(), 1))).rejects.toMatchObject(UNAVAILABLE);
    await expect(closedStorage.delete(newKey())).rejects.toMatchObject(UNAVAILABLE);
    closedStorage.close();
  });
});

import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ListMultipartUploadsCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { describeWithS3, type TestBucket } from '#testing';
import { Environment } from '#platform/config';
import type { ObjectStorage } from './object-storage';
import { storageOf } from './storage.module';

/** A storage, with access to its actual contents. */
export interface TestStorage {
  readonly url: string;
  readonly storage: ObjectStorage;
  /** The keys of all complete objects. */
  objects(): Promise<string[]>;
  /** Names of the remains of incomplete writes. */
  leftovers(): Promise<string[]>;
  /** Replaces the bytes of an object without the service. */
  replace(key: string, bytes: Buffer): Promise<void>;
  /** Ends its connections, and removes a directory. */
  close(): Promise<void>;
}

const PREFIX = 'files/of-tests/';

/** Runs the same tests against a directory and a bucket. */
export function describeStorages(name: string, fn: (create: () => Promise<TestStorage>) => void): void {
  describe(`${name}, in a directory`, () => fn(inDirectory));
  describeWithS3(`${name}, in a bucket`, (createBucket) => fn(async () => inBucket(await createBucket())));
}

/** Returns a storage in a new directory. */
export async function inDirectory(): Promise<TestStorage> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'registry-test-storage-'));
  const url = `file://${directory}/new`;
  const filesOf = async (name: string): Promise<string[]> => {
    const parent = path.join(directory, 'new', name);
    if (!existsSync(parent)) return [];
    const entries = await readdir(parent, { recursive: true });
    const isFile = await Promise.all(
      entries.map(async (one) => (await stat(path.join(parent, one))).isFile()),
    );
    return entries.filter((_, at) => isFile[at]);
  };
  return {
    url,
    storage: await storageAt(url),
    objects: () => filesOf('objects'),
    leftovers: () => filesOf('incomplete'),
    replace: (key, bytes) => writeFile(path.join(directory, 'new', 'objects', key), bytes),
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Returns a storage in an empty bucket. */
export async function inBucket(bucket: TestBucket): Promise<TestStorage> {
  const { client, name: Bucket } = bucket;
  const url = bucket.url(undefined, PREFIX);
  const storage = await storageAt(url);
  return {
    url,
    storage,
    objects: async () => {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
      return Contents.map(({ Key }) => Key!.replace(PREFIX, ''));
    },
    leftovers: async () => {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
      return Uploads.map(({ Key }) => Key!);
    },
    replace: async (key, bytes) => {
      await client.send(new PutObjectCommand({ Bucket, Key: PREFIX + key, Body: bytes }));
    },
    close: async () => {
      storage.close();
      client.destroy();
      await Promise.resolve();
    },
  };
}

/** Returns the storage of a `STORAGE_URL`. */
export const storageAt = (url: string): Promise<ObjectStorage> =>
  storageOf(Object.assign(new Environment(), { STORAGE_URL: url }));

/** Yields bytes in chunks of one buffer that is used again, as a fast source does. */
export async function* streamOf(bytes: Buffer, chunk = 100_000): AsyncGenerator<Buffer, void, undefined> {
  const buffer = Buffer.alloc(chunk);
  for (let at = 0; at < bytes.length; at += chunk) {
    await Promise.resolve();
    yield buffer.subarray(0, bytes.copy(buffer, 0, at, at + chunk));
  }
}

/** Yields some bytes, and then fails. */
export async function* failingAfter(bytes: Buffer, error: Error): AsyncGenerator<Buffer, void, undefined> {
  yield* streamOf(bytes);
  throw error;
}

/** Reads everything. */
export async function contentOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

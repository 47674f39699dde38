import { readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { filesIn } from './directory-listing';
import { DirectoryStorage } from './directory-storage';
import { testStorage } from './storage-tests.fixture';
import { inDirectory, storageAt, streamOf } from './storages.fixture';

describe('a storage, in a directory', () => testStorage(inDirectory));

it('lists a directory completely and in order if its names do not fit into memory at once', async () => {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'registry-test-listing-'));
  const keys = ['a', 'a-b', 'c'].flatMap((org) => Array.from({ length: 10 }, (_, at) => `${org}/${at}`));
  for (const key of keys) {
    await mkdir(path.dirname(path.join(directory, key)), { recursive: true });
    await writeFile(path.join(directory, key), key);
  }
  await mkdir(path.join(directory, 'lost+found'), { mode: 0 });
  for (const atOnce of [1, 2, 3, 10, 100]) {
    const found: string[] = [];
    for await (const batch of filesIn(directory, atOnce)) found.push(...batch.map(({ key }) => key));
    expect(found).toEqual([...keys].sort());
  }
  await rm(directory, { recursive: true });
});

it('survives a power failure: a file and its directories are on the disk before a write ends', async () => {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'registry-test-durable-'));
  await new DirectoryStorage(directory).write('org/one', streamOf(Buffer.from('one')));
  // Another process has created the directories just now, and may not have synced them.
  const storage = new DirectoryStorage(directory);
  const probe = await open(os.devNull);
  const handles = Object.getPrototypeOf(probe) as typeof probe;
  await probe.close();
  const { sync } = handles;
  const synced: string[] = [];
  const spy = jest.spyOn(handles, 'sync').mockImplementation(async function (this: typeof probe) {
    synced.push(path.relative(directory, readlinkSync(`/dev/fd/${this.fd}`)));
    await sync.call(this);
  });
  await storage.write('org/two', streamOf(Buffer.from('two')));
  expect(synced).toEqual(['incomplete/org.two', 'objects', '', 'objects/org']);
  synced.length = 0;
  await storage.write('org/three', streamOf(Buffer.from('three')));
  expect(synced).toEqual(['incomplete/org.three', 'objects/org']);
  spy.mockRestore();
  await rm(directory, { recursive: true });
});

describe('STORAGE_URL', () => {
  it.each([
    ['s3://', 'bucket'],
    ['s3://ab', '3 to 63 letters'],
    ['s3://a/prefix', '3 to 63 letters'],
    [`s3://${'a'.repeat(64)}`, '3 to 63 letters'],
    ['s3://-bucket', 'begins and ends with a letter'],
    ['s3://my..bucket', 'single dots'],
    ['s3://192.168.1.20/files', 'no IP address'],
    ['s3://bucket?checksums=CRC32', 'checksums must be true or false'],
    ['s3://key:secret@bucket/', 'bucket'],
    ['s3://bucket/../other', 'prefix'],
    ['s3://bucket/a b', 'prefix'],
    ['s3://bucket/?acl=public', 'unknown parameter'],
    ['s3://bucket?endpoint=ftp://host', 'endpoint'],
    ['s3://bucket?endpoint=https://key:secret@host', 'endpoint'],
    ['s3://bucket?path_style=1', 'path_style'],
    ['s3://bucket?region=a&region=b', 'region'],
    ['s3://bucket?region=', 'region'],
    ['file://host/directory', 'STORAGE_URL'],
  ])('rejects %s with an error that names the variable and the fault', async (url, text) => {
    await expect(storageAt(url)).rejects.toThrow(/^STORAGE_URL: /);
    await expect(storageAt(url)).rejects.toThrow(text);
    await expect(storageAt(url)).rejects.not.toThrow('secret');
  });

  it.each([
    's3://bucket',
    's3://abc',
    's3://1.2.3',
    's3://bucket/',
    's3://my.bucket/a/b/?region=eu-west-1&checksums=true',
    'file:///tmp',
  ])('accepts %s', async (url) => {
    (await storageAt(url)).close();
  });
});

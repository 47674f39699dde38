import { text } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { fromBufferPromise } from 'yauzl';
import { storedZip, storedZipBytes } from './stored-zip';

const entry = (path: string, content: string) => ({
  path,
  size_bytes: Buffer.byteLength(content),
  crc32: crc32(content),
});

async function* chunksOf(...contents: string[]): AsyncGenerator<Buffer, void, undefined> {
  for (const content of contents) yield await Promise.resolve(Buffer.from(content));
}

async function archived(entries: ReturnType<typeof entry>[], ...contents: string[]): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of storedZip(entries, chunksOf(...contents))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('storedZip', () => {
  it('writes an archive of the promised size that other libraries can read', async () => {
    const entries = [entry('a/世界.md', 'one two'), entry('a/empty', ''), entry('b', 'three')];
    const zip = await archived(entries, 'one ', 'two', 'three');
    expect(zip.length).toBe(storedZipBytes(entries));
    const read: [string, string, number, number][] = [];
    for await (const one of (await fromBufferPromise(zip)).eachEntry()) {
      const archive = await fromBufferPromise(zip);
      const content = await text(await archive.openReadStreamPromise(one));
      read.push([
        one.fileName,
        content,
        one.externalFileAttributes >>> 16,
        one.getLastModDate({ forceDosFormat: true }).getFullYear(),
      ]);
    }
    expect(read).toEqual([
      ['a/世界.md', 'one two', 0o100644, 1980],
      ['a/empty', '', 0o100644, 1980],
      ['b', 'three', 0o100644, 1980],
    ]);
  });

  it.each([
    ['too few', ['on']],
    ['too many', ['one two']],
    ['no', []],
  ])('throws instead of completing the archive if a content has %s bytes', async (_, contents) => {
    await expect(archived([entry('a', 'one')], ...contents)).rejects.toThrow(
      'does not match its declared size',
    );
  });
});

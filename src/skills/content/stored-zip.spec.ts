import { text } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { fromBufferPromise } from 'yauzl';
import { storedZip, storedZipBytes } from './stored-zip';

const entry = (path: string, content: string) => ({
  path,
  size_bytes: Buffer.byteLength(content),
  crc32: crc32(content),
});

async function* pieces(...contents: string[]): AsyncGenerator<Buffer, void, undefined> {
  for (const content of contents) yield await Promise.resolve(Buffer.from(content));
}

async function archived(entries: ReturnType<typeof entry>[], ...contents: string[]): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of storedZip(entries, pieces(...contents))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('a zip archive that stores', () => {
  it('is read by others, and as long as it was said to be', async () => {
    const entries = [entry('a/世界.md', 'one two'), entry('a/empty', ''), entry('b', 'three')];
    const zip = await archived(entries, 'one ', 'two', 'three');
    expect(zip.length).toBe(storedZipBytes(entries));
    const found: [string, string, number, number][] = [];
    for await (const one of (await fromBufferPromise(zip)).eachEntry()) {
      const archive = await fromBufferPromise(zip);
      const content = await text(await archive.openReadStreamPromise(one));
      found.push([
        one.fileName,
        content,
        one.externalFileAttributes >>> 16,
        one.getLastModDate({ forceDosFormat: true }).getFullYear(),
      ]);
    }
    expect(found).toEqual([
      ['a/世界.md', 'one two', 0o100644, 1980],
      ['a/empty', '', 0o100644, 1980],
      ['b', 'three', 0o100644, 1980],
    ]);
  });

  it.each([
    ['too little', ['on']],
    ['too much', ['one two']],
    ['nothing', []],
  ])('is not ended as if it were whole where there is %s of a content', async (_, contents) => {
    await expect(archived([entry('a', 'one')], ...contents)).rejects.toThrow('does not have its size');
  });
});

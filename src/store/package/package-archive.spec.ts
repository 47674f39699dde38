import fc from 'fast-check';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import {
  type ArchivedFile,
  type ArchiveEntry,
  archiveBytes,
  ArchiveError,
  packArchive,
  unpackArchive,
} from './package-archive';
import { rawEntry, rawPax, rawTarGz, TAR_END } from './raw-tar.fixture';

const entry = (name: string, content: Buffer | string, chunkBytes = 1000): ArchiveEntry => ({
  path: name,
  size_bytes: Buffer.byteLength(content),
  content: () => chunksOf(Buffer.from(content), chunkBytes),
});

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

async function bytesOf(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

const packed = (...entries: ArchiveEntry[]): Promise<Buffer> => bytesOf(packArchive(entries));

async function unpacked(archive: Buffer, chunkBytes = 4000): Promise<[string, string][]> {
  const files: [string, string][] = [];
  for await (const file of unpackArchive(chunksOf(archive, chunkBytes))) {
    files.push([file.path, (await bytesOf(file.content)).toString('latin1')]);
  }
  return files;
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const LONG = `skills/${'a'.repeat(90)}/${'b'.repeat(120)}.txt`;
const SAMPLES = [
  entry('manifest.json', '{"schema_version":1}'),
  entry('skills/pdf-forms/SKILL.md', '# PDF forms\n'),
  entry('skills/pdf-forms/empty.txt', ''),
  entry('skills/pdf-forms/größe – 表.txt', 'not ASCII'),
  entry(`skills/${'x'.repeat(80)}/${'y'.repeat(80)}`, 'split into prefix and name'),
  entry(LONG, 'a name that is too long for a header'),
  entry('data/rows.bin', Buffer.alloc(200_000, 'rows')),
];

describe('the archive of a package', () => {
  it('has the same bytes forever, so that digests of published releases stay valid', async () => {
    expect(sha256(await packed(...SAMPLES))).toBe(
      'affcdc0c5e22732ec993aa35d647f38fadc8272ad71715beccae2ed94d40a6fe',
    );
  });

  it('does not depend on how the contents are split into chunks', async () => {
    const content = Buffer.alloc(70_000, 'content');
    const archives = [7, 511, 65_535, 1_000_000].map((size) => packed(entry('file', content, size)));
    expect(new Set((await Promise.all(archives)).map(sha256)).size).toBe(1);
  });

  it.each([0, 1, 511, 512, 65_535 - 1024, 65_535 * 2 - 1536, 200_000])(
    'has the size that archiveBytes announces, with a file of %i bytes',
    async (bytes) => {
      const entries = [entry('file', Buffer.alloc(bytes)), entry(LONG, 'text')];
      const archive = await packed(...entries);
      expect(archive.length).toBe(archiveBytes(entries));
      expect(gunzipSync(archive).length % 512).toBe(0);
    },
  );

  it('states its size modulo 4 GiB, as gzip requires', () => {
    const nothing = { path: 'file', size_bytes: 8 ** 11 - 1, content: () => chunksOf(Buffer.alloc(0), 1) };
    expect(archiveBytes([nothing])).toBeGreaterThan(8 ** 11);
    expect(() => archiveBytes([{ ...nothing, size_bytes: 8 ** 11 }])).toThrow('The limit is 8 GiB');
  });

  it.each([-1, 1])('rejects a content that differs from its declared size by %i byte', async (difference) => {
    const wrong = { ...entry('file', Buffer.alloc(600)), size_bytes: 600 + difference };
    await expect(packed(wrong)).rejects.toThrow('The content of "file" does not match its declared size.');
  });

  it('rejects paths that could not be unpacked', () => {
    for (const name of ['/etc/passwd', '../up', 'a//b', 'a/', '', './a', 'a\\b', 'a\nb', 'a\0b', '\ud800']) {
      expect(() => archiveBytes([entry(name, '')])).toThrow(ArchiveError);
    }
    expect(() => archiveBytes([entry('a', ''), entry('a', '')])).toThrow('"a" appears twice');
    const many = Array.from({ length: 10_001 }, (_, index) => entry(`f${index}`, ''));
    expect(() => archiveBytes(many)).toThrow('at most 10000 files');
  });

  it('unpacks to what was packed', async () => {
    const name = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 300 })
      .filter((text) => !/[\p{Cc}\p{Cs}\\]/u.test(text) && /^[^/]+(\/[^/]+)*$/.test(text))
      .filter((text) => text.split('/').every((part) => part !== '.' && part !== '..'));
    const files = fc.uniqueArray(fc.tuple(name, fc.uint8Array({ maxLength: 2000 })), {
      selector: ([path]) => path,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(files, fc.integer({ min: 1, max: 3000 }), async (contents, size) => {
        const entries = contents.map(([path, content]) => entry(path, Buffer.from(content), size));
        const archive = await packed(...entries);
        expect(archive.length).toBe(archiveBytes(entries));
        expect(await unpacked(archive, size)).toEqual(
          contents.map(([path, content]) => [path, Buffer.from(content).toString('latin1')]),
        );
      }),
      { numRuns: 15 },
    );
  });
});

describe('an archive in the standard format', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'archive-'));
  const file = path.join(directory, 'package.tar.gz');
  beforeAll(async () => writeFileSync(file, await packed(...SAMPLES)));
  afterAll(() => rmSync(directory, { recursive: true }));

  const has = (command: string): boolean => spawnSync(command, ['--version']).status === 0;
  const paths = SAMPLES.map((sample) => sample.path);

  (has('tar') ? it : it.skip)('can be listed and unpacked by tar', async () => {
    const env = { ...process.env, LC_ALL: 'C.UTF-8', TZ: 'UTC' };
    const listed = execFileSync('tar', ['tzvf', file, '--quoting-style=literal'], { env, encoding: 'utf8' });
    for (const name of paths) expect(listed).toContain(name);
    expect(listed).toMatch(/^-rw-r--r-- 0\/0 +20 1970-01-01 00:00 manifest\.json$/m);
    execFileSync('tar', ['xzf', file, '-C', directory], { env });
    for (const sample of SAMPLES) {
      expect(readFileSync(path.join(directory, sample.path))).toEqual(await bytesOf(sample.content()));
    }
  });

  (has('python3') ? it : it.skip)('can be listed by tarfile of Python', () => {
    const env = { ...process.env, PYTHONIOENCODING: 'utf8' };
    const listed = execFileSync('python3', ['-m', 'tarfile', '-l', file], { env, encoding: 'utf8' });
    expect(listed.split(/ *\n/)).toEqual([...paths, '']);
  });

  (has('tar') ? it : it.skip)('can be read when tar has written it', async () => {
    const source = mkdtempSync(path.join(tmpdir(), 'archive-'));
    writeFileSync(path.join(source, 'one.txt'), 'one');
    writeFileSync(path.join(source, 'two.txt'), 'two');
    const archive = execFileSync('tar', ['czf', '-', '--format=ustar', '-C', source, 'one.txt', 'two.txt']);
    rmSync(source, { recursive: true });
    expect(await unpacked(archive)).toEqual([
      ['one.txt', 'one'],
      ['two.txt', 'two'],
    ]);
  });
});

describe('the reader of an archive', () => {
  const file = rawEntry({ name: 'a.txt', content: 'content of a' });

  it('skips contents that are not read, and throws when they are read later', async () => {
    const archive = await packed(
      entry('a', Buffer.alloc(100_000)),
      entry('b', Buffer.alloc(3000)),
      entry('c', 'c'),
    );
    const seen: ArchivedFile[] = [];
    for await (const one of unpackArchive(chunksOf(archive, 5000))) {
      seen.push(one);
      if (one.path === 'b') for await (const chunk of one.content) if (chunk.length > 0) break;
      if (one.path === 'c') expect((await bytesOf(one.content)).toString()).toBe('c');
    }
    expect(seen.map((one) => one.path)).toEqual(['a', 'b', 'c']);
    await expect(bytesOf(seen[0]!.content)).rejects.toThrow('must be read before the next file');
  });

  it('ends the source when its consumer stops early', async () => {
    const archive = await packed(entry('a', Buffer.alloc(10_000_000)));
    let isClosed = false;
    const source = async function* (): AsyncGenerator<Buffer, void, undefined> {
      try {
        yield* chunksOf(archive, 10_000);
      } finally {
        isClosed = true;
      }
    };
    for await (const one of unpackArchive(source())) {
      expect(one.size_bytes).toBe(10_000_000);
      break;
    }
    await new Promise(setImmediate);
    expect(isClosed).toBe(true);
  });

  it('rethrows an error of the source', async () => {
    const archive = await packed(entry('a', Buffer.alloc(100_000)));
    const source = async function* (): AsyncGenerator<Buffer, void, undefined> {
      yield* chunksOf(archive.subarray(0, 50_000), 1000);
      throw new Error('The bucket does not answer.');
    };
    const read = async (): Promise<void> => {
      for await (const one of unpackArchive(source())) await bytesOf(one.content);
    };
    await expect(read()).rejects.toThrow('The bucket does not answer.');
  });

  it('reads at the pace of its consumer', async () => {
    const archive = await packed(entry('a', Buffer.alloc(6_000_000)));
    let produced = 0;
    const source = async function* (): AsyncGenerator<Buffer, void, undefined> {
      for await (const chunk of chunksOf(archive, 16_384)) {
        produced += chunk.length;
        yield chunk;
      }
    };
    let read = 0;
    for await (const one of unpackArchive(source())) {
      for await (const chunk of one.content) {
        read += chunk.length;
        await new Promise(setImmediate);
        expect(produced - read).toBeLessThan(1_000_000);
      }
    }
    expect(read).toBe(6_000_000);
  });

  it('rejects an archive that is truncated anywhere', async () => {
    const archive = await packed(entry('a', 'content'), entry('größe', 'content'));
    for (let bytes = 0; bytes < archive.length; bytes += 7) {
      await expect(unpacked(archive.subarray(0, bytes), 100)).rejects.toThrow(ArchiveError);
    }
    const tarOnly = Buffer.concat([file, file.subarray(0, 100)]);
    await expect(unpacked(gzipSync(tarOnly))).rejects.toThrow('The archive ends early.');
    await expect(unpacked(gzipSync(file))).rejects.toThrow('The archive ends early.');
    await expect(unpacked(gzipSync(Buffer.concat([file, Buffer.alloc(512)])))).rejects.toThrow('ends early');
  });

  it.each(['text', '\0', '\0'.repeat(5000), '\x1f\x8b'])(
    'rejects bytes after the gzip data',
    async (extra) => {
      const archive = Buffer.concat([rawTarGz(file), Buffer.from(extra, 'latin1')]);
      for (const size of [1, archive.length - Buffer.byteLength(extra, 'latin1'), 100_000]) {
        await expect(unpacked(archive, size)).rejects.toThrow(ArchiveError);
      }
    },
  );

  it.each<[string, string, Buffer[]]>([
    ['a symbolic link', 'Only regular files', [rawEntry({ name: 'a', type: '2', link: '/etc/passwd' })]],
    ['a hard link', 'Only regular files', [file, rawEntry({ name: 'a', type: '1', link: 'a.txt' })]],
    ['a device', 'Only regular files', [rawEntry({ name: 'a', type: '3' })]],
    ['a pipe', 'Only regular files', [rawEntry({ name: 'a', type: '6' })]],
    ['a directory', 'Only regular files', [rawEntry({ name: 'a/', type: '5' })]],
    ['a GNU long name', 'Only regular files', [rawEntry({ name: '././@LongLink', type: 'L', content: 'a' })]],
    [
      'a global pax header',
      'Only regular files',
      [rawEntry({ name: 'g', type: 'g', content: '12 path=abc\n' })],
    ],
    ['an absolute path', 'is absolute', [rawEntry({ name: '/etc/passwd' })]],
    ['an absolute prefix', 'is absolute', [rawEntry({ name: 'passwd', prefix: '/etc' })]],
    ['a path to the parent', 'contains an empty name', [rawEntry({ name: 'a/../../b' })]],
    ['a prefix to the parent', 'contains an empty name', [rawEntry({ name: 'b', prefix: '..' })]],
    ['a pax path to the parent', 'contains an empty name', [rawPax({ path: '../b' }), file]],
    ['a backslash', 'contains a backslash', [rawEntry({ name: '..\\b' })]],
    ['a control character', 'control character', [rawPax({ path: 'a\u001b[2J' }), file]],
    ['no path', 'contains an empty name', [rawEntry({ name: '' })]],
    ['UTF-8 without pax', 'needs a pax header', [rawEntry({ name: 'größe' })]],
    ['a path twice', 'appears twice', [file, rawEntry({ name: 'a.txt' })]],
    [
      'a path twice, once in pax',
      'appears twice',
      [file, rawPax({ path: 'a.txt' }), rawEntry({ name: 'b' })],
    ],
    ['a size in pax', 'exactly one path', [rawPax({ path: 'a', size: '99999999999999' }), file]],
    ['a pax header without a path', 'exactly one path', [rawPax({ mtime: '1' }), file]],
    ['two pax headers', 'A pax header follows another', [rawPax({ path: 'a' }), rawPax({ path: 'b' }), file]],
    ['a pax header at the end', 'wrong checksum', [rawPax({ path: 'a' })]],
    ['a pax header of 8 GiB', 'The limit is 4112', [rawEntry({ name: 'x', type: 'x', size: '77777777777' })]],
    [
      'a pax header with another length',
      'exactly one path',
      [rawEntry({ name: 'x', type: 'x', content: '99 path=a\n' }), file],
    ],
    ['a long path', 'is longer than 4096 bytes', [rawPax({ path: 'é'.repeat(2049) }), file]],
    ['a binary size', 'an invalid size', [rawEntry({ name: 'a', size: '\x80\0\0\0\0\0\0\0\0\0\0\x01' })]],
    ['a negative size', 'an invalid size', [rawEntry({ name: 'a', size: '-0000000001' })]],
    ['a size beyond the end', 'ends early', [rawEntry({ name: 'a', content: 'a', size: '00000777777' })]],
    ['a wrong checksum', 'wrong checksum', [rawEntry({ name: 'a', checksum: '000000\0 ' })]],
    ['another format', 'format other than ustar', [rawEntry({ name: 'a', magic: 'ustar  \0' })]],
    ['bytes in the padding', 'Padding', [rawEntry({ name: 'a', content: 'ab', size: '00000000001' })]],
    ['a file within the end', 'Padding', [file, Buffer.alloc(512), file]],
    ['a file after the end', 'Unexpected bytes', [file, TAR_END, file]],
    ['megabytes of zeros', 'Unexpected bytes', [file, Buffer.alloc(2 * 1024 * 1024)]],
  ])('rejects %s', async (_, message, parts) => {
    const files = unpacked(rawTarGz(...parts));
    await expect(files).rejects.toThrow(ArchiveError);
    await expect(files).rejects.toThrow(message);
  });

  it('rejects more files than a package can have', async () => {
    const files = Array.from({ length: 10_001 }, (_, index) => rawEntry({ name: `f${index}` }));
    await expect(unpacked(rawTarGz(...files))).rejects.toThrow('at most 10000 files');
  });

  it('throws or returns the same files after random damage, and never hangs', async () => {
    const archive = await packed(...SAMPLES.slice(0, 4));
    const damage = fc.array(fc.tuple(fc.nat(archive.length - 1), fc.nat(255)), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(damage, async (changes) => {
        const damaged = Buffer.from(archive);
        for (const [at, byte] of changes) damaged[at] = byte;
        const result = await unpacked(damaged).catch((error: unknown) => error);
        if (result instanceof Error) expect(result).toBeInstanceOf(ArchiveError);
        else expect(result).toEqual(await unpacked(archive));
      }),
      { numRuns: 100 },
    );
  });
});

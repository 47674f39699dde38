import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { rawEntry, rawPax, rawTarGz } from '../../src/store/package/raw-tar.fixture';
import {
  AGENT_KEY,
  archiveOf,
  expectFault,
  type File,
  FILES,
  type Item,
  itemOf,
  type Manifest,
  manifestFile,
  manifestOf,
  packageOf,
  type Result,
  run,
  sha256,
  SKILL_KEY,
} from './verify-package.fixture';

const verify = (archive: Buffer, ...args: string[]): Result =>
  run({ 'p.tar.gz': archive }, ['p.tar.gz', ...args]);

describe('verify-package', () => {
  it('verifies a package that the service packed', async () => {
    const archive = await packageOf();
    const { code, output, errors } = verify(archive);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(output).toContain('p.tar.gz is consistent: 6 files including manifest.json, 2 components.');
    expect(output).toContain(`SHA-256 ${sha256(archive)}, ${archive.length} bytes.`);
    expect(output).toContain('The signature was not checked');
    expect(output).toContain('add --item and --jwks');
  });

  it('runs with npx from a fresh clone, without a network, a cache or an install', async () => {
    const clone = mkdtempSync(path.join(tmpdir(), 'clone-'));
    try {
      for (const name of ['package.json', 'package-lock.json', '.npmrc', 'clients']) {
        cpSync(name, path.join(clone, name), { recursive: true });
      }
      mkdirSync(path.join(clone, 'home'));
      writeFileSync(path.join(clone, 'p.tar.gz'), await packageOf());
      const ended = spawnSync('npx', ['./clients/verify-package', 'p.tar.gz'], {
        cwd: clone,
        encoding: 'utf8',
        input: '',
        env: {
          PATH: process.env.PATH,
          HOME: path.join(clone, 'home'),
          npm_config_registry: 'http://127.0.0.1:9',
        },
      });
      expect({ code: ended.status, errors: ended.stderr }).toEqual({ code: 0, errors: '' });
      expect(ended.stdout).toContain('is consistent');
    } finally {
      rmSync(clone, { recursive: true });
    }
  });

  it('names the file of every tampered byte', async () => {
    const archive = await packageOf();
    const at = archive.indexOf('not ASCII');
    const tampered = Buffer.from(archive);
    tampered[at] = 'N'.charCodeAt(0);
    expectFault(verify(tampered), 'The archive is not complete, valid gzip data');

    const files = FILES.map((file) => ({ ...file, content: file.content.toString().replace('not', 'now') }));
    const result = verify(await packageOf(manifestOf(), files));
    expectFault(result, '"skills/pdf-forms/vorlagen/größe – 表.txt" has the SHA-256 ');
    expect(result.errors.split('\n')).toHaveLength(3);
  });

  it.each<[string, (files: File[]) => File[], string]>([
    ['a missing file', (files) => files.slice(1), '"skills/pdf-forms/SKILL.md" is missing from the archive.'],
    [
      'an extra file',
      (files) => [...files, { path: 'agents/clerk/extra.sh', content: 'rm' }],
      '"agents/clerk/extra.sh" is not listed in the manifest.',
    ],
    ['files in another order', (files) => [...files].reverse(), '"agents/clerk/agent.json" is out of order'],
    [
      'a file with another size',
      ([first, ...files]) => [{ ...first!, content: 'short' }, ...files],
      '"skills/pdf-forms/SKILL.md" has 5 bytes. The manifest says 24.',
    ],
  ])('rejects %s', async (_, change, fault) => {
    expectFault(verify(await packageOf(manifestOf(), change([...FILES]))), fault);
  });

  it('rejects a package that is truncated at any point', async () => {
    const archive = await packageOf();
    for (const bytes of [0, 9, 500, 3000, archive.length - 1]) {
      expectFault(verify(archive.subarray(0, bytes)), 'The archive is not complete, valid gzip data');
    }
    expectFault(
      verify(Buffer.concat([archive, Buffer.from('\0')])),
      'The archive is followed by other bytes',
    );
  });

  it('rejects a package whose manifest is not the first file', async () => {
    expectFault(verify(await archiveOf([...FILES, manifestFile(manifestOf())])), 'must be the first file');
    expectFault(verify(await archiveOf([])), 'manifest.json is missing');
  });

  it.each<[string, (manifest: Manifest) => unknown, string]>([
    ['is no object', () => [], 'is not an object'],
    [
      'is of another version',
      (manifest) => ({ ...manifest, schema_version: 2 }),
      'must have schema_version 1',
    ],
    ['has no files', ({ files: _, ...manifest }) => manifest, 'must have files'],
    [
      'has a component without a kind',
      (m) => ({ ...m, components: [{ key: AGENT_KEY }] }),
      'must have components',
    ],
    ['lists a file twice', (m) => ({ ...m, files: [...m.files, m.files[0]] }), 'lists a file twice'],
    [
      'lists a component twice',
      (m) => ({ ...m, components: [...m.components, m.components[0]] }),
      'component twice',
    ],
    ['has no such root', (m) => ({ ...m, root: 'agents/other' }), 'which is not a component'],
    [
      'has no such parent',
      (m) => ({ ...m, components: [{ ...m.components[0], parent_key: 'agents/other' }, m.components[1]] }),
      'has the parent "agents/other", which is not a component',
    ],
    [
      'has components that are their own parents',
      (m) => ({ ...m, components: [{ ...m.components[0], parent_key: SKILL_KEY }, m.components[1]] }),
      'has parents that form a cycle',
    ],
    [
      'has a second root',
      (m) => ({ ...m, components: [{ ...m.components[0], parent_key: null }, m.components[1]] }),
      'has no parent and is not the root',
    ],
    ['lacks a component', (m) => ({ ...m, components: [m.components[1]] }), 'is in no component'],
    [
      'has a key with another digest',
      (m) => ({
        ...m,
        components: [
          { ...m.components[0], key: `skills/pdf-forms@sha256:${'0'.repeat(64)}` },
          m.components[1],
        ],
      }),
      'has files with the digest',
    ],
    [
      'has a component without files',
      (m) => ({
        ...m,
        components: [
          { kind: 'skill', name: 'none', parent_key: AGENT_KEY, key: `skills/none@sha256:${sha256('')}` },
          ...m.components,
        ],
      }),
      'has no files',
    ],
  ])('rejects a manifest that %s', async (_, change, fault) => {
    expectFault(verify(await packageOf(change(manifestOf()))), fault);
  });

  it('rejects an ambiguous manifest', async () => {
    const text = JSON.stringify(manifestOf());
    for (const content of ['{', text, `${'['.repeat(100_000)}${']'.repeat(100_000)}`]) {
      expectFault(verify(await archiveOf([{ path: 'manifest.json', content }, ...FILES])), 'manifest.json ');
    }
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)},${manifestFile(manifestOf()).content.toString().slice(1)}`;
    expectFault(
      verify(await archiveOf([{ path: 'manifest.json', content: deep }, ...FILES])),
      'canonical form',
    );
    const twice = manifestFile(manifestOf()).content.toString().replace('{', '{"adapter":"other",');
    expectFault(
      verify(await archiveOf([{ path: 'manifest.json', content: twice }, ...FILES])),
      'canonical form',
    );
  });

  const first = rawEntry({ name: 'manifest.json', content: manifestFile(manifestOf()).content });
  it.each<[string, string, Buffer[]]>([
    ['an absolute path', '"/etc/passwd" has an absolute path', [rawEntry({ name: '/etc/passwd' })]],
    ['a drive', '"c:/windows" has an absolute path', [rawEntry({ name: 'c:/windows' })]],
    ['a path to the parent', '"../a" has a name of dots', [rawEntry({ name: '../a' })]],
    ['a name of dots that Windows shortens', 'has a name of dots', [rawEntry({ name: 'a/.. /b' })]],
    ['a backslash', 'has a backslash', [rawEntry({ name: 'a\\b' })]],
    [
      'a control character',
      'has a control character',
      [rawPax({ path: 'a\u001b[2J' }), rawEntry({ name: 'a' })],
    ],
    ['a symbolic link', '"a" is a link', [rawEntry({ name: 'a', type: '2', link: '/etc' })]],
    ['a hard link', '"a" is a link', [rawEntry({ name: 'a', type: '1', link: 'manifest.json' })]],
    ['a device', '"a" is a link, a directory or a device', [rawEntry({ name: 'a', type: '3' })]],
    ['a path twice', '"manifest.json" appears twice', [first]],
    ['paths that differ in case', 'is the same as', [rawEntry({ name: 'a/b' }), rawEntry({ name: 'A/c' })]],
    ['a file in a file', 'is a file and a directory', [rawEntry({ name: 'a' }), rawEntry({ name: 'a/b' })]],
    ['a Windows device', '"a/aux.txt" has the name of a Windows device', [rawEntry({ name: 'a/aux.txt' })]],
    [
      'a size in a pax header',
      'not exactly one path',
      [rawPax({ path: 'a', size: '1' }), rawEntry({ name: 'a' })],
    ],
    ['a huge pax header', 'has a pax header of', [rawEntry({ name: 'x', type: 'x', size: '77777777777' })]],
    ['no end', 'The archive has ', [Buffer.alloc(512), rawEntry({ name: 'a' })]],
  ])('rejects %s', (_, fault, parts) => {
    expectFault(verify(rawTarGz(first, ...parts)), fault);
  });

  it('rejects an archive without an end marker', () => {
    expectFault(verify(gzipSync(first)), 'The archive ends early');
  });

  it('uses the exit code 2 for wrong usage and for unreadable files', async () => {
    const archive = await packageOf();
    const files = { 'p.tar.gz': archive, 'item.json': itemOf(archive), 'bad.json': '{' };
    for (const args of [
      [],
      ['p.tar.gz', 'p.tar.gz'],
      ['p.tar.gz', '--unknown'],
      ['none.tar.gz'],
      ['.'],
      ['p.tar.gz', '--jwks', 'item.json'],
      ['p.tar.gz', '--item', 'none.json'],
      ['p.tar.gz', '--item', 'bad.json'],
      ['p.tar.gz', '--extract', 'p.tar.gz'],
    ]) {
      const result = run(files, args);
      expect({ args, code: result.code, output: result.output }).toEqual({ args, code: 2, output: '' });
      expect(result.errors).not.toMatch(/^\s+at /m);
    }
    expect(run(files, ['--help'])).toMatchObject({ code: 0, errors: '' });
  });
});

describe('verify-package --item', () => {
  const check = (archive: Buffer, item: unknown): Result =>
    run({ 'p.tar.gz': archive, 'item.json': item }, ['p.tar.gz', '--item', 'item.json']);

  it('verifies that the package belongs to the item', async () => {
    const archive = await packageOf();
    const result = check(archive, itemOf(archive));
    expect(result).toMatchObject({ code: 0, errors: '' });
    expect(result.output).toContain('p.tar.gz is the package of the item: ');
    expect(result.output).toContain('The signature was not checked');
  });

  it.each<[string, (item: Item) => unknown, string]>([
    ['sha256', (item) => ({ ...item, sha256: '0'.repeat(64) }), 'The item has the sha256 "000'],
    ['size_bytes', (item) => ({ ...item, size_bytes: 1 }), 'The item has the size_bytes "1"'],
    [
      'file_count',
      (item) => ({ ...item, file_count: 5 }),
      'The item has the file_count "5", but the package has "6"',
    ],
    [
      'components',
      (item) => ({ ...item, manifest: { ...item.manifest, components: [] } }),
      'The item lacks the component',
    ],
    [
      'kinds',
      (item) => {
        item.manifest.components[0]!.source.kind = 'file';
        return item;
      },
      `The item has the component "${SKILL_KEY}", which the package lacks`,
    ],
    [
      'root',
      (item) => ({ ...item, manifest: { ...item.manifest, root: { kind: 'skill' } } }),
      'has a root of a different kind',
    ],
    [
      'adapter',
      (item) => ({ ...item, manifest: { ...item.manifest, adapter: 'other' } }),
      'has a different adapter',
    ],
    ['everything', () => ({}), 'The item is not a response of GET /store/v1/items/{store_item_id}'],
    ['its JSON', () => null, 'The item is not a response of GET /store/v1/items/{store_item_id}'],
  ])("rejects another package's item, which differs in its %s", async (_, change, fault) => {
    const archive = await packageOf();
    expectFault(check(archive, change(itemOf(archive))), fault);
  });

  it('reports that a damaged download is not the package of the item', async () => {
    const archive = await packageOf();
    const result = check(archive.subarray(0, 5000), itemOf(archive));
    expectFault(result, 'The archive ', 'The item has the size_bytes', 'but the package has "5000"');
  });
});

describe('verify-package --extract', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'extract-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('writes a verified package to a new directory', async () => {
    const target = path.join(directory, 'new');
    expect(verify(await packageOf(), '--extract', target).code).toBe(0);
    for (const { path: name, content } of [...FILES, manifestFile(manifestOf())]) {
      expect(readFileSync(path.join(target, name))).toEqual(Buffer.from(content));
    }
    expect(verify(await packageOf(), '--extract', target)).toMatchObject({ code: 2, output: '' });
  });

  it('writes nothing of a package that is not verified', async () => {
    const target = path.join(directory, 'new');
    const changed = FILES.map((file) => ({ ...file, content: 'changed' }));
    expectFault(verify(await packageOf(manifestOf(), changed), '--extract', target), 'has 7 bytes');
    expect(() => readFileSync(target)).toThrow('ENOENT');
  });

  it('reports that it cannot write to the directory', async () => {
    const result = verify(await packageOf(), '--extract', 'none/new');
    expect(result).toMatchObject({ code: 2, output: '' });
    expect(result.errors).toContain('ENOENT');
  });
});

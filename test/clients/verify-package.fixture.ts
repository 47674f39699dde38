import { spawnSync } from 'node:child_process';
import { createHash, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { canonicalJson } from '#platform/json';
import { packArchive } from '../../src/store/package/package-archive';

export interface File {
  path: string;
  content: Buffer | string;
}

/** A manifest that tests can modify. */
export interface Manifest {
  schema_version: unknown;
  adapter: string;
  adapter_version: number;
  format: string;
  root: string;
  components: { key: string; kind: string; name: string; parent_key: string | null }[];
  files: { path: string; size_bytes: number; sha256: string }[];
}

export const sha256 = (content: Buffer | string): string =>
  createHash('sha256').update(content).digest('hex');

/** Returns the digest of a component, as the manifest's specification defines it. */
export function componentDigest(files: readonly File[]): string {
  const hash = createHash('sha256');
  const sorted = [...files].sort((one, other) =>
    Buffer.compare(Buffer.from(one.path), Buffer.from(other.path)),
  );
  for (const { path: name, content } of sorted) {
    const bytes = Buffer.from(name);
    hash
      .update(Buffer.from([0, 0, bytes.length >> 8, bytes.length & 255]))
      .update(bytes)
      .update(sha256(content), 'hex');
  }
  return hash.digest('hex');
}

const inDirectory = (directory: string, files: readonly File[]): File[] =>
  files.map((file) => ({ ...file, path: `${directory}/${file.path}` }));

const SKILL: File[] = [
  { path: 'SKILL.md', content: '---\nname: pdf-forms\n---\n' },
  { path: 'empty.txt', content: '' },
  { path: 'vorlagen/größe – 表.txt', content: 'not ASCII' },
  { path: `${'long/'.repeat(30)}name.txt`, content: Buffer.alloc(70_000, 'text') },
];
const AGENT: File[] = [{ path: 'agent.json', content: '{"name":"clerk"}' }];
export const SKILL_KEY = `skills/pdf-forms@sha256:${componentDigest(SKILL)}`;
export const AGENT_KEY = `agents/clerk@sha256:${componentDigest(AGENT)}`;

/** The files of a package: an agent that needs a skill. */
export const FILES = [...inDirectory('skills/pdf-forms', SKILL), ...inDirectory('agents/clerk', AGENT)];

export const manifestOf = (files: readonly File[] = FILES): Manifest => ({
  schema_version: 1,
  adapter: 'native',
  adapter_version: 1,
  format: 'tar+gzip',
  root: AGENT_KEY,
  components: [
    { key: SKILL_KEY, kind: 'skill', name: 'PDF forms', parent_key: AGENT_KEY },
    { key: AGENT_KEY, kind: 'agent', name: 'Clerk', parent_key: null },
  ],
  files: files.map((file) => ({
    path: file.path,
    size_bytes: Buffer.byteLength(file.content),
    sha256: sha256(file.content),
  })),
});

export const manifestFile = (manifest: unknown): File => ({
  path: 'manifest.json',
  content: canonicalJson(manifest),
});

export async function archiveOf(files: readonly File[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  const entries = files.map(({ path: name, content }) => ({
    path: name,
    size_bytes: Buffer.byteLength(content),
    content: async function* () {
      if (content.length > 0) yield await Promise.resolve(Buffer.from(content));
    },
  }));
  for await (const part of packArchive(entries)) parts.push(part);
  return Buffer.concat(parts);
}

export const packageOf = (
  manifest: unknown = manifestOf(),
  files: readonly File[] = FILES,
): Promise<Buffer> => archiveOf([manifestFile(manifest), ...files]);

/** Returns the store item of a package, as the API returns it. */
export function itemOf(archive: Buffer) {
  const pin = (kind: string) => ({ kind, artifact_id: 'x_1', version_id: 'ver_1', version_ordinal: 3 });
  return {
    store_item_id: 'item_1',
    publication_id: 'pub_1',
    publisher_org_id: 'org_1',
    name: 'Clerk – 事務員',
    source: { kind: 'release', release_id: 'rel_1', artifact_id: 'agt_1' },
    manifest: {
      schema_version: 1,
      adapter: 'native',
      adapter_version: 1,
      format: 'tar+gzip',
      root: pin('agent'),
      components: [
        { key: SKILL_KEY, source: pin('skill'), parent_key: AGENT_KEY },
        { key: AGENT_KEY, source: pin('agent'), parent_key: null },
      ],
      actions: ['install'],
    },
    sha256: sha256(archive),
    size_bytes: archive.length,
    file_count: FILES.length + 1,
    version_label: '1.2.0' as string | null,
    signature: undefined as unknown,
  };
}

export type Item = ReturnType<typeof itemOf>;

export const payloadOf = (item: Item): Record<string, unknown> => ({
  store_item_id: item.store_item_id,
  release_id: item.source.release_id,
  publisher_org_id: item.publisher_org_id,
  sha256: item.sha256,
  size_bytes: item.size_bytes,
  file_count: item.file_count,
});

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Returns a compact JWS. */
export function signed(payload: unknown, key: KeyObject, header: object): string {
  const text = `${encoded(header)}.${encoded(payload)}`;
  return `${text}.${sign(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', Buffer.from(text), key).toString('base64url')}`;
}

const COMMAND = path.resolve('clients/verify-package/verify-package.mjs');

export interface Result {
  code: number | null;
  output: string;
  errors: string;
}

/** Runs the command in a new directory with these files. Contents that are not bytes are written as JSON. */
export function run(files: Record<string, unknown>, args: string[], env: NodeJS.ProcessEnv = {}): Result {
  const directory = mkdtempSync(path.join(tmpdir(), 'verify-'));
  try {
    for (const [name, content] of Object.entries(files)) {
      const bytes =
        typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content);
      writeFileSync(path.join(directory, name), bytes);
    }
    const ended = spawnSync(process.execPath, [COMMAND, ...args], {
      cwd: directory,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...env },
    });
    return { code: ended.status, output: ended.stdout, errors: ended.stderr };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Expects the exit code 1, and these texts in the output. */
export function expectFault(result: Result, ...texts: string[]): void {
  expect(result).toMatchObject({ code: 1, output: '' });
  for (const text of [...texts, 'p.tar.gz is NOT verified. Do not use it.'])
    expect(result.errors).toContain(text);
}

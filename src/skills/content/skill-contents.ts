import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import { StorageQuota } from '#platform/storage';
import type { SkillFile } from '../format/skill-files';
import { type FileWithContent, SkillBlobRepository } from './skill-blob.repository';
import { storedZip, storedZipBytes } from './stored-zip';

/** The number of bytes to read at once, from a large file or from several small ones. */
const CHUNK_BYTES = 1024 * 1024;

/** The digest and size of a version's zip archive. */
export interface ArchiveDigest {
  /** In hexadecimal. */
  sha256: string;
  bytes: number;
}

/** Stores and reads the file contents of skills. */
@Injectable()
export class SkillContents {
  constructor(
    private readonly database: Database,
    private readonly blobs: SkillBlobRepository,
    private readonly quota: StorageQuota,
  ) {}

  /** Stores the contents that the organization does not have yet. Skips files without `content`. Errors: 413 beyond the quota. */
  async store(tx: Tx, scope: OrgScope, files: readonly SkillFile[]): Promise<void> {
    const uploaded = files.filter((file): file is FileWithContent => file.content !== undefined);
    const distinct = [...new Map(uploaded.map((file) => [file.sha256, file])).values()];
    if (distinct.length === 0) return;
    const stored = await this.blobs.storedDigests(
      tx,
      scope,
      distinct.map(({ sha256 }) => sha256),
    );
    const missing = distinct.filter(({ sha256 }) => !stored.has(sha256));
    missing.sort((one, other) => (one.sha256 < other.sha256 ? -1 : 1));
    if (missing.length > 0) this.quota.add(tx, scope, await this.blobs.insertMany(tx, scope, missing));
  }

  /** Deletes contents that no file refers to any more, at the end of the transaction that has deleted such files. */
  release(tx: Tx, scope: OrgScope, digests: readonly string[]): void {
    tx.beforeCommit(async () => {
      await this.releaseNow(tx, scope, digests);
    });
  }

  /** Deletes the contents of an organization that no file refers to, a batch at a time. See `BlobStore`. */
  async releaseUnreferenced(
    tx: Tx,
    scope: Pick<OrgScope, 'orgId'>,
    after: string | null,
    limit: number,
  ): Promise<{ count: number; next: string | null }> {
    const digests = await this.blobs.list(tx, scope, after ?? '', limit);
    const count = digests.length === 0 ? 0 : await this.releaseNow(tx, scope, digests);
    return { count, next: digests.length < limit ? null : digests.at(-1)! };
  }

  private async releaseNow(
    tx: Tx,
    scope: Pick<OrgScope, 'orgId'>,
    digests: readonly string[],
  ): Promise<number> {
    const { count, bytes } = await this.blobs.release(tx, scope, digests);
    this.quota.add(tx, scope, -bytes);
    return count;
  }

  /**
   * Streams the zip archive of a version: its files, sorted by path. Holds a few MiB in memory, whatever the size.
   *
   * @param directory the directory of the files. Empty for the root of the archive
   */
  archive(
    scope: OrgScope,
    directory: string,
    files: readonly SkillFile[],
    on: SqlExecutor = this.database,
  ): AsyncGenerator<Buffer, void, undefined> {
    return storedZip(entriesOf(directory, files), this.chunks(on, scope, files));
  }

  /** Returns the digest and size of the archive that `archive` streams. */
  async archiveDigest(
    on: SqlExecutor,
    scope: OrgScope,
    directory: string,
    files: readonly SkillFile[],
  ): Promise<ArchiveDigest> {
    const hash = createHash('sha256');
    for await (const bytes of this.archive(scope, directory, files, on)) hash.update(bytes);
    return { sha256: hash.digest('hex'), bytes: storedZipBytes(entriesOf(directory, files)) };
  }

  /**
   * Returns a function that streams the content of any of the files. Consecutive small files are read with one statement, and
   * cached until another group is read, because a skill may have 1,000 of them.
   */
  reader(
    on: SqlExecutor,
    scope: OrgScope,
    files: readonly SkillFile[],
  ): (file: SkillFile) => AsyncGenerator<Buffer, void, undefined> {
    const groups = new Map(groupsOf(files).flatMap((group) => group.map((file) => [file, group] as const)));
    let cached: { group: readonly SkillFile[]; contents: Map<string, Buffer> } | null = null;
    const read = async (group: readonly SkillFile[]) => {
      if (cached?.group === group) return cached.contents;
      const digests = group.map(({ sha256 }) => sha256);
      const contents = await this.blobs.contents(on, scope, digests);
      cached = { group, contents };
      return contents;
    };
    const large = (file: SkillFile) => this.large(on, scope, file);
    return async function* (file) {
      const group = groups.get(file);
      if (!group) return; // An empty file is in no group.
      if (file.size_bytes > CHUNK_BYTES) yield* large(file);
      else yield (await read(group)).get(file.sha256) ?? missing(file.sha256);
    };
  }

  /** Reads a small file whole. */
  async content(on: SqlExecutor, scope: OrgScope, { sha256 }: SkillFile): Promise<Buffer> {
    const contents = await this.blobs.contents(on, scope, [sha256]);
    return contents.get(sha256) ?? missing(sha256);
  }

  /** Reads the first bytes of several files, by digest. */
  prefixes(scope: OrgScope, files: readonly SkillFile[], bytes: number): Promise<Map<string, Buffer>> {
    const digests = [...new Set(files.map(({ sha256 }) => sha256))];
    return this.blobs.prefixes(this.database, scope, digests, bytes);
  }

  /** Reads a part of a file into memory. */
  async part(
    scope: OrgScope,
    { sha256, size_bytes }: SkillFile,
    from: number,
    bytes: number,
  ): Promise<Buffer> {
    if (from >= size_bytes) return Buffer.alloc(0);
    const chunk = await this.blobs.range(this.database, scope, sha256, from, bytes);
    return chunk.length > 0 ? chunk : missing(sha256);
  }

  /** Streams the contents of files one after another. */
  private async *chunks(
    on: SqlExecutor,
    scope: OrgScope,
    files: readonly SkillFile[],
  ): AsyncGenerator<Buffer, void, undefined> {
    for (const group of groupsOf(files)) {
      const [first] = group;
      if (first && first.size_bytes > CHUNK_BYTES && !first.content) {
        yield* this.large(on, scope, first);
        continue;
      }
      const stored = group.filter(({ content }) => !content).map(({ sha256 }) => sha256);
      const contents =
        stored.length > 0 ? await this.blobs.contents(on, scope, stored) : new Map<string, Buffer>();
      for (const { content, sha256 } of group) yield content ?? contents.get(sha256) ?? missing(sha256);
    }
  }

  private async *large(
    on: SqlExecutor,
    scope: OrgScope,
    { sha256, size_bytes }: SkillFile,
  ): AsyncGenerator<Buffer, void, undefined> {
    for (let from = 0; from < size_bytes; from += CHUNK_BYTES) {
      const chunk = await this.blobs.range(on, scope, sha256, from, CHUNK_BYTES);
      yield chunk.length > 0 ? chunk : missing(sha256);
    }
  }
}

const entriesOf = (directory: string, files: readonly SkillFile[]) =>
  files.map(({ path, size_bytes, crc32 }) => ({
    path: directory === '' ? path : `${directory}/${path}`,
    size_bytes,
    crc32,
  }));

/** Groups consecutive files up to `CHUNK_BYTES`, without empty ones. A larger file is a separate group. */
function groupsOf(files: readonly SkillFile[]): SkillFile[][] {
  const groups: SkillFile[][] = [];
  let bytes = Infinity;
  for (const file of files.filter(({ size_bytes }) => size_bytes > 0)) {
    bytes += file.size_bytes;
    if (bytes > CHUNK_BYTES) {
      groups.push([file]);
      bytes = file.size_bytes;
    } else groups.at(-1)!.push(file);
  }
  return groups;
}

function missing(sha256: string): never {
  throw new Error(`The content ${sha256} is missing.`);
}

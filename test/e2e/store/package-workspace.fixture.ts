import { createHash } from 'node:crypto';
import { type Scope, workspaceScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import type { TestApp, TestOrganization } from '#testing';
import {
  type AcquiredFrom,
  type ArtifactReference,
  type InstalledArtifact,
  type PackedFiles,
  Packagers,
  type PinnedArtifact,
  type UnpackedFile,
} from '../../../src/resources';

/** A packed resource whose files can still be read. */
export interface Packed extends PackedFiles {
  pinned: PinnedArtifact;
}

/** A workspace that packs and installs resources without the store. */
export class PackageWorkspace {
  readonly scope: Scope;

  constructor(
    private readonly app: TestApp,
    { scope: { orgId, principalId, roles }, workspaceId }: TestOrganization,
  ) {
    this.scope = workspaceScope(orgId, workspaceId, principalId, roles);
  }

  pin(reference: ArtifactReference): Promise<PinnedArtifact | null> {
    const packager = this.app.get(Packagers).of(reference.kind);
    return this.app.database.transaction((tx) => packager.pin(tx, this.scope, reference));
  }

  /** Packs a pinned resource. The caller closes the result. */
  async packPinned(pinned: PinnedArtifact): Promise<Packed> {
    const packager = this.app.get(Packagers).of(pinned.kind);
    return { pinned, ...(await packager.files(this.app.database, this.scope, pinned, [])) };
  }

  /** Packs a resource. The caller closes the result. */
  async pack(reference: ArtifactReference): Promise<Packed> {
    const pinned = await this.pin(reference);
    if (!pinned) throw new Error(`no such ${reference.kind}`);
    return this.packPinned(pinned);
  }

  /** Installs a packed resource as a release, or upgrades its copy, as the store does. */
  install({ pinned, files }: Packed, releaseId = newId('rel')): Promise<InstalledArtifact> {
    const packager = this.app.get(Packagers).of(pinned.kind);
    const from: AcquiredFrom = {
      store_item_id: `item_of_${pinned.artifact_id}`,
      release_id: releaseId,
      artifact_id: pinned.artifact_id,
      version_id: pinned.version_id,
      version_ordinal: pinned.version_ordinal,
    };
    const work = async (tx: Tx): Promise<InstalledArtifact> => {
      const copies = await packager.findCopies(tx, this.scope, [pinned.artifact_id]);
      return packager.install(tx, this.scope, {
        key: `${packager.kind}s/it`,
        name: pinned.name,
        files: unpacked(files),
        from,
        copy: copies.get(pinned.artifact_id) ?? null,
        resolve: (key) => {
          throw new Error(`unknown ${key}`);
        },
      });
    };
    return this.app.database.transaction(work);
  }
}

// oxlint-disable-next-line typescript/require-await -- a stream of chunks in memory
async function* unpacked(files: PackedFiles['files']): AsyncGenerator<UnpackedFile, void, undefined> {
  for (const { path, size_bytes, content } of files) yield { path, size_bytes, content: content() };
}

/** Returns the bytes of a package's files, by path. Checks their sizes, digests and order, and closes the package. */
export async function bytesOf({ files, close }: Packed): Promise<Record<string, string>> {
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual([...paths].sort());
  const contents: Record<string, string> = {};
  for (const { path, size_bytes, sha256, content } of files) {
    const chunks: Buffer[] = [];
    for await (const chunk of content()) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const digest = createHash('sha256').update(bytes).digest('hex');
    expect([path, bytes.length, digest]).toEqual([path, size_bytes, sha256]);
    contents[path] = bytes.toString('latin1');
  }
  await close?.();
  return contents;
}

import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { Problem, problem } from '#platform/problem';
import { BlobStore, type WrittenBlob } from '#platform/storage';
import {
  type AcquiredFrom,
  type ArtifactKind,
  type InstalledArtifact,
  type InstalledCopy,
  Packagers,
} from '../../resources';
import type { ArtifactPinDto, PackageManifestDto } from '../items/store-item.dto';
import type { ReleaseRow } from '../items/store-item.entity';
import { ArchiveError } from '../package/package-archive';
import { readPackage, translateArchiveErrors } from '../package/package.reader';
import { untilAborted } from '../package/package-archive';
import type { AcquiredCopyDto } from './acquisition.dto';

/** A release to install, usually of another organization. */
export interface ReleaseToInstall {
  /** The publisher, whose storage contains the package. */
  orgId: string;
  itemId: string;
  release: Pick<ReleaseRow, 'release_id' | 'sha256' | 'manifest'>;
}

/** Content that is already stored, by component key. */
export type StagedContent = ReadonlyMap<string, WrittenBlob>;

/** Installs packages into workspaces. */
@Injectable()
export class PackageInstaller {
  constructor(
    private readonly packagers: Packagers,
    private readonly blobs: BlobStore,
  ) {}

  /**
   * Creates or updates the copies of all components, in the order of the package. Errors: 409 if another resource has
   * the name of a copy; 503 `storage_unavailable`.
   */
  async install(
    tx: Tx,
    scope: Scope,
    { orgId, itemId, release }: ReleaseToInstall,
    staged: StagedContent,
    signal: AbortSignal,
  ): Promise<AcquiredCopyDto[]> {
    const { components } = release.manifest.parse() as PackageManifestDto;
    const sources = new Map(components.map(({ key, source }) => [key, source]));
    const copies = await this.findCopies(tx, scope, [...sources.values()]);
    const installed = new Map<string, InstalledArtifact>();
    const content = await this.blobs.open({ orgId }, release.sha256, tx);
    return translateArchiveErrors(async () => {
      const acquired: AcquiredCopyDto[] = [];
      for await (const { key, kind, name, parent_key, files } of readPackage(
        untilAborted(signal, content.read()),
      )) {
        const source = sources.get(key);
        if (!source) throw new ArchiveError('The package has a component that is missing from its manifest.');
        const installing = this.packagers.of(kind).install(tx, scope, {
          key,
          name,
          files,
          staged: staged.get(key),
          from: acquiredFrom(itemId, release.release_id, source),
          copy: copies.get(idOf(source)) ?? null,
          is_dependency: parent_key !== null,
          resolve: (other) => findInstalled(installed, other),
        });
        const artifact = await installing.catch((error: unknown) => {
          throw withComponentName(error, kind, name);
        });
        installed.set(key, artifact);
        acquired.push(copyOf(key, source, artifact));
        // The rest of the package was already read to its end when its content was staged.
        if (staged.size > 0 && acquired.length === components.length) break;
      }
      return acquired;
    });
  }

  /**
   * Stores the large content of a package for a workspace, by component key, and passes it to `work`. Deletes the
   * content that `work` does not keep. Errors: 503 `storage_unavailable`; those of `work`.
   */
  async withStagedContent<Result>(
    scope: Scope,
    { orgId, release }: ReleaseToInstall,
    signal: AbortSignal,
    work: (staged: StagedContent) => Promise<Result>,
  ): Promise<Result> {
    const staged = new Map<string, WrittenBlob>();
    const { components } = release.manifest.parse() as PackageManifestDto;
    if (components.every(({ source }) => this.packagers.of(source.kind).stage === undefined))
      return work(staged);
    const content = await this.blobs.open({ orgId }, release.sha256);
    try {
      await translateArchiveErrors(async () => {
        for await (const { key, kind, files } of readPackage(untilAborted(signal, content.read()))) {
          const packager = this.packagers.of(kind);
          if (packager.stage) staged.set(key, await packager.stage(scope, { key, files }));
        }
      });
    } catch (error) {
      for (const blob of staged.values()) await this.blobs.discard(blob);
      throw error;
    }
    return this.blobs.keepOrDiscard([...staged.values()], () => work(staged));
  }

  /** Returns whether the workspace has a live copy of every component. */
  async hasAllCopies(tx: Tx, scope: Scope, { manifest }: ReleaseToInstall['release']): Promise<boolean> {
    const sources = (manifest.parse() as PackageManifestDto).components.map(({ source }) => source);
    return (await this.findCopies(tx, scope, sources)).size === new Set(sources.map(idOf)).size;
  }

  private async findCopies(
    tx: Tx,
    scope: Scope,
    sources: readonly ArtifactPinDto[],
  ): Promise<Map<string, InstalledCopy>> {
    const allCopies = new Map<string, InstalledCopy>();
    for (const kind of [...new Set(sources.map((one) => one.kind))].sort()) {
      const ids = sources.filter((one) => one.kind === kind).map(({ artifact_id }) => artifact_id);
      const copies = await this.packagers.of(kind).findCopies(tx, scope, [...new Set(ids)].sort());
      for (const [artifact_id, copy] of copies) allCopies.set(idOf({ kind, artifact_id }), copy);
    }
    return allCopies;
  }
}

const idOf = ({ kind, artifact_id }: { kind: ArtifactKind; artifact_id: string }): string =>
  `${kind} ${artifact_id}`;

const acquiredFrom = (
  store_item_id: string,
  release_id: string,
  { artifact_id, version_id, version_ordinal }: ArtifactPinDto,
): AcquiredFrom => ({ store_item_id, release_id, artifact_id, version_id, version_ordinal });

/** Adds the name of the component to a conflict. Returns other errors unchanged. */
function withComponentName(error: unknown, kind: ArtifactKind, name: string): unknown {
  if (!(error instanceof Problem) || error.code !== 'conflict') return error;
  return problem.conflict(
    `The ${kind} ${JSON.stringify(name)} of the package cannot be installed. ${error.detail}`,
  );
}

function findInstalled(installed: ReadonlyMap<string, InstalledArtifact>, key: string): InstalledArtifact {
  const artifact = installed.get(key);
  if (!artifact) throw new ArchiveError('A component refers to a component that does not precede it.');
  return artifact;
}

const copyOf = (
  key: string,
  source: ArtifactPinDto,
  { kind, artifact_id, version_id, version_ordinal, name, change, setup }: InstalledArtifact,
): AcquiredCopyDto => ({
  kind,
  artifact_id,
  version_id,
  version_ordinal,
  name,
  key,
  source,
  change,
  setup: setup ?? null,
});

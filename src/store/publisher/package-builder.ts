import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database } from '#platform/db';
import { canonicalJson } from '#platform/json';
import { formatBytes, problem } from '#platform/problem';
import {
  clashOf,
  faultOfPath,
  type PackageFile,
  type PackedComponent,
  Packagers,
  quotedPath,
  slugOf,
  sourceDigest,
  textFile,
} from '../../resources';
import { archiveBytes, ARCHIVE_FILES_MAX, type ArchiveEntry, ArchiveError } from '../package/package-archive';
import {
  ADAPTER,
  ADAPTER_VERSION,
  FORMAT,
  keyOf,
  MANIFEST_FILE,
  type PackedManifest,
  SCHEMA_VERSION,
} from '../package/package-manifest';
import type { PinnedNode } from './pinning';

/** The maximum size of the JSON documents of a package in MiB, because they are in memory while the package is built. */
const DOCUMENTS_MIB_MAX = 32;

/** A component of a package, with the first component that depends on it. */
export interface BuiltComponent extends PackedComponent {
  parent_key: string | null;
}

/** A package that is ready to be written. */
export interface BuiltPackage {
  /** In the order of the package, the root last. */
  components: BuiltComponent[];
  /** All files of the archive, `manifest.json` first. */
  entries: ArchiveEntry[];
}

/** Builds packages. The same content always gives the same bytes. */
@Injectable()
export class PackageBuilder {
  constructor(
    private readonly database: Database,
    private readonly packagers: Packagers,
    private readonly environment: Environment,
  ) {}

  /**
   * Builds the package of pinned resources and passes it to `work`. Errors: 422 for too many files or bytes, for JSON
   * documents of more than 32 MiB together, for a path that some system cannot unpack, and for content that cannot be
   * published; those of `work`.
   *
   * @param nodes each node after its dependencies
   */
  async build<Result>(
    scope: Scope,
    nodes: readonly PinnedNode[],
    work: (built: BuiltPackage) => Promise<Result>,
  ): Promise<Result> {
    const opened: (() => Promise<void>)[] = [];
    try {
      const components = new Map<PinnedNode, PackedComponent>();
      const directories = new Set<string>();
      const files: PackageFile[] = [];
      const size = { all: 0, documents: 0 };
      for (const node of nodes) {
        const { kind, name } = node.artifact;
        const packager = this.packagers.of(kind);
        const dependencies = node.dependencies.map((one) => componentOf(components, one));
        const own = await packager.files(this.database, scope, node.artifact, dependencies);
        if (own.close) opened.push(own.close);
        this.checkSizes(size, own.files);
        checkPaths(own.files);
        const directory = freeDirectory(directories, `${kind}s`, name);
        const digest = sourceDigest(own.files);
        components.set(node, { ...node.artifact, key: keyOf(directory, digest), digest });
        files.push(...own.files.map((file) => ({ ...file, path: `${directory}/${file.path}` })));
        if (files.length >= ARCHIVE_FILES_MAX) throw tooManyFiles();
      }
      const built = nodes.map((node) => ({
        ...componentOf(components, node),
        parent_key: node.parent && componentOf(components, node.parent).key,
      }));
      const entries = [manifestEntry(built, files), ...files];
      this.checkLimit(bytesOf(entries));
      return await work({ components: built, entries });
    } finally {
      for (const close of opened) await close();
    }
  }

  /** Adds the sizes of files to the totals. Rejects a package that is too large before the next component is loaded. */
  private checkSizes(size: { all: number; documents: number }, files: readonly PackageFile[]): void {
    for (const { size_bytes, isHeld = false } of files) {
      size.all += size_bytes;
      if (isHeld) size.documents += size_bytes;
    }
    if (size.documents > DOCUMENTS_MIB_MAX * 1024 * 1024) {
      throw problem.validationFailed(
        `The JSON documents of a package can have at most ${DOCUMENTS_MIB_MAX} MiB together. This package has more.`,
      );
    }
    this.checkLimit(size.all);
  }

  private checkLimit(bytes: number): void {
    const limit = this.environment.FILE_LIMIT_BYTES;
    if (bytes > limit) {
      throw problem.validationFailed(
        `A package can have at most ${formatBytes(limit)}. This package has more.`,
      );
    }
  }
}

function componentOf(
  components: ReadonlyMap<PinnedNode, PackedComponent>,
  node: PinnedNode,
): PackedComponent {
  const component = components.get(node);
  if (component) return component;
  const { kind, artifact_id } = node.artifact;
  throw problem.validationFailed(`The ${kind} ${artifact_id} depends on itself, so it cannot be published.`);
}

function bytesOf(entries: readonly ArchiveEntry[]): number {
  try {
    return archiveBytes(entries);
  } catch (error) {
    throw error instanceof ArchiveError ? problem.validationFailed(error.message) : error;
  }
}

function checkPaths(files: readonly PackageFile[]): void {
  for (const { path } of files) {
    const fault = faultOfPath(path);
    if (fault !== null) throw problem.validationFailed(`The path ${quotedPath(path)} ${fault}.`);
  }
  const clash = clashOf(files.map(({ path }) => path));
  if (clash) throw problem.validationFailed(`${clash.detail}.`);
}

const tooManyFiles = () =>
  problem.validationFailed(
    `A package can have at most ${ARCHIVE_FILES_MAX} files, including manifest.json. This package has more.`,
  );

/** Returns an unused directory for a component, such as `skills/pdf-forms`. */
function freeDirectory(directories: Set<string>, kind: string, name: string): string {
  const slug = `${kind}/${slugOf(name)}`;
  let directory = slug;
  for (let n = 2; directories.has(directory); n++) directory = `${slug}-${n}`;
  directories.add(directory);
  return directory;
}

function manifestEntry(components: readonly BuiltComponent[], files: readonly PackageFile[]): ArchiveEntry {
  const manifest: PackedManifest = {
    schema_version: SCHEMA_VERSION,
    adapter: ADAPTER,
    adapter_version: ADAPTER_VERSION,
    format: FORMAT,
    root: components.at(-1)!.key,
    components: components.map(({ key, kind, name, parent_key }) => ({ key, kind, name, parent_key })),
    files: files.map(({ path, size_bytes, sha256 }) => ({ path, size_bytes, sha256 })),
  };
  return textFile(MANIFEST_FILE, canonicalJson(manifest));
}

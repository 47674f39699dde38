import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import type { WrittenBlob } from '#platform/storage';

/** The kinds of resources that the store publishes. */
export const ARTIFACT_KINDS = ['agent', 'skill', 'mcp_server', 'file', 'dataset', 'scorer'] as const;
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number];

/** A version of a resource. Without id and number, the newest version. */
export interface ArtifactReference {
  kind: ArtifactKind;
  artifact_id: string;
  version_id?: string | null;
  version_ordinal?: number | null;
}

/** The origin of a copy of a published resource: `acquired_from` of the copy. */
export interface AcquiredFrom {
  store_item_id: string;
  /** The release that last wrote the copy. */
  release_id: string;
  /** The publisher's resource, and the version of it that the release contains. */
  artifact_id: string;
  version_id: string;
  version_ordinal: number;
}

/** A resource, pinned to a version that never changes. */
export interface PinnedArtifact {
  kind: ArtifactKind;
  artifact_id: string;
  version_id: string;
  version_ordinal: number;
  name: string;
  /** Null for a resource that was not acquired from the store. */
  acquired_from: AcquiredFrom | null;
  /** The resources that this one needs. They are packed with it. */
  dependencies: ArtifactReference[];
  /** For the agent profile of `service.md`. Only agents have one. */
  profile?: AgentProfileSource;
  /** The input of the kind's own `files`, for example the row. */
  content: unknown;
}

/** The parts of an agent profile that the agent itself decides. */
export interface AgentProfileSource {
  tool_names: string[];
  required_permissions: string[];
  max_step_count: number;
}

/** A component of a package: a pinned resource, with its key in the manifest. */
export interface PackedComponent extends PinnedArtifact {
  /** Such as `skills/pdf-forms@sha256:…`. */
  key: string;
  /** In hexadecimal. For skills, their source digest; for other kinds, the digest in `key`. */
  digest: string;
}

/** A file of a component. */
export interface PackageFile {
  /** Relative to the directory of the component, such as `scripts/build.py`. */
  path: string;
  size_bytes: number;
  /** SHA-256, in hexadecimal. */
  sha256: string;
  /** Streams the bytes, any number of times. */
  content: () => AsyncIterable<Buffer>;
  /** Whether the bytes are in memory until the package is built. */
  isHeld?: boolean;
}

/** The files of a component. Closing frees temporary files. */
export interface PackedFiles {
  files: PackageFile[];
  close?: () => Promise<void>;
}

/** A file that is read from a package. Its bytes must be read before the next file. */
export interface UnpackedFile {
  path: string;
  size_bytes: number;
  content: AsyncIterable<Buffer>;
}

/** A component that is read from a package. The components that it needs precede it in the package. */
export interface UnpackedComponent {
  key: string;
  name: string;
  files: AsyncIterable<UnpackedFile>;
  /** The result of `stage` for this component. */
  staged?: WrittenBlob | undefined;
  /** Where the copy comes from. */
  from: AcquiredFrom;
  /** The live copy in the workspace from the same publisher's resource, or null to create one. */
  copy: InstalledCopy | null;
  /**
   * Whether other components of the package refer to this one. They pin a version of it, so an earlier version of the copy
   * with the same content is sufficient.
   */
  is_dependency?: boolean;
  /** Returns the copy of another component, by its key in the package. Throws for an unknown key. */
  resolve: (key: string) => InstalledArtifact;
}

/** The parts of a component that determine which copy to write. */
export type CopySource = Pick<UnpackedComponent, 'copy' | 'from' | 'is_dependency'>;

/** A live copy of a published resource. */
export interface InstalledCopy {
  artifact_id: string;
  acquired_from: AcquiredFrom;
}

/** A copy in the workspace, after a package was installed. */
export interface InstalledArtifact {
  kind: ArtifactKind;
  artifact_id: string;
  version_id: string;
  version_ordinal: number;
  name: string;
  /** `updated` if the copy has new content, `unchanged` if it already had the content of the package. */
  change: 'created' | 'updated' | 'unchanged';
  /** What the caller must still do before the copy works, such as sending a secret. */
  setup?: string;
}

/**
 * Packs and installs the resources of one kind. The area that owns the kind provides it and adds it to `Packagers`.
 *
 * The files of a pinned version are always the same bytes, without ids, timestamps or secrets. The members of a JSON file are
 * sorted, and free-form members are written verbatim, see `jsonFile`. References to other resources are keys of components.
 */
export interface Packager {
  readonly kind: ArtifactKind;

  /**
   * Pins a live resource of the workspace, locked against archiving until the transaction ends (`FOR SHARE`). Returns null
   * if there is no such live resource or version.
   */
  pin(tx: Tx, scope: Scope, reference: ArtifactReference): Promise<PinnedArtifact | null>;

  /**
   * Returns the files of a pinned version, sorted by path.
   *
   * @param dependencies in the order of `pinned.dependencies`
   * @throws 422 `validation_failed` for content that cannot be published, such as a secret in a URL
   */
  files(
    on: SqlExecutor,
    scope: Scope,
    pinned: PinnedArtifact,
    dependencies: readonly PackedComponent[],
  ): Promise<PackedFiles>;

  /**
   * Stores the large content of a component before the transaction of `install`, so that no connection waits for the storage.
   * Absent for kinds whose content is small or in rows.
   */
  stage?(scope: Scope, component: Pick<UnpackedComponent, 'key' | 'files'>): Promise<WrittenBlob>;

  /** Returns the live copies in the workspace of the publisher's resources, by the publisher's `artifact_id`, locked for update. */
  findCopies(tx: Tx, scope: Scope, artifactIds: readonly string[]): Promise<Map<string, InstalledCopy>>;

  /**
   * Creates a copy, or updates an existing copy to the content of the package. A copy with the same content is `unchanged`,
   * and only its `acquired_from` is set. Writes the version, the audit entry and the search document.
   *
   * @param scope the workspace. The caller has checked the role, and that the workspace is open
   * @throws 409 `conflict` when another resource has the name; the detail names that resource
   */
  install(tx: Tx, scope: Scope, component: UnpackedComponent): Promise<InstalledArtifact>;
}

/** A row of a resource that the store publishes. */
interface PublishedRow {
  name: string;
  version_id: string;
  version_ordinal: number;
}

/** Returns the copy that an installation has written. @param before the previous state of the copy, or null for a new copy */
export const installedArtifact = (
  kind: ArtifactKind,
  artifact_id: string,
  before: PublishedRow | null,
  { version_id, version_ordinal, name }: PublishedRow,
): InstalledArtifact => ({
  kind,
  artifact_id,
  version_id,
  version_ordinal,
  name,
  change: before === null ? 'created' : before.version_id === version_id ? 'unchanged' : 'updated',
});

/** The packagers, one for each kind. */
@Injectable()
export class Packagers {
  private readonly packagers = new Map<ArtifactKind, Packager>();

  /** Adds a packager. Each packager calls this in its constructor. */
  add(packager: Packager): void {
    if (this.packagers.has(packager.kind)) throw new Error(`Two packagers pack the kind ${packager.kind}.`);
    this.packagers.set(packager.kind, packager);
  }

  of(kind: ArtifactKind): Packager {
    const packager = this.packagers.get(kind);
    if (!packager) throw new Error(`No packager packs the kind ${kind}.`);
    return packager;
  }
}

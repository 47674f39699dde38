import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import type {
  ArtifactKind,
  ArtifactReference,
  InstalledArtifact,
  InstalledCopy,
  PackedComponent,
  PackedFiles,
  Packager,
  Packagers,
  PinnedArtifact,
  UnpackedComponent,
} from '../packages/packager';
import type { OwnedEntity } from './owned.entity';
import type { OwnedRepository, PinnedRow } from './owned.repository';

/** Pins resources that apps can declare, and finds their copies. */
export abstract class OwnedPackager<
  Row extends OwnedEntity,
  VersionRow extends Pick<OwnedEntity, 'name' | 'version_id' | 'version_ordinal'>,
> implements Packager {
  protected constructor(
    packagers: Packagers,
    readonly kind: ArtifactKind,
    private readonly owned: OwnedRepository<Row, VersionRow>,
  ) {
    packagers.add(this);
  }

  async pin(tx: Tx, scope: Scope, reference: ArtifactReference): Promise<PinnedArtifact | null> {
    const pinned = await this.owned.pin(tx, scope, reference);
    if (!pinned) return null;
    const { row, version } = pinned;
    return {
      kind: this.kind,
      artifact_id: reference.artifact_id,
      version_id: version.version_id,
      version_ordinal: version.version_ordinal,
      name: version.name,
      acquired_from: row.acquired_from,
      dependencies: [],
      ...this.partsOf(pinned),
    };
  }

  findCopies(tx: Tx, scope: Scope, artifactIds: readonly string[]): Promise<Map<string, InstalledCopy>> {
    return this.owned.findCopies(tx, scope, artifactIds);
  }

  abstract files(
    on: SqlExecutor,
    scope: Scope,
    pinned: PinnedArtifact,
    dependencies: readonly PackedComponent[],
  ): Promise<PackedFiles>;

  abstract install(tx: Tx, scope: Scope, component: UnpackedComponent): Promise<InstalledArtifact>;

  /** Returns the members of a pinned resource that depend on its kind. */
  protected partsOf(
    pinned: PinnedRow<Row, VersionRow>,
  ): Pick<PinnedArtifact, 'content'> & Partial<PinnedArtifact> {
    return { content: pinned };
  }
}

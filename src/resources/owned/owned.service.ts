import type { OrgScope, Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { checkIfMatch, Versioned } from '#platform/http';
import { type OrderedListQueryDto, type Page, toPage } from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import { OrgResourceService } from '../org-resource.service';
import {
  type ArtifactKind,
  type CopySource,
  type InstalledArtifact,
  installedArtifact,
} from '../packages/packager';
import type { ResourceKind } from '../resource-kind';
import type { Deletion, ResourceKit } from '../resource.service';
import type { OwnedListQueryDto } from './owned.dto';
import type { OwnedEntity } from './owned.entity';
import type { OwnedRepository } from './owned.repository';
import type { VersionName } from './version-name';

/** Base for resources with versions that apps can declare and the store publishes. */
export abstract class OwnedService<
  Row extends OwnedEntity,
  View,
  VersionRow extends { version_ordinal: number },
  VersionView,
> extends OrgResourceService<Row, View> {
  protected constructor(
    kit: ResourceKit,
    protected readonly owned: OwnedRepository<Row, VersionRow>,
    kind: ResourceKind<Row, View>,
    private readonly toVersionView: (row: VersionRow) => VersionView,
  ) {
    super(kit, owned, kind);
  }

  async list(scope: OrgScope, query: OwnedListQueryDto): Promise<Page<View>> {
    return this.page(await this.owned.list(scope, query));
  }

  async listVersions(scope: OrgScope, id: string, query: OrderedListQueryDto): Promise<Page<VersionView>> {
    await this.find(scope, id);
    return toPage(await this.owned.versions.list(scope.orgKey, id, query), this.toVersionView);
  }

  async getVersion(scope: OrgScope, id: string, version: VersionName): Promise<Versioned<VersionView>> {
    const row = await this.findVersion(scope, id, version);
    return new Versioned(this.toVersionView(row), row.version_ordinal);
  }

  /**
   * Deletes a version other than the newest one, also of an archived resource. Throws 404, 403, 412 for an `If-Match` other than
   * the version's ETag, and 409 for the newest version and for one that something refers to, unless `force` is set.
   */
  deleteVersion(scope: OrgScope, id: string, named: VersionName, how: Deletion): Promise<void> {
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'delete');
      const version = await this.versionOf(scope, row, named, tx);
      const ordinal = version.version_ordinal;
      checkIfMatch(how.ifMatch, ordinal);
      if (ordinal === row.version_ordinal) {
        throw problem.conflict(
          `This is the newest version. Create another version first, or delete the ${this.kind.noun}.`,
        );
      }
      await this.releaseVersion(tx, scope, row, ordinal, how);
      await this.onDeleteVersion(tx, scope, version);
      await this.owned.versions.delete(tx, scope.orgKey, id, ordinal);
      await this.record(tx, scope, row, 'update', [{ member: 'versions', before: ordinal }]);
    });
  }

  /**
   * Hook for what refers to a version that is deleted: throws 409, or removes it if `force` is set. By default, the references
   * stay.
   */
  protected async releaseVersion(
    tx: Tx,
    scope: OrgScope,
    row: Row,
    ordinal: number,
    { force }: Deletion,
  ): Promise<void> {
    if (force) return;
    await this.kit.references.checkUnused(tx, scope, `${this.kind.noun} version`, this.idOf(row), ordinal);
  }

  /** Hook for what goes with a deleted version, besides rows whose foreign keys cascade. Called before its row is deleted. */
  protected onDeleteVersion(_tx: Tx, _scope: OrgScope, _version: VersionRow): Promise<void> {
    return Promise.resolve();
  }

  /** Also throws 409 for a resource that an app declares, because the next reconcile would create it again. */
  protected override async lockToDelete(tx: Tx, scope: OrgScope, id: string, how: Deletion): Promise<Row> {
    const row = await super.lockToDelete(tx, scope, id, how);
    if (row.app_id === null || how.force) return row;
    throw problem.conflict(
      `The app ${row.app} declares this ${this.kind.noun}, and its next reconcile would create it again. Remove it from the app first, or send \`force=true\`.`,
    );
  }

  /** Returns the row of a version that the caller may read. Throws 404. */
  protected async findVersion(scope: OrgScope, id: string, version: VersionName): Promise<VersionRow> {
    return this.versionOf(scope, await this.find(scope, id), version);
  }

  /** Returns the number of the version that a name means, or null. Only resources with labels have names besides numbers. */
  protected ordinalOf(_row: Row, version: VersionName): number | null {
    return typeof version === 'number' ? version : null;
  }

  private async versionOf(
    scope: OrgScope,
    row: Row,
    version: VersionName,
    on?: SqlExecutor,
  ): Promise<VersionRow> {
    const ordinal = this.ordinalOf(row, version);
    const found =
      ordinal === null ? null : await this.owned.versions.find(scope.orgKey, this.idOf(row), ordinal, on);
    return orNotFound(found, `${this.kind.noun} version`, String(version));
  }

  /**
   * Creates a copy of a published resource, or updates an existing copy. The caller runs the transaction and locks the
   * workspace against archiving. Errors: 403, 404, 409 naming the resource that has the name.
   *
   * @param created the row of a new copy
   * @param columns the columns of an existing copy that the package determines
   */
  protected async installCopy(
    tx: Tx,
    scope: Scope,
    { copy }: CopySource,
    created: Row,
    columns: Partial<Row>,
  ): Promise<InstalledArtifact> {
    if (!copy) {
      await this.checkNameFree(tx, scope, created);
      return this.installed(null, await this.insert(tx, scope, created));
    }
    const before = await this.lock(tx, scope, copy.artifact_id, 'update');
    return this.installed(before, await this.write(tx, scope, before, columns, 'update'));
  }

  /** Returns a copy that was written. @param before its previous state or the version that it already has */
  protected installed(
    before: Pick<Row, 'name' | 'version_id' | 'version_ordinal'> | null,
    row: Row,
  ): InstalledArtifact {
    return installedArtifact(this.kind.type as ArtifactKind, this.idOf(row), before, row);
  }
}

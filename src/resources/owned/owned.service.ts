import type { OrgScope, Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { Versioned } from '#platform/http';
import { type OrderedListQueryDto, type Page, toPage } from '#platform/paging';
import { orNotFound } from '#platform/problem';
import { OrgResourceService } from '../org-resource.service';
import {
  type ArtifactKind,
  type CopySource,
  type InstalledArtifact,
  installedArtifact,
} from '../packages/packager';
import type { ResourceKind } from '../resource-kind';
import type { ResourceKit } from '../resource.service';
import type { OwnedListQueryDto } from './owned.dto';
import type { OwnedEntity } from './owned.entity';
import type { OwnedRepository } from './owned.repository';

/** Base for resources with versions that apps can declare and the store publishes. */
export abstract class OwnedService<
  Row extends OwnedEntity,
  View,
  VersionRow,
  VersionView,
> extends OrgResourceService<Row, View> {
  protected constructor(
    kit: ResourceKit,
    private readonly owned: OwnedRepository<Row, VersionRow>,
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

  async getVersion(scope: OrgScope, id: string, ordinal: number): Promise<Versioned<VersionView>> {
    return new Versioned(this.toVersionView(await this.findVersion(scope, id, ordinal)), ordinal);
  }

  /** Returns the row of a version that the caller may read. Throws 404. */
  protected async findVersion(scope: OrgScope, id: string, ordinal: number): Promise<VersionRow> {
    await this.find(scope, id);
    const row = await this.owned.versions.find(scope.orgKey, id, ordinal);
    return orNotFound(row, `${this.kind.noun} version`, String(ordinal));
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

import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { RawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { readable, ResourceKit, stamps, within } from '../../resources';
import { CatalogueService, checkOffered } from '../catalogue/catalogue.service';
import type { ReleaseRow, StoreItemEntity } from '../items/store-item.entity';
import {
  type AcquireStoreItemDto,
  type AcquiredCopyDto,
  type AcquisitionDto,
  type AcquisitionListQueryDto,
  toAcquisitionDto,
  type UpgradeAcquisitionDto,
  type UpgradeChangeDto,
  type UpgradedAcquisitionDto,
} from './acquisition.dto';
import type { AcquisitionEntity } from './acquisition.entity';
import { ACQUISITION_READERS, AcquisitionRepository } from './acquisition.repository';
import { PackageInstaller } from './package-installer';

/** Packages that one organization installs at once. Each holds a connection of the database. */
const INSTALLATIONS_PER_ORG = 2;

type Release = Pick<ReleaseRow, 'release_id' | 'sha256' | 'actions' | 'manifest'>;

/** An acquisition, and whether it is new. */
export interface Acquired {
  view: AcquisitionDto;
  isNew: boolean;
}

/** Installs items of the store into workspaces, and upgrades them. */
@Injectable()
export class AcquisitionService {
  private readonly limiter = new FairLimiter({ share: INSTALLATIONS_PER_ORG });

  constructor(
    private readonly kit: ResourceKit,
    private readonly catalogue: CatalogueService,
    private readonly acquisitions: AcquisitionRepository,
    private readonly installer: PackageInstaller,
  ) {}

  /**
   * Installs an item, all or nothing. A repeat returns the acquisition that the workspace has. Errors: 400 for an unknown
   * workspace or release; 403 without the role editor, or `forbidden` if the publisher does not offer the item; 404; 409
   * for an archived workspace and for a name that is taken; 503 `storage_unavailable`.
   */
  acquire(
    scope: OrgScope,
    itemId: string,
    { workspace_id, release_id }: AcquireStoreItemDto,
    signal: AbortSignal,
  ): Promise<Acquired> {
    const owner = { orgId: scope.orgId, workspaceId: workspace_id };
    return this.limiter.run(owner, signal, () =>
      this.kit.database.transaction(async (tx) => {
        const item = await this.catalogue.find(scope, itemId, tx);
        const workspace = await this.kit.access.enter(tx, scope, workspace_id, ['editor']);
        const release = await this.offered(tx, item, release_id ?? undefined);
        const row = newAcquisition(scope, workspace_id, item, release);
        if (!(await this.acquisitions.reserve(tx, row))) {
          const known = await this.acquisitions.findOf(tx, workspace, itemId);
          return { view: toAcquisitionDto(known!, item.release_id), isNew: false };
        }
        const installed = { orgId: item.org_id, itemId, release };
        const copies = await this.installer.install(tx, workspace, installed, signal);
        const written = await this.write(tx, scope, row, { copies: rawOf(copies) });
        await this.record(tx, scope, written, 'create');
        return { view: toAcquisitionDto(written, item.release_id), isNew: true };
      }),
    );
  }

  /**
   * Installs another release, by default the newest. Without a new release, and with all copies live, it changes nothing, so
   * that edits of the copies stay. A release that the caller names is installed again in any case. Errors: those of
   * `acquire`.
   */
  upgrade(
    scope: OrgScope,
    id: string,
    { release_id }: UpgradeAcquisitionDto,
    signal: AbortSignal,
  ): Promise<UpgradedAcquisitionDto> {
    return this.limiter.run(scope.orgId, signal, () =>
      this.kit.database.transaction(async (tx) => {
        const found = await this.acquisitions.lock(tx, scope, id, 'update');
        const row = this.kit.access.admit(scope, found, 'acquisition', id, ['editor'], ACQUISITION_READERS);
        await this.kit.access.holdOpen(tx, scope, row.workspace_id);
        const item = await this.offeredItem(tx, scope, row.store_item_id);
        const release = await this.offered(tx, item, release_id ?? undefined);
        const workspace = within(scope, row.workspace_id);
        const installed = { orgId: item.org_id, itemId: item.store_item_id, release };
        const before = row.copies.parse() as AcquiredCopyDto[];
        const isCurrent = release_id == null && row.release_id === release.release_id;
        const copies =
          isCurrent && (await this.installer.hasAllCopies(tx, workspace, release))
            ? before.map((copy): AcquiredCopyDto => ({ ...copy, change: 'unchanged' }))
            : await this.installer.install(tx, workspace, installed, signal);
        const changes = changesOf(before, copies);
        const isSame =
          row.release_id === release.release_id && changes.every(({ change }) => change === 'unchanged');
        const written = isSame
          ? row
          : await this.write(tx, scope, row, {
              release_id: release.release_id,
              copies: rawOf(copies),
              generation: row.generation + 1,
              updated_at: new Date(),
            });
        if (!isSame) await this.record(tx, scope, written, 'update', row.release_id);
        return { ...toAcquisitionDto(written, item.release_id), changes };
      }),
    );
  }

  /** Errors: 404. */
  async get(scope: OrgScope, id: string): Promise<AcquisitionDto> {
    const found = await this.acquisitions.find(scope, id);
    const row = readable(scope, found, 'acquisition', id, ACQUISITION_READERS);
    const [view] = await this.views(scope, [row]);
    return view!;
  }

  async list(scope: OrgScope, query: AcquisitionListQueryDto): Promise<Page<AcquisitionDto>> {
    const { rows, page } = await this.acquisitions.list(scope, query);
    return { items: await this.views(scope, rows), page };
  }

  private async views(scope: OrgScope, rows: readonly AcquisitionEntity[]): Promise<AcquisitionDto[]> {
    const ids = rows.map(({ store_item_id }) => store_item_id);
    const latest = await this.acquisitions.latestReleases(scope, ids);
    return rows.map((row) => toAcquisitionDto(row, latest.get(row.store_item_id) ?? null));
  }

  /** Returns an item that was acquired. Errors: 403 `forbidden` if it no longer admits the organization. */
  private async offeredItem(tx: Tx, scope: OrgScope, itemId: string): Promise<StoreItemEntity> {
    const item = await this.catalogue.findOffered(scope, itemId, tx);
    if (item) return item;
    throw problem.forbidden(
      'The publisher no longer offers this item to your organization. Your copies stay.',
    );
  }

  /** Returns a release that may be installed. Errors: 400 for an unknown one, 403 `forbidden`. */
  private async offered(tx: Tx, item: StoreItemEntity, releaseId: string | undefined): Promise<Release> {
    const release = await this.catalogue.releaseOf(item, releaseId, tx);
    if (!release) {
      throw problem.invalidFields([{ pointer: '/release_id', detail: 'is not a release of this item' }]);
    }
    checkOffered(item, release, 'install');
    return release;
  }

  private async write(
    tx: Tx,
    scope: OrgScope,
    row: AcquisitionEntity,
    columns: Partial<AcquisitionEntity>,
  ): Promise<AcquisitionEntity> {
    await this.acquisitions.update(tx, scope, row.acquisition_id, columns);
    return { ...row, ...columns };
  }

  private async record(
    tx: Tx,
    scope: OrgScope,
    row: AcquisitionEntity,
    action: 'create' | 'update',
    before?: string,
  ): Promise<void> {
    const { acquisition_id: id, workspace_id: workspaceId, store_item_id, release_id } = row;
    const changes =
      action === 'create'
        ? [
            { member: 'store_item_id', after: store_item_id },
            { member: 'release_id', after: release_id },
          ]
        : [{ member: 'release_id', before, after: release_id }];
    await this.kit.audit.record(tx, scope, { action, type: 'acquisition', id, workspaceId, changes });
  }
}

const rawOf = (copies: readonly AcquiredCopyDto[]): RawJson => new RawJson(JSON.stringify(copies));

function newAcquisition(
  scope: OrgScope,
  workspace_id: string,
  { store_item_id }: StoreItemEntity,
  { release_id }: Release,
): AcquisitionEntity {
  const { created_at, updated_at, created_by } = stamps(scope);
  return {
    acquisition_id: newId('acq'),
    org_id: scope.orgId,
    workspace_id,
    store_item_id,
    release_id,
    copies: rawOf([]),
    generation: 1,
    created_at,
    updated_at,
    created_by,
  };
}

/** Returns what happened to each copy. The copies of components that the new release lacks stay as they are. */
function changesOf(
  before: readonly AcquiredCopyDto[],
  after: readonly AcquiredCopyDto[],
): UpgradeChangeDto[] {
  const kept = new Set(after.map(({ source }) => source.artifact_id));
  const removed = before.filter(({ source }) => !kept.has(source.artifact_id));
  const known = new Map(before.map((copy) => [copy.artifact_id, copy]));
  return [
    ...after.map((copy) => changeOf(copy, copy.change, replacedOrdinal(known.get(copy.artifact_id), copy))),
    ...removed.map((copy) => changeOf(copy, 'removed', null)),
  ];
}

/** Returns the version that somebody made of a copy after it was installed, and that an upgrade replaced; null if none. */
function replacedOrdinal(before: AcquiredCopyDto | undefined, after: AcquiredCopyDto): number | null {
  // a dataset keeps the records that others have changed
  if (!before || after.change !== 'updated' || after.kind === 'dataset') return null;
  const replaced = after.version_ordinal - 1;
  return replaced > before.version_ordinal ? replaced : null;
}

const changeOf = (
  { key, kind, artifact_id, name }: AcquiredCopyDto,
  change: UpgradeChangeDto['change'],
  replaced_version_ordinal: number | null,
): UpgradeChangeDto => ({ key, kind, artifact_id, name, change, replaced_version_ordinal });

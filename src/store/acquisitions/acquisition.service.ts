import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { RawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { readable, ResourceKit, stamps, narrowScope } from '../../resources';
import { CatalogueService, checkOffered } from '../items/catalogue.service';
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

/** The number of packages that a process installs at once. Each holds a database connection. */
const INSTALLATIONS = 4;
const INSTALLATIONS_WAITING = 50;
/** The number of packages that an organization installs at once. */
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
  private readonly limiter = new FairLimiter({
    share: INSTALLATIONS_PER_ORG,
    concurrency: INSTALLATIONS,
    maxWaiting: INSTALLATIONS_WAITING,
  });

  constructor(
    private readonly kit: ResourceKit,
    private readonly catalogue: CatalogueService,
    private readonly acquisitions: AcquisitionRepository,
    private readonly installer: PackageInstaller,
  ) {
    kit.references.add({
      nouns: ['store item'],
      find: async (tx, scope, _noun, id, limit) => {
        const ids = await this.acquisitions.findOfItem(tx, scope, id, limit);
        return ids.map((acquisition) => ({ noun: 'acquisition', id: acquisition }));
      },
    });
  }

  /**
   * Installs an item, all or nothing. A repeat returns the existing acquisition. Errors: 400 for an unknown workspace or
   * release; 403 without the role editor, or `forbidden` if the publisher does not offer the item; 404; 409 for an
   * archived workspace, a name that is taken, or a repeat that names another release; 503 `storage_unavailable`.
   */
  acquire(
    scope: OrgScope,
    itemId: string,
    { workspace_id, release_id }: AcquireStoreItemDto,
    signal: AbortSignal,
  ): Promise<Acquired> {
    const owner = { orgId: scope.orgId, workspaceId: workspace_id };
    return this.limiter.run(owner, signal, async () => {
      const existing = await this.kit.database.transactionAhead(async (tx) => {
        const workspace = await this.kit.access.enter(tx, scope, workspace_id, ['editor']);
        return this.acquisitions.findOf(tx, workspace, itemId);
      });
      if (existing) {
        checkSameRelease(existing, release_id);
        return { view: await this.view(scope, existing), isNew: false };
      }
      const item = await this.catalogue.find(scope, itemId);
      const release = await this.offeredRelease(item, release_id ?? undefined);
      const target = { orgId: item.org_id, itemId, release };
      return this.installer.withStagedContent(narrowScope(scope, workspace_id), target, signal, (staged) =>
        this.kit.database.transaction(async (tx) => {
          const workspace = await this.kit.access.enter(tx, scope, workspace_id, ['editor']);
          const row = newAcquisition(scope, workspace_id, item, release);
          if (!(await this.acquisitions.reserve(tx, row))) {
            const first = (await this.acquisitions.findOf(tx, workspace, itemId))!;
            checkSameRelease(first, release_id);
            return { view: toAcquisitionDto(first, item.release_id), isNew: false };
          }
          const copies = await this.installer.install(tx, workspace, target, staged, signal);
          await this.checkStillOffered(tx, scope, itemId, release);
          const written = await this.write(tx, scope, row, { copies: rawOf(copies) });
          await this.record(tx, scope, written, 'create');
          return { view: toAcquisitionDto(written, item.release_id), isNew: true };
        }),
      );
    });
  }

  /**
   * Installs another release, by default the newest. If the newest release is already installed and all copies are live,
   * changes nothing, so that edits of the copies are kept. A release that the caller names is always installed again.
   * Errors: those of `acquire`.
   */
  upgrade(
    scope: OrgScope,
    id: string,
    { release_id }: UpgradeAcquisitionDto,
    signal: AbortSignal,
  ): Promise<UpgradedAcquisitionDto> {
    return this.limiter.run(scope.orgId, signal, async () => {
      const { row, item, release, isCurrent } = await this.kit.database.transactionAhead(async (tx) => {
        const row = await this.lockWritable(tx, scope, id);
        const item = await this.offeredItem(scope, row.store_item_id);
        const release = await this.offeredRelease(item, release_id ?? undefined);
        const isCurrent =
          release_id == null &&
          row.release_id === release.release_id &&
          (await this.installer.hasAllCopies(tx, narrowScope(scope, row.workspace_id), release));
        return { row, item, release, isCurrent };
      });
      if (isCurrent) {
        const copies = row.copies.parse() as AcquiredCopyDto[];
        const unchanged = copies.map((copy): AcquiredCopyDto => ({ ...copy, change: 'unchanged' }));
        return { ...toAcquisitionDto(row, item.release_id), changes: changesOf(copies, unchanged) };
      }
      const target = { orgId: item.org_id, itemId: item.store_item_id, release };
      return this.installer.withStagedContent(
        narrowScope(scope, row.workspace_id),
        target,
        signal,
        (staged) =>
          this.kit.database.transaction(async (tx) => {
            const before = await this.lockWritable(tx, scope, id);
            const workspace = narrowScope(scope, before.workspace_id);
            const copies = await this.installer.install(tx, workspace, target, staged, signal);
            await this.checkStillOffered(tx, scope, item.store_item_id, release);
            const written = await this.writeUpgrade(tx, scope, before, release, copies);
            const changes = changesOf(before.copies.parse() as AcquiredCopyDto[], copies);
            return { ...toAcquisitionDto(written, item.release_id), changes };
          }),
      );
    });
  }

  /** Errors: 404. */
  async get(scope: OrgScope, id: string): Promise<AcquisitionDto> {
    const row = await this.acquisitions.find(scope, id);
    return this.view(scope, readable(scope, row, 'acquisition', id, ACQUISITION_READERS));
  }

  async list(scope: OrgScope, query: AcquisitionListQueryDto): Promise<Page<AcquisitionDto>> {
    const { rows, page } = await this.acquisitions.list(scope, query);
    return { items: await this.views(scope, rows), page };
  }

  private async view(scope: OrgScope, row: AcquisitionEntity): Promise<AcquisitionDto> {
    const [view] = await this.views(scope, [row]);
    return view!;
  }

  private async views(scope: OrgScope, rows: readonly AcquisitionEntity[]): Promise<AcquisitionDto[]> {
    const ids = rows.map(({ store_item_id }) => store_item_id);
    const latest = await this.acquisitions.latestReleases(scope, ids);
    return rows.map((row) => {
      const release = latest.get(row.store_item_id);
      return {
        ...toAcquisitionDto(row, release ?? null),
        ...(release === undefined && { item_erased: true }),
      };
    });
  }

  /** Locks an acquisition for an upgrade. Errors: 404, 403, 409 for an archived workspace. */
  private async lockWritable(tx: Tx, scope: OrgScope, id: string): Promise<AcquisitionEntity> {
    const locked = await this.acquisitions.lock(tx, scope, id, 'update');
    const row = this.kit.access.admit(scope, locked, 'acquisition', id, ['editor'], ACQUISITION_READERS);
    await this.kit.access.holdOpen(tx, scope, row.workspace_id);
    return row;
  }

  /** Returns the item of an acquisition. Errors: 403 `forbidden` if it no longer admits the organization. */
  private async offeredItem(scope: OrgScope, itemId: string, tx?: Tx): Promise<StoreItemEntity> {
    const item = await this.catalogue.findOffered(scope, itemId, tx);
    if (item) return item;
    throw problem.forbidden(
      'This item was withdrawn, or its publisher no longer offers it to your organization. Your copies stay.',
    );
  }

  /** Returns a release that may be installed. Errors: 400 for an unknown one, 403 `forbidden`. */
  private async offeredRelease(item: StoreItemEntity, releaseId: string | undefined): Promise<Release> {
    const release = await this.catalogue.releaseOf(item, releaseId);
    if (!release) {
      throw problem.invalidField('/release_id', 'is not a release of this item');
    }
    checkOffered(item, release, 'install');
    return release;
  }

  /**
   * Checks again, at the end of an installation, that the publisher still offers the item, and locks it until the
   * commit. The item is not locked earlier, because its publisher must not wait for installations. Errors: 403
   * `forbidden`.
   */
  private async checkStillOffered(tx: Tx, scope: OrgScope, itemId: string, release: Release): Promise<void> {
    checkOffered(await this.offeredItem(scope, itemId, tx), release, 'install');
  }

  private async writeUpgrade(
    tx: Tx,
    scope: OrgScope,
    row: AcquisitionEntity,
    { release_id }: Release,
    copies: readonly AcquiredCopyDto[],
  ): Promise<AcquisitionEntity> {
    const isSame = row.release_id === release_id && copies.every(({ change }) => change === 'unchanged');
    if (isSame) return row;
    const columns = {
      release_id,
      copies: rawOf(copies),
      generation: row.generation + 1,
      updated_at: new Date(),
    };
    const written = await this.write(tx, scope, row, columns);
    await this.record(tx, scope, written, 'update', row.release_id);
    return written;
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

/** Throws 409 if a repeated request names a release other than the installed one. */
function checkSameRelease(existing: AcquisitionEntity, releaseId: string | null | undefined): void {
  if (releaseId == null || releaseId === existing.release_id) return;
  throw problem.conflict(
    `The workspace has the release ${existing.release_id} of this item. Upgrade the acquisition ${existing.acquisition_id} to install another one.`,
  );
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

/** Returns what an upgrade did to each copy. It leaves the copies of components that the new release lacks. */
function changesOf(
  before: readonly AcquiredCopyDto[],
  after: readonly AcquiredCopyDto[],
): UpgradeChangeDto[] {
  const remaining = new Set(after.map(({ source }) => source.artifact_id));
  const removed = before.filter(({ source }) => !remaining.has(source.artifact_id));
  const previous = new Map(before.map((copy) => [copy.artifact_id, copy]));
  return [
    ...after.map((copy) =>
      changeOf(copy, copy.change, replacedOrdinal(previous.get(copy.artifact_id), copy)),
    ),
    ...removed.map((copy) => changeOf(copy, 'removed', null)),
  ];
}

/** Returns the version of a copy that was edited after its installation and that an upgrade replaced, or null. */
function replacedOrdinal(before: AcquiredCopyDto | undefined, after: AcquiredCopyDto): number | null {
  // An upgrade of a dataset keeps the records that were changed in the workspace.
  if (!before || after.change !== 'updated' || after.kind === 'dataset') return null;
  const replaced = after.version_ordinal - 1;
  return replaced > before.version_ordinal ? replaced : null;
}

const changeOf = (
  { key, kind, artifact_id, name }: AcquiredCopyDto,
  change: UpgradeChangeDto['change'],
  replaced_version_ordinal: number | null,
): UpgradeChangeDto => ({ key, kind, artifact_id, name, change, replaced_version_ordinal });

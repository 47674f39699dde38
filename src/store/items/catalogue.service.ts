import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { type Reply, type RequestedContent, storedContent } from '#platform/http';
import { type OrderedListQueryDto, type Page, toPage } from '#platform/paging';
import { problem, orNotFound } from '#platform/problem';
import { BlobStore } from '#platform/storage';
import type { Action, ReleaseRow, StoreItemEntity } from './store-item.entity';
import { StoreItemRepository } from './store-item.repository';
import {
  type CatalogueItemDto,
  type CatalogueReleaseDto,
  type StoreItemListQueryDto,
  toCatalogueItemDto,
  toCatalogueReleaseDto,
} from './catalogue.dto';
import { CatalogueRepository } from './catalogue.repository';

export const PACKAGE_MEDIA = 'application/gzip';

/** The items that organizations offer to others. */
@Injectable()
export class CatalogueService {
  constructor(
    private readonly catalogue: CatalogueRepository,
    private readonly items: StoreItemRepository,
    private readonly blobs: BlobStore,
  ) {}

  async list(scope: OrgScope, query: StoreItemListQueryDto): Promise<Page<CatalogueItemDto>> {
    return toPage(await this.catalogue.listPage(scope, query), (row) => toCatalogueItemDto(row, scope.orgId));
  }

  /** Errors: 404. */
  async get(scope: OrgScope, id: string): Promise<CatalogueItemDto> {
    return toCatalogueItemDto(await this.find(scope, id), scope.orgId);
  }

  /** Returns an item that admits the caller's organization. Errors: 404. */
  async find(scope: OrgScope, id: string, on?: SqlExecutor): Promise<StoreItemEntity> {
    return orNotFound(await this.catalogue.find(scope, id, on), 'store item', id);
  }

  /**
   * Returns an item that is not withdrawn and admits the caller's organization, or null.
   *
   * @param tx locks the item against changes until the transaction ends
   */
  async findOffered(scope: OrgScope, id: string, tx?: Tx): Promise<StoreItemEntity | null> {
    const row = await (tx ? this.catalogue.lock(tx, scope, id) : this.catalogue.find(scope, id));
    return row?.archived_at === null ? row : null;
  }

  /** Lists the releases of an item that admits the caller's organization. Errors: 404. */
  async listReleases(
    scope: OrgScope,
    id: string,
    query: OrderedListQueryDto,
  ): Promise<Page<CatalogueReleaseDto>> {
    const { org_id } = await this.find(scope, id);
    const publisher = { orgKey: { column: 'org_id', value: org_id } } as const;
    return toPage(await this.items.listReleases(publisher, id, query), toCatalogueReleaseDto);
  }

  /**
   * Streams a package. Errors: 403 `forbidden` if the publisher does not offer it for download; 404 for an unknown item
   * or release; 503 `storage_unavailable`.
   */
  async download(
    scope: OrgScope,
    id: string,
    releaseId: string | undefined,
    requested: RequestedContent,
  ): Promise<Reply> {
    const item = await this.find(scope, id);
    const release = await this.releaseOf(item, releaseId);
    if (!release) throw problem.unknownParameter('release_id', 'release', releaseId ?? '');
    if (item.org_id !== scope.orgId) checkOffered(item, release, 'download');
    const content = await this.blobs.open({ orgId: item.org_id }, release.sha256);
    return storedContent(requested, {
      type: PACKAGE_MEDIA,
      filename: `${item.name}.tar.gz`,
      size: content.size,
      sha256: content.sha256,
      read: (range) => content.read(range),
    });
  }

  /** Returns a release of an item, by default the newest, or null if the item has no such release. */
  async releaseOf(
    item: StoreItemEntity,
    releaseId: string = item.release_id,
    on?: SqlExecutor,
  ): Promise<Pick<ReleaseRow, 'release_id' | 'sha256' | 'actions' | 'manifest'> | null> {
    return releaseId === item.release_id ? item : this.items.findRelease(item, releaseId, on);
  }
}

/** Throws 403 unless the item can be acquired, and both this release and the newest one allow the action. */
export function checkOffered(
  item: StoreItemEntity,
  release: Pick<ReleaseRow, 'actions'>,
  action: Action,
): void {
  // only the publisher's organization still finds a withdrawn item
  if (item.archived_at) {
    throw problem.forbidden(
      'This item was withdrawn, so it cannot be acquired. To offer the resource again, publish it as a new item.',
    );
  }
  const verb = action === 'install' ? 'acquired' : 'downloaded';
  if (!item.can_acquire) throw problem.forbidden(`The publisher does not allow this item to be ${verb}.`);
  if (!item.actions.includes(action) || !release.actions.includes(action)) {
    throw problem.forbidden(
      `The \`actions\` of this item or release do not include \`${action}\`, so it cannot be ${verb}.`,
    );
  }
}

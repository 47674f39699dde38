import { Injectable } from '@nestjs/common';
import { expandRoles, type OrgScope, orgScope, type Principal } from '#platform/auth';
import type { Tx } from '#platform/db';
import { checkIfMatch, Versioned } from '#platform/http';
import { type OrderedListQueryDto, type Page, toPage } from '#platform/paging';
import { problem, orNotFound } from '#platform/problem';
import { BlobStore } from '#platform/storage';
import {
  type AuditAction,
  changedColumns,
  type Deletion,
  OrgResourceService,
  pick,
  requireRole,
  type ResourceAction,
  type ResourceKind,
  ResourceKit,
} from '../../resources';
import { ListingRepository } from './listing.repository';
import type {
  SetStoreAudienceDto,
  PatchPublisherItemDto,
  PublisherItemPolicyDto,
  PublisherItemsQueryDto,
  ReviewStoreItemDto,
} from './store-item-bodies.dto';
import {
  type PublisherItemDto,
  type StoreItemDto,
  type StoreItemsPageDto,
  type StoreReleaseDto,
  toPublisherItemDto,
  toStoreItemDto,
  toStoreReleaseDto,
} from './store-item.dto';
import {
  AUDITED_FIELDS,
  LISTED_FIELDS,
  POLICY_FIELDS,
  RELEASED_FIELDS,
  type ReleaseRow,
  REVIEWED_FIELDS,
  type StoreItemEntity,
  toStoreItemDocument,
} from './store-item.entity';
import { StoreItemRepository } from './store-item.repository';

/** Describes store items to the resource kit. Withdrawing an item archives it permanently. */
const STORE_ITEM: ResourceKind<StoreItemEntity, PublisherItemDto> = {
  noun: 'store item',
  type: 'store_item',
  id: 'store_item_id',
  generation: 'generation',
  immutable: ['store_item_id'],
  auditedFields: AUDITED_FIELDS,
  createdFields: ['name', 'category', 'artifact_kind', 'artifact_id', 'release_id', 'sha256'],
  derived: (row, changed) =>
    POLICY_FIELDS.some((field) => field in changed) ? { policy_generation: row.policy_generation + 1 } : {},
  search: { type: 'store_item', document: toStoreItemDocument },
  toView: toPublisherItemDto,
};

/**
 * The items of an organization, for the organization itself. Everyone who may read in any of its workspaces sees all
 * items. Changes require the role publisher in the workspace of the artifact.
 */
@Injectable()
export class StoreItemService extends OrgResourceService<StoreItemEntity, PublisherItemDto> {
  constructor(
    kit: ResourceKit,
    private readonly items: StoreItemRepository,
    private readonly listings: ListingRepository,
    private readonly blobs: BlobStore,
  ) {
    super(kit, items, STORE_ITEM);
    kit.references.add({
      nouns: ['agent', 'skill', 'server', 'file', 'dataset', 'scorer'],
      find: async (tx, scope, _noun, id, limit) => {
        const ids = await this.items.findPublishing(tx, scope, id, limit);
        return ids.map((item) => ({ noun: STORE_ITEM.noun, id: item }));
      },
      markErased: (tx, scope, _noun, id) => this.items.markErased(tx, scope, id),
    });
  }

  async listOwn(scope: OrgScope, query: PublisherItemsQueryDto): Promise<StoreItemsPageDto> {
    const { rows, limit, offset, total } = await this.items.listOwn(scope, query);
    return {
      items: rows.map((row) => toStoreItemDto(row)),
      page: { limit, offset, total: query.total === false ? null : total },
    };
  }

  /**
   * Changes the texts of an item. After a change of reviewed texts, the item must be reviewed again. Errors: those of
   * every change.
   */
  patch(
    scope: OrgScope,
    id: string,
    dto: PatchPublisherItemDto,
    ifMatch?: string,
  ): Promise<Versioned<PublisherItemDto>> {
    return this.change(scope, id, dto, ifMatch, async (row, tx) => {
      const { release_id } = row;
      const { version_label, release_notes } = dto;
      await this.items.updateReleaseTexts(tx, scope, { release_id, version_label, release_notes });
      const texts = textsOf(dto);
      const needsReview = changedColumns(row, pick(texts as StoreItemEntity, REVIEWED_FIELDS)) !== null;
      return { ...texts, ...(needsReview && { is_reviewed: false }) };
    });
  }

  /**
   * Replaces the policy. Errors: 404; 403; 400 for an unknown organization; 412 for a stale generation; 409 for a
   * withdrawn item or an archived workspace.
   */
  setPolicy(
    scope: OrgScope,
    id: string,
    { audience, is_listed, can_acquire }: PublisherItemPolicyDto,
    ifMatch?: string,
  ): Promise<Versioned<PublisherItemDto>> {
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'update');
      const policy = { ...(await this.audienceOf(tx, audience)), is_listed, can_acquire };
      checkIfMatch(ifMatch, row.policy_generation, stalePolicy(row, ifMatch));
      this.checkWritable(row);
      await this.checkOpen(tx, scope, row);
      const written = await this.write(tx, scope, row, policy, 'update');
      return new Versioned(toPublisherItemDto(written), written.policy_generation);
    });
  }

  /**
   * Marks the newest release as reviewed or not. Errors: 404; 409 for a withdrawn item or a `release_id` that is not the
   * newest.
   */
  async review(
    principal: Principal,
    requestId: string,
    id: string,
    { is_reviewed = true, release_id }: ReviewStoreItemDto,
  ): Promise<StoreItemDto> {
    const orgId = orNotFound(await this.items.publisherOf(id), STORE_ITEM.noun, id);
    const scope = orgScope(orgId, principal.id, expandRoles(['publisher']), requestId);
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'update');
      this.checkWritable(row);
      if (release_id !== undefined && release_id !== row.release_id) throw notNewest(release_id, row);
      return toStoreItemDto(await this.write(tx, scope, row, { is_reviewed }, 'update'));
    });
  }

  async listReleases(
    scope: OrgScope,
    id: string,
    query: OrderedListQueryDto,
  ): Promise<Page<StoreReleaseDto>> {
    await this.find(scope, id);
    return toPage(await this.items.listReleases(scope, id, query), toStoreReleaseDto);
  }

  /** Inserts a new item with its first release, in the transaction that makes its package permanent. */
  async add(
    tx: Tx,
    scope: OrgScope,
    row: Omit<StoreItemEntity, 'ordinal'>,
  ): Promise<Versioned<PublisherItemDto>> {
    const placed = { ...row, ordinal: await this.items.nextOrdinal(tx, scope) };
    const inserted = await this.insert(tx, scope, placed);
    await this.items.insertRelease(tx, releaseOf(placed, scope, placed.created_at));
    return this.versioned(inserted);
  }

  /** Adds a release to a locked item, in the transaction that makes its package permanent. It must be reviewed again. */
  async release(
    tx: Tx,
    scope: OrgScope,
    row: StoreItemEntity,
    columns: Partial<StoreItemEntity>,
  ): Promise<Versioned<PublisherItemDto>> {
    const next = { ...columns, is_reviewed: false };
    await this.items.insertRelease(tx, releaseOf({ ...row, ...next }, scope, new Date()));
    return this.versioned(await this.write(tx, scope, row, next, 'update'));
  }

  /** Locks an item for a new release. Errors: 404, 403, 409 for a withdrawn item. */
  async lockForRelease(tx: Tx, scope: OrgScope, id: string): Promise<StoreItemEntity> {
    const row = await this.lock(tx, scope, id, 'update');
    this.checkWritable(row);
    return row;
  }

  /** Returns the columns of an audience. Errors: 400 for an unknown organization. */
  async audienceOf(
    tx: Tx,
    { is_public, org_ids = [] }: SetStoreAudienceDto,
  ): Promise<Pick<StoreItemEntity, 'is_public' | 'org_ids'>> {
    const unknown = org_ids.length > 0 ? await this.items.unknownOrgs(tx, org_ids) : new Set();
    if (unknown.size > 0) {
      const errors = org_ids.flatMap((one, index) =>
        unknown.has(one)
          ? [{ pointer: `/audience/org_ids/${index}`, detail: 'is not an organization of this service' }]
          : [],
      );
      throw problem.invalidFields(errors);
    }
    return { is_public, org_ids: [...new Set(org_ids)] };
  }

  protected override admit(
    _tx: Tx,
    scope: OrgScope,
    row: StoreItemEntity | null,
    id: string,
    action: ResourceAction,
  ): Promise<StoreItemEntity> {
    const item = this.readable(scope, row, id);
    requireRole(scope, item.workspace_id, [action === 'delete' ? 'admin' : 'publisher']);
    return Promise.resolve(item);
  }

  /** Differs from the ETag of the policy, which is its generation, so that clients cannot confuse the two. */
  protected override etag({ generation }: StoreItemEntity): string {
    return `item-${generation}`;
  }

  /** Checks only existence, because the admission has checked that the caller may read somewhere in the organization. */
  protected override readable(_scope: OrgScope, row: StoreItemEntity | null, id: string): StoreItemEntity {
    return orNotFound(row, STORE_ITEM.noun, id);
  }

  protected override checkWritable({ archived_at }: StoreItemEntity): void {
    if (archived_at) {
      throw problem.conflict(
        'This item was withdrawn. To offer the resource again, publish it as a new item.',
      );
    }
  }

  /** Also throws 409, even with `force`, for an item that other organizations have acquired. */
  protected override async lockToDelete(
    tx: Tx,
    scope: OrgScope,
    id: string,
    how: Deletion,
  ): Promise<StoreItemEntity> {
    // before any item, so that two deletions do not deadlock
    await this.items.lockOrdinals(tx, scope);
    const row = await super.lockToDelete(tx, scope, id, how);
    if (await this.items.isAcquiredByOthers(tx, scope, id)) {
      throw problem.conflict('Other organizations have acquired this item, so its releases are kept.');
    }
    return row;
  }

  protected override checkDeletable({ archived_at }: StoreItemEntity): void {
    if (archived_at) return;
    throw problem.conflict('The store item is not withdrawn. Withdraw it before you delete it.');
  }

  /** Deletes the packages of its releases with it. */
  protected override async onDelete(tx: Tx, scope: OrgScope, row: StoreItemEntity): Promise<void> {
    this.blobs.release(tx, scope, await this.items.packagesOf(tx, scope, row.store_item_id));
    await this.items.removeOrdinals(tx, scope, [row.ordinal]);
  }

  protected override onArchive(): Promise<Partial<StoreItemEntity>> {
    return Promise.resolve({ is_listed: false, can_acquire: false });
  }

  protected override async insert(tx: Tx, scope: OrgScope, row: StoreItemEntity): Promise<StoreItemEntity> {
    const inserted = await super.insert(tx, scope, row);
    await this.listings.put(tx, inserted);
    return inserted;
  }

  protected override async write(
    tx: Tx,
    scope: OrgScope,
    row: StoreItemEntity,
    patch: Partial<StoreItemEntity>,
    action: AuditAction,
  ): Promise<StoreItemEntity> {
    const written = await super.write(tx, scope, row, patch, action);
    if (changedColumns(row, pick(written, LISTED_FIELDS))) await this.listings.put(tx, written);
    return written;
  }
}

/** Returns the detail of the 412 for a policy. Clients may have sent the ETag of the item. */
const stalePolicy = ({ policy_generation: generation }: StoreItemEntity, ifMatch = ''): string =>
  ifMatch.includes('"item-')
    ? `If-Match takes the generation of the policy, not the ETag of the item. The generation is "${generation}".`
    : `The policy has changed. Its generation is now ${generation}. Read the item again before you replace its policy.`;

const notNewest = (id: string, { release_id }: StoreItemEntity) =>
  problem.conflict(`The release ${id} is not the newest. Review ${release_id} instead.`);

/** Returns the columns that texts set. */
export function textsOf(dto: PatchPublisherItemDto): Partial<StoreItemEntity> {
  const columns: Partial<StoreItemEntity> = {
    name: dto.name,
    category: dto.category,
    license: dto.license,
    tagline: dto.tagline,
    artwork: dto.artwork,
    topics: distinct(dto.topics),
    highlights: distinct(dto.highlights),
    version_label: dto.version_label,
    release_notes: dto.release_notes,
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}

const distinct = (texts: string[] | null | undefined): string[] | undefined =>
  texts === undefined ? undefined : [...new Set(texts ?? [])];

const releaseOf = (
  row: Omit<StoreItemEntity, 'ordinal'>,
  { principalId }: OrgScope,
  created_at: Date,
): ReleaseRow => ({
  ...pick(row, [...RELEASED_FIELDS, 'store_item_id', 'org_id', 'workspace_id']),
  created_at,
  created_by: principalId,
});

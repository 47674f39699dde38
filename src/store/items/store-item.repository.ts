import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import {
  Database,
  OrgScopedRepository,
  raw,
  type Sql,
  sql,
  type SqlExecutor,
  type Tx,
  Where,
} from '#platform/db';
import {
  listPage,
  type OrderedListQueryDto,
  PAGE_BYTES,
  PAGE_SIZE_DEFAULT,
  type RowPage,
} from '#platform/paging';
import type { PublisherItemsQueryDto } from './store-item-bodies.dto';
import { type ReleaseRow, StoreItemEntity } from './store-item.entity';

/** A page of the items of an organization. */
export interface OwnItems {
  rows: StoreItemEntity[];
  limit: number;
  offset: number;
  total: number;
}

/** The workspace of items. */
type ItemsPlace = Pick<Scope, 'orgId' | 'workspaceId'>;

/** The numbers of deleted items and releases, and the digests of their packages. */
interface DeletedItems {
  items: number;
  releases: number;
  sha256s: string[];
}

const RELEASE_COLUMNS = `release_id, publication_id, version_label, release_notes, sha256, size_bytes, file_count, manifest,
  signature, created_at, created_by`;

/** Items of a publisher and their releases. */
@Injectable()
export class StoreItemRepository extends OrgScopedRepository<StoreItemEntity> {
  constructor(database: Database) {
    super(database, StoreItemEntity, 'store_item_id');
  }

  /** Returns the ordinal of a new item. Concurrent publications in the organization wait until the transaction ends. */
  async nextOrdinal(tx: Tx, scope: OrgScope): Promise<number> {
    const [counted] = await tx.query<{ count: number }>(
      sql`INSERT INTO store_item_counts AS counts (org_id, count) VALUES (${scope.orgId}, 1)
        ON CONFLICT (org_id) DO UPDATE SET count = counts.count + 1 RETURNING count`,
    );
    return counted!.count;
  }

  /** Keeps the ordinals of the organization's items until the transaction ends. */
  async lockOrdinals(tx: Tx, { orgId }: Pick<OrgScope, 'orgId'>): Promise<void> {
    await tx.query(sql`SELECT 1 FROM store_item_counts WHERE org_id = ${orgId} FOR UPDATE`);
  }

  /** Takes items out of the ordinals, so that those of the others stay without gaps. */
  async removeOrdinals(
    tx: Tx,
    { orgId }: Pick<OrgScope, 'orgId'>,
    ordinals: readonly number[],
  ): Promise<void> {
    await tx.query(
      sql`UPDATE store_items SET ordinal = CASE WHEN ordinal = ANY (${ordinals}::bigint[]) THEN -ordinal ELSE ordinal - (
          SELECT count(*) FROM unnest(${ordinals}::bigint[]) removed (place) WHERE place < ordinal) END
        WHERE org_id = ${orgId} AND ordinal >= ${Math.min(...ordinals)}`,
    );
    await tx.query(
      sql`UPDATE store_item_counts SET count = count - ${ordinals.length}::bigint WHERE org_id = ${orgId}`,
    );
  }

  /** Deletes the newest items of a workspace with their releases, even those that other organizations have acquired. */
  async deleteIn(tx: Tx, { orgId, workspaceId }: ItemsPlace, limit: number): Promise<DeletedItems> {
    await this.lockOrdinals(tx, { orgId });
    const items = await tx.query<Pick<StoreItemEntity, 'store_item_id' | 'ordinal'>>(
      sql`SELECT store_item_id, ordinal FROM store_items WHERE workspace_id = ${workspaceId} AND org_id = ${orgId}
        ORDER BY ordinal DESC LIMIT ${limit} FOR UPDATE`,
    );
    if (items.length === 0) return { items: 0, releases: 0, sha256s: [] };
    const ids = items.map(({ store_item_id }) => store_item_id);
    const releases = await tx.query<{ sha256: string }>(
      sql`DELETE FROM store_releases WHERE store_item_id = ANY (${ids}::text[]) AND org_id = ${orgId} RETURNING sha256`,
    );
    await tx.query(
      sql`DELETE FROM store_items WHERE store_item_id = ANY (${ids}::text[]) AND org_id = ${orgId}`,
    );
    const ordinals = items.map(({ ordinal }) => ordinal);
    await this.removeOrdinals(tx, { orgId }, ordinals);
    const sha256s = [...new Set(releases.map(({ sha256 }) => sha256))];
    return { items: items.length, releases: releases.length, sha256s };
  }

  /** Counts the items of a workspace and their releases. */
  async countIn(tx: Tx, { orgId, workspaceId }: ItemsPlace): Promise<Omit<DeletedItems, 'sha256s'>> {
    const [row] = await tx.query<{ items: number; releases: number }>(
      sql`SELECT count(DISTINCT item.store_item_id) AS items, count(*) AS releases
        FROM store_items item JOIN store_releases USING (store_item_id)
        WHERE item.workspace_id = ${workspaceId} AND item.org_id = ${orgId}`,
    );
    return row!;
  }

  /** Tells whether a workspace of another organization has acquired an item. */
  async isAcquiredByOthers(tx: Tx, scope: OrgScope, itemId: string): Promise<boolean> {
    const acquired = await tx.query(
      sql`SELECT 1 FROM store_acquisitions WHERE store_item_id = ${itemId} AND org_id <> ${scope.orgId} LIMIT 1`,
    );
    return acquired.length > 0;
  }

  /** Returns the digests of the packages of an item. */
  async packagesOf(tx: Tx, scope: OrgScope, itemId: string): Promise<string[]> {
    const rows = await tx.query<{ sha256: string }>(
      sql`SELECT DISTINCT sha256 FROM store_releases WHERE store_item_id = ${itemId} AND org_id = ${scope.orgId}`,
    );
    return rows.map(({ sha256 }) => sha256);
  }

  /** Finds items that publish a resource and are not withdrawn. */
  async findPublishing(tx: Tx, scope: OrgScope, artifactId: string, limit: number): Promise<string[]> {
    const rows = await tx.query<{ store_item_id: string }>(
      sql`SELECT store_item_id FROM store_items
        WHERE artifact_id = ${artifactId} AND org_id = ${scope.orgId} AND archived_at IS NULL LIMIT ${limit}`,
    );
    return rows.map(({ store_item_id }) => store_item_id);
  }

  /** Marks items whose resource was deleted. */
  async markErased(tx: Tx, scope: OrgScope, artifactId: string): Promise<void> {
    await tx.query(
      sql`UPDATE store_items SET artifact_erased = true, generation = generation + 1, updated_at = ${new Date()}
        WHERE artifact_id = ${artifactId} AND org_id = ${scope.orgId}`,
    );
  }

  /**
   * Returns a page of the organization's items, newest first. A page is a range of ordinals, so it costs the same at any
   * offset. It ends early when it reaches `PAGE_BYTES`.
   */
  async listOwn(
    scope: OrgScope,
    { limit: requestedLimit, offset: requestedOffset, name }: PublisherItemsQueryDto,
  ): Promise<OwnItems> {
    const [limit, offset] = [requestedLimit ?? PAGE_SIZE_DEFAULT, requestedOffset ?? 0];
    if (name !== undefined) return this.listNamed(scope, name, limit, offset);
    const [counted] = await this.database.query<{ count: number }>(
      sql`SELECT count FROM store_item_counts WHERE org_id = ${scope.orgId}`,
    );
    const total = counted?.count ?? 0;
    const last = total - offset;
    if (limit === 0 || last <= 0) return { rows: [], limit, offset, total };
    const page = sql`SELECT * FROM store_items
      WHERE org_id = ${scope.orgId} AND ordinal BETWEEN ${last - limit + 1} AND ${last}
      ORDER BY ordinal DESC LIMIT ${limit}`;
    return { rows: await this.readOwn(page), limit, offset, total };
  }

  /** Returns a page of the organization's items with a name, newest first. */
  private async listNamed(scope: OrgScope, name: string, limit: number, offset: number): Promise<OwnItems> {
    const named = sql`FROM store_items WHERE org_id = ${scope.orgId} AND name COLLATE "C" = ${name}`;
    const [counted] = await this.database.query<{ count: number }>(sql`SELECT count(*) AS count ${named}`);
    const total = counted!.count;
    if (limit === 0 || offset >= total) return { rows: [], limit, offset, total };
    const page = sql`SELECT * ${named} ORDER BY ordinal DESC LIMIT ${limit} OFFSET ${offset}`;
    return { rows: await this.readOwn(page), limit, offset, total };
  }

  /** Reads a page of items. The page ends early when it reaches `PAGE_BYTES`. */
  private readOwn(page: Sql): Promise<StoreItemEntity[]> {
    return this.database.query<StoreItemEntity>(
      sql`SELECT * FROM (
        SELECT *, sum(bytes) OVER (ORDER BY ordinal DESC ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before
        FROM (${page}) page
      ) measured WHERE bytes_before < ${PAGE_BYTES} ORDER BY ordinal DESC`,
    );
  }

  /** Returns the organization that publishes an item, for platform principals. */
  async publisherOf(itemId: string): Promise<string | null> {
    const [item] = await this.database.query<{ org_id: string }>(
      sql`SELECT org_id FROM store_items WHERE store_item_id = ${itemId}`,
    );
    return item?.org_id ?? null;
  }

  /** Returns which of these organizations do not exist or are archived. */
  async unknownOrgs(on: SqlExecutor, orgIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await on.query<{ org_id: string }>(
      sql`SELECT org_id FROM unnest(${[...orgIds]}::text[]) AS ids(org_id)
        WHERE NOT EXISTS (
          SELECT FROM organizations o WHERE o.org_id = ids.org_id AND o.archived_at IS NULL
        )`,
    );
    return new Set(rows.map(({ org_id }) => org_id));
  }

  async insertRelease(tx: Tx, row: ReleaseRow): Promise<void> {
    await tx.query(
      sql`INSERT INTO store_releases (release_id, store_item_id, org_id, workspace_id, publication_id, version_label,
          release_notes, actions, manifest, agent_profile, sha256, size_bytes, file_count, signature, created_at, created_by)
        VALUES (${row.release_id}, ${row.store_item_id}, ${row.org_id}, ${row.workspace_id}, ${row.publication_id},
          ${row.version_label}, ${row.release_notes}, ${row.actions}, ${row.manifest.text},
          ${row.agent_profile?.text ?? null}, ${row.sha256}, ${row.size_bytes}, ${row.file_count}, ${row.signature},
          ${row.created_at}, ${row.created_by})`,
    );
  }

  /** Changes the texts of a release. Undefined means unchanged. */
  async updateReleaseTexts(
    tx: Tx,
    scope: OrgScope,
    { release_id, ...texts }: Partial<ReleaseRow> & Pick<ReleaseRow, 'release_id'>,
  ): Promise<void> {
    const { version_label: label, release_notes: notes } = texts;
    if (label === undefined && notes === undefined) return;
    await tx.query(
      sql`UPDATE store_releases
        SET version_label = CASE WHEN ${label !== undefined} THEN ${label ?? null} ELSE version_label END,
          release_notes = CASE WHEN ${notes !== undefined} THEN ${notes ?? null} ELSE release_notes END
        WHERE release_id = ${release_id} AND org_id = ${scope.orgId}`,
    );
  }

  /** Returns a release of an item that the caller may read. */
  async findRelease(
    { store_item_id, org_id }: Pick<StoreItemEntity, 'store_item_id' | 'org_id'>,
    releaseId: string,
    on: SqlExecutor = this.database,
  ): Promise<ReleaseRow | null> {
    const [row] = await on.query<ReleaseRow>(
      sql`SELECT store_item_id, org_id, workspace_id, actions, ${raw(RELEASE_COLUMNS)} FROM store_releases
        WHERE release_id = ${releaseId} AND store_item_id = ${store_item_id} AND org_id = ${org_id}`,
    );
    return row ?? null;
  }

  listReleases(
    { orgKey }: Pick<OrgScope, 'orgKey'>,
    itemId: string,
    query: OrderedListQueryDto,
  ): Promise<RowPage<ReleaseRow>> {
    return listPage<ReleaseRow>(
      this.database,
      {
        columns: RELEASE_COLUMNS,
        from: 'store_releases',
        where: new Where(orgKey).add(sql`store_item_id = ${itemId}`),
        id: 'release_id',
        createdAt: 'created_at',
        bytes: 'bytes',
      },
      query,
    );
  }
}

import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { Database, OrgScopedRepository, sql, type Tx } from '#platform/db';
import { listPage, type RowPage } from '#platform/paging';
import { whereReadable } from '../../resources';
import type { AcquisitionListQueryDto } from './acquisition.dto';
import { AcquisitionEntity } from './acquisition.entity';

/** The roles that may read acquisitions. */
export const ACQUISITION_READERS = ['viewer'] as const;

@Injectable()
export class AcquisitionRepository extends OrgScopedRepository<AcquisitionEntity> {
  constructor(database: Database) {
    super(database, AcquisitionEntity, 'acquisition_id');
  }

  /**
   * Reserves the acquisition of an item. Returns false if the workspace already has one. Waits for concurrent
   * transactions that reserve the same one.
   */
  async reserve(tx: Tx, row: AcquisitionEntity): Promise<boolean> {
    const reserved = await tx.query(
      sql`INSERT INTO store_acquisitions (acquisition_id, org_id, workspace_id, store_item_id, release_id, copies,
          generation, created_at, updated_at, created_by)
        VALUES (${row.acquisition_id}, ${row.org_id}, ${row.workspace_id}, ${row.store_item_id}, ${row.release_id},
          ${row.copies.text}, ${row.generation}, ${row.created_at}, ${row.updated_at}, ${row.created_by})
        ON CONFLICT ON CONSTRAINT store_acquisitions_once DO NOTHING RETURNING 1`,
    );
    return reserved.length > 0;
  }

  /** Returns the acquisition of an item in a workspace. */
  async findOf(tx: Tx, { orgId, workspaceId }: Scope, itemId: string): Promise<AcquisitionEntity | null> {
    const [row] = await tx.query<AcquisitionEntity>(
      sql`SELECT * FROM store_acquisitions
        WHERE workspace_id = ${workspaceId} AND store_item_id = ${itemId} AND org_id = ${orgId}`,
    );
    return row ?? null;
  }

  list(scope: OrgScope, query: AcquisitionListQueryDto): Promise<RowPage<AcquisitionEntity>> {
    const where = whereReadable(scope, query.workspace_id, ACQUISITION_READERS).addIndexed(
      query.store_item_id,
      (id) => sql`store_item_id = ${id}`,
    );
    return listPage<AcquisitionEntity>(this.database, { ...this.listed, where, bytes: 'bytes' }, query);
  }

  /** Returns the organization's acquisitions of an item. */
  async findOfItem(tx: Tx, { orgId }: OrgScope, itemId: string, limit: number): Promise<string[]> {
    const rows = await tx.query<{ acquisition_id: string }>(
      sql`SELECT acquisition_id FROM store_acquisitions
        WHERE store_item_id = ${itemId} AND org_id = ${orgId} LIMIT ${limit}`,
    );
    return rows.map(({ acquisition_id }) => acquisition_id);
  }

  /**
   * Returns the newest release of each item, by item: null for an item that is withdrawn or does not admit the caller's
   * organization. An item that was deleted is absent.
   */
  async latestReleases({ orgId }: OrgScope, itemIds: readonly string[]): Promise<Map<string, string | null>> {
    if (itemIds.length === 0) return new Map();
    const rows = await this.database.query<{ store_item_id: string; release_id: string | null }>(
      sql`SELECT store_item_id,
          CASE WHEN archived_at IS NULL AND (org_id = ${orgId} OR is_public OR ${orgId} = ANY (org_ids))
            THEN release_id END AS release_id
        FROM store_items WHERE store_item_id = ANY (${[...new Set(itemIds)]}::text[])`,
    );
    return new Map(rows.map(({ store_item_id, release_id }) => [store_item_id, release_id]));
  }
}

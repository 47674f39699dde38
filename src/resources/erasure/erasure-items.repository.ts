import { Injectable } from '@nestjs/common';
import { type Sql, sql, type Tx } from '#platform/db';
import type { ErasureRun } from './erasure-steps';

/** What an erasure item is. An `arrival` is no data: it says what had arrived when the erasure began. */
export type ErasureItemKind = 'trace' | 'session' | 'result' | 'record' | 'arrival';

/**
 * The ids of the data that an erasure erases, collected before the first row is erased. They outlive the rows, so that copies
 * that name them are found too. Deleted when the erasure ends.
 */
@Injectable()
export class ErasureItems {
  /** Adds the ids that a query selects, as its column `id`. Returns how many are new. */
  async add(
    tx: Tx,
    { erasureId, workspaceId }: Pick<ErasureRun, 'erasureId' | 'workspaceId'>,
    kind: ErasureItemKind,
    ids: Sql,
  ): Promise<number> {
    const added = await tx.query(
      sql`INSERT INTO erasure_items (erasure_id, workspace_id, item_kind, item_id)
        SELECT ${erasureId}, ${workspaceId}, ${kind}, id FROM (${ids}) selected
        ON CONFLICT DO NOTHING RETURNING 1`,
    );
    return added.length;
  }

  /** Adds ids. Returns how many are new. */
  addIds(
    tx: Tx,
    run: Pick<ErasureRun, 'erasureId' | 'workspaceId'>,
    kind: ErasureItemKind,
    ids: readonly string[],
  ): Promise<number> {
    return this.add(tx, run, kind, sql`SELECT unnest(${ids}::text[]) AS id`);
  }

  /** Removes ids of data that is not erased. */
  async remove(
    tx: Tx,
    { erasureId, workspaceId }: ErasureRun,
    kind: ErasureItemKind,
    ids: readonly string[],
  ): Promise<void> {
    if (ids.length === 0) return;
    await tx.query(
      sql`DELETE FROM erasure_items WHERE erasure_id = ${erasureId} AND workspace_id = ${workspaceId}
        AND item_kind = ${kind} AND item_id = ANY (${ids}::text[])`,
    );
  }

  /** Returns the next ids after a cursor, in their order. */
  async list(
    tx: Tx,
    { erasureId, workspaceId }: ErasureRun,
    kind: ErasureItemKind,
    after: string | null,
    limit: number,
  ): Promise<string[]> {
    const rows = await tx.query<{ item_id: string }>(
      sql`SELECT item_id FROM erasure_items
        WHERE erasure_id = ${erasureId} AND workspace_id = ${workspaceId} AND item_kind = ${kind}
          AND item_id > ${after ?? ''}
        ORDER BY item_id LIMIT ${limit}`,
    );
    return rows.map(({ item_id }) => item_id);
  }

  /** Deletes the items of an erasure, a batch at a time. Returns how many were deleted. */
  async clear(tx: Tx, erasureId: string, limit: number): Promise<number> {
    const deleted = await tx.query(
      sql`DELETE FROM erasure_items WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM erasure_items WHERE erasure_id = ${erasureId} LIMIT ${limit})) RETURNING 1`,
    );
    return deleted.length;
  }
}

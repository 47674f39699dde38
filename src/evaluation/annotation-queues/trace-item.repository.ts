import { Injectable } from '@nestjs/common';
import { prepared, sql, type Tx } from '#platform/db';

/** Items of annotation queues that are traces. */
@Injectable()
export class TraceItemRepository {
  /** Returns the traces that wait for people, each with a live queue, such as `annotation queue anq_…`. */
  findOpen(
    tx: Tx,
    workspaceId: string,
    traceIds: readonly string[],
  ): Promise<{ trace_id: string; use: string }[]> {
    return tx.query(
      prepared(
        'annotation-item.find-open-of-traces',
        sql`SELECT DISTINCT ON (i.trace_id) i.trace_id, 'annotation queue ' || i.queue_id AS use
          FROM annotation_items i JOIN annotation_queues q USING (queue_id)
          WHERE i.workspace_id = ${workspaceId} AND i.trace_id = ANY (${traceIds}::text[]) AND i.result_id IS NULL
            AND i.item_status <> 'completed' AND q.workspace_id = ${workspaceId} AND q.archived_at IS NULL`,
      ),
    );
  }

  /** Counts what `deleteUnscored` would delete. */
  async countUnscored(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<number> {
    const [row] = await tx.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM annotation_items
        WHERE workspace_id = ${workspaceId} AND trace_id = ANY (${traceIds}::text[]) AND result_id IS NULL AND scored_count = 0`,
    );
    return row!.count;
  }

  /**
   * Deletes the items of traces that nobody has scored. Leaves items that somebody is scoring or skipping at this moment: people
   * then see that the trace is gone. The queues are updated last, because every answer updates its queue. @returns their number
   */
  async deleteUnscored(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<number> {
    const items = await tx.query<{ item_id: string; queue_id: string; item_status: string }>(
      prepared(
        'annotation-item.lock-of-traces',
        sql`SELECT item_id, queue_id, item_status FROM annotation_items
          WHERE workspace_id = ${workspaceId} AND trace_id = ANY (${traceIds}::text[]) AND result_id IS NULL AND scored_count = 0
          ORDER BY item_id FOR UPDATE SKIP LOCKED`,
      ),
    );
    if (items.length === 0) return 0;
    const ids = items.map(({ item_id }) => item_id);
    await tx.query(
      sql`DELETE FROM annotation_places WHERE workspace_id = ${workspaceId} AND item_id = ANY (${ids}::text[])`,
    );
    await tx.query(
      sql`DELETE FROM annotation_answers WHERE workspace_id = ${workspaceId} AND item_id = ANY (${ids}::text[])`,
    );
    await tx.query(
      sql`DELETE FROM annotation_items WHERE workspace_id = ${workspaceId} AND item_id = ANY (${ids}::text[])`,
    );
    tx.beforeCommit(() => this.countDeleted(tx, workspaceId, items));
    return items.length;
  }

  private async countDeleted(
    tx: Tx,
    workspaceId: string,
    items: readonly { queue_id: string; item_status: string }[],
  ): Promise<void> {
    const queueIds = items.map(({ queue_id }) => queue_id);
    const skipped = items.map(({ item_status }) => item_status === 'skipped');
    await tx.query(
      sql`WITH locked AS MATERIALIZED (
          SELECT queue_id FROM annotation_queues WHERE workspace_id = ${workspaceId} AND queue_id = ANY (${queueIds}::text[])
          ORDER BY queue_id FOR UPDATE
        )
        UPDATE annotation_queues q SET item_count = item_count - d.items, skipped_count = skipped_count - d.skipped
        FROM (
          SELECT i.queue_id, count(*)::integer AS items, (count(*) FILTER (WHERE i.is_skipped))::integer AS skipped
          FROM unnest(${queueIds}::text[], ${skipped}::boolean[]) AS i(queue_id, is_skipped) GROUP BY i.queue_id
        ) d JOIN locked USING (queue_id)
        WHERE q.queue_id = d.queue_id AND q.workspace_id = ${workspaceId}`,
    );
  }
}

import { Injectable } from '@nestjs/common';
import { empty, sql, type Sql, type Tx } from '#platform/db';
import { type ErasureBatch, type ErasureItemKind, ErasureItems, type ErasureRun } from '../../resources';
import { andOfErasedTrace, columnOf, passItems } from './erasure-passes.sql';

const ITEMS = 500;
const KINDS = ['trace', 'session', 'result'] as const;

/** Erases the items of annotation queues, and the names of annotators. */
@Injectable()
export class AnnotationErasureRepository {
  constructor(private readonly items: ErasureItems) {}

  /**
   * Deletes the items that are about erased traces, sessions and results, or about results that name these traces and sessions,
   * and removes the traces from the sources of queues.
   */
  eraseItems(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, subject, isDryRun } = erasure;
    if (isDryRun) return this.countItems(tx, erasure);
    return passItems(this.items, tx, erasure, KINDS, cursor, async (kind, ids) => {
      // deleted traces leave the results that name them as they are
      const withoutResults = subject === 'traces' ? sql`AND result_id IS NULL` : empty;
      const queueIds = await this.deleteItems(
        tx,
        workspaceId,
        sql`SELECT item_id FROM annotation_items
          WHERE workspace_id = ${workspaceId} AND ${columnOf(kind)} = ANY (${ids}::text[]) ${withoutResults}
            ${andOfErasedTrace(erasure, kind, 'annotation_items')}`,
      );
      if (kind === 'trace') {
        await tx.query(
          sql`UPDATE annotation_queues SET source = jsonb_set(source::jsonb, '{trace_ids}', (
                SELECT coalesce(jsonb_agg(id), '[]') FROM jsonb_array_elements(source::jsonb -> 'trace_ids') AS id
                WHERE id #>> '{}' <> ALL (${ids}::text[])))::json
            WHERE workspace_id = ${workspaceId} AND source::jsonb -> 'trace_ids' ?| ${ids}::text[]`,
        );
      }
      return { annotation_items: queueIds.length };
    });
  }

  /** Counts what `eraseItems` would delete. Traces are counted with their items that nobody has scored. */
  private async countItems(tx: Tx, erasure: ErasureRun): Promise<ErasureBatch> {
    const { erasureId, workspaceId, subject } = erasure;
    const isErased = (kind: ErasureItemKind): Sql =>
      sql`EXISTS (SELECT FROM erasure_items e WHERE e.erasure_id = ${erasureId} AND e.workspace_id = ${workspaceId}
        AND e.item_kind = ${kind} AND e.item_id = i.${columnOf(kind)})${andOfErasedTrace(erasure, kind, 'i')}`;
    const withoutResults = subject === 'traces' ? sql`AND i.result_id IS NULL` : empty;
    const [row] = await tx.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM annotation_queues q JOIN annotation_items i USING (workspace_id, queue_id)
        WHERE q.workspace_id = ${workspaceId} ${withoutResults}
          AND CASE WHEN i.result_id IS NULL AND ${isErased('trace')} THEN i.scored_count > 0
                   ELSE ${isErased('trace')} OR ${isErased('session')} OR ${isErased('result')} END`,
    );
    return { counts: { annotation_items: row!.count }, next: null };
  }

  /** Deletes items of the queues over an experiment. */
  async eraseItemsOfExperiment(tx: Tx, { workspaceId, id }: ErasureRun): Promise<ErasureBatch> {
    const deleted = await this.deleteItems(
      tx,
      workspaceId,
      sql`SELECT i.item_id FROM annotation_queues q JOIN annotation_items i USING (queue_id)
        WHERE q.workspace_id = ${workspaceId} AND q.source ->> 'experiment_id' = ${id} LIMIT ${ITEMS}`,
    );
    return { counts: { annotation_items: deleted.length }, next: deleted.length < ITEMS ? null : 'items' };
  }

  /** Removes the name of an annotator, one queue at a time. What was done under it counts as done without a name. */
  async eraseAuthor(tx: Tx, { workspaceId, id, isDryRun }: ErasureRun): Promise<ErasureBatch> {
    if (isDryRun) return { counts: {}, next: null };
    const [annotator] = await tx.query<{ queue_id: string; principal_id: string }>(
      sql`SELECT a.queue_id, a.principal_id FROM annotation_queues q JOIN annotation_annotators a USING (queue_id)
        WHERE q.workspace_id = ${workspaceId} AND a.author = ${id} LIMIT 1`,
    );
    if (!annotator) return { counts: {}, next: null };
    const { queue_id, principal_id } = annotator;
    const isTheirs = sql`workspace_id = ${workspaceId} AND principal_id = ${principal_id} AND author = ${id}`;
    const items = sql`SELECT item_id FROM annotation_items WHERE queue_id = ${queue_id}`;
    await tx.query(
      sql`UPDATE annotation_places
        SET author = CASE WHEN is_scored THEN '' END, principal_id = CASE WHEN is_scored THEN principal_id END,
            claimed_until = NULL
        WHERE item_id IN (${items}) AND ${isTheirs}`,
    );
    // of two answers to an item, the one without a name stays
    await tx.query(
      sql`DELETE FROM annotation_answers a
        WHERE a.item_id IN (${items}) AND ${isTheirs} AND EXISTS (
          SELECT FROM annotation_answers other WHERE other.item_id = a.item_id AND other.principal_id = a.principal_id
            AND other.author = '')`,
    );
    await tx.query(
      sql`UPDATE annotation_answers SET author = '' WHERE item_id IN (${items}) AND ${isTheirs}`,
    );
    await tx.query(
      sql`WITH removed AS (
          DELETE FROM annotation_annotators WHERE queue_id = ${queue_id} AND ${isTheirs}
          RETURNING workspace_id, queue_id, principal_id, scored_count, skipped_count, created_at, last_active_at)
        INSERT INTO annotation_annotators AS a (workspace_id, queue_id, principal_id, author, scored_count, skipped_count,
                                                created_at, last_active_at)
        SELECT workspace_id, queue_id, principal_id, '', scored_count, skipped_count, created_at, last_active_at FROM removed
        ON CONFLICT (queue_id, principal_id, author) DO UPDATE
          SET scored_count = a.scored_count + excluded.scored_count,
              skipped_count = a.skipped_count + excluded.skipped_count,
              last_active_at = greatest(a.last_active_at, excluded.last_active_at)`,
    );
    return { counts: {}, next: 'annotators' };
  }

  /** Deletes items with their places and answers, and counts their queues again. Returns the queue of each deleted item. */
  private async deleteItems(
    tx: Tx,
    workspaceId: string,
    selected: ReturnType<typeof sql>,
  ): Promise<string[]> {
    const deleted = await tx.query<{ queue_id: string }>(
      sql`WITH deleted AS (
          DELETE FROM annotation_items WHERE item_id IN (${selected}) AND workspace_id = ${workspaceId}
          RETURNING queue_id, item_status
        ), counted AS (
          UPDATE annotation_queues q
          SET item_count = item_count - gone.items, completed_count = completed_count - gone.completed,
              skipped_count = skipped_count - gone.skipped
          FROM (SELECT queue_id, count(*)::integer AS items,
                       (count(*) FILTER (WHERE item_status = 'completed'))::integer AS completed,
                       (count(*) FILTER (WHERE item_status = 'skipped'))::integer AS skipped
                FROM deleted GROUP BY queue_id) gone
          WHERE q.queue_id = gone.queue_id AND q.workspace_id = ${workspaceId}
        ) SELECT queue_id FROM deleted`,
    );
    return deleted.map((row) => row.queue_id);
  }
}

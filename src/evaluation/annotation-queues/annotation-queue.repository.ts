import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  BulkColumns,
  Database,
  prepared,
  sql,
  type Tx,
  Where,
  WorkspaceScopedRepository,
} from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import type { AnnotationItemRow } from './annotation-item.entity';
import type { AnnotationQueueListQueryDto, ClaimCounts } from './annotation-queue.dto';
import { AnnotationQueueEntity } from './annotation-queue.entity';

const NEW_ITEM = ['item_id', 'trace_id', 'session_id', 'experiment_id', 'result_id', 'case_id'] as const;

/** A new item of a queue. Ids ascend in the order of work. */
export type NewItem = Pick<AnnotationItemRow, (typeof NEW_ITEM)[number]>;

const ITEMS = new BulkColumns<NewItem>(
  NEW_ITEM.map((name) => ({ name, type: 'text', value: (item) => item[name] })),
);

@Injectable()
export class AnnotationQueueRepository extends WorkspaceScopedRepository<AnnotationQueueEntity> {
  constructor(database: Database) {
    super(database, AnnotationQueueEntity, 'queue_id', { indexed: { name: 'name COLLATE "C"' } });
  }

  list(scope: Scope, query: AnnotationQueueListQueryDto): Promise<RowPage<AnnotationQueueEntity>> {
    const where = new Where(scope.key)
      .addIndexed(query.name, (name) => sql`name COLLATE "C" = ${name}`)
      .addSearch(query.q);
    return listPage<AnnotationQueueEntity>(
      this.database,
      { ...this.listed, where, sorts: BY_NAME, bytes: 'bytes' },
      query,
    );
  }

  /** Inserts the items of a new queue. Each item gets one place for each person who has to score it. */
  async insertItems(
    tx: Tx,
    { workspaceId }: Scope,
    { queue_id, scores_per_item, created_at }: AnnotationQueueEntity,
    items: readonly NewItem[],
  ): Promise<void> {
    await tx.query(
      sql`INSERT INTO annotation_items (${ITEMS.columnList}, workspace_id, queue_id, created_at, updated_at)
        SELECT ${ITEMS.columnList}, ${workspaceId}, ${queue_id}, ${created_at}, ${created_at}
        FROM ${ITEMS.table(items, 'item')}`,
    );
    await tx.query(
      sql`INSERT INTO annotation_places (item_id, place, workspace_id, queue_id)
        SELECT item.item_id, place, ${workspaceId}, ${queue_id}
        FROM ${ITEMS.table(items, 'item')} CROSS JOIN generate_series(1, ${scores_per_item}::integer) AS place`,
    );
  }

  /** Counts the claimed items of queues. Reads only claims that have not expired, at most one for each person. */
  async countClaims({ workspaceId }: Scope, queueIds: readonly string[]): Promise<Map<string, ClaimCounts>> {
    const rows = await this.database.query<ClaimCounts & { queue_id: string }>(
      prepared(
        'annotation-queue.count-claims',
        sql`SELECT q.queue_id, claims.claimed_count::integer, claims.claimed_skipped_count::integer
          FROM unnest(${queueIds}::text[]) AS q(queue_id) CROSS JOIN LATERAL (
            SELECT count(*) AS claimed_count,
                   count(*) FILTER (WHERE (SELECT i.item_status FROM annotation_items i
                                           WHERE i.item_id = p.item_id AND i.workspace_id = ${workspaceId}) = 'skipped')
                     AS claimed_skipped_count
            FROM (SELECT DISTINCT item_id FROM annotation_places
                  WHERE queue_id = q.queue_id AND workspace_id = ${workspaceId}
                    AND NOT is_scored AND claimed_until > now() OFFSET 0) p
          ) claims`,
      ),
    );
    return new Map(rows.map(({ queue_id, ...counts }) => [queue_id, counts]));
  }
}

import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, empty, firstRow, prepared, raw, sql, type Tx, Where } from '#platform/db';
import { listPage, type RowPage } from '#platform/paging';
import type { AnnotationItemListQueryDto, AnnotatorListQueryDto } from './annotation-item.dto';
import type {
  AnnotationItemRow,
  Annotator,
  AnnotatorRow,
  Claim,
  ListedItemRow,
} from './annotation-item.entity';
import { LAST_CORRECTION } from './queue-agreement.repository';

/**
 * When the last claim of an item `i` ends. OFFSET 0 makes PostgreSQL read the places of the item first. Without it, the
 * planner would go through all claims for each item.
 */
const CLAIMED_UNTIL = `(SELECT max(p.claimed_until) FROM (
    SELECT claimed_until, is_scored FROM annotation_places
    WHERE item_id = i.item_id AND workspace_id = i.workspace_id OFFSET 0
  ) p WHERE NOT p.is_scored AND p.claimed_until > now())`;

const ITEM_COLUMNS = `i.item_id, i.workspace_id, i.queue_id, i.trace_id, i.session_id, i.experiment_id, i.result_id,
  i.case_id, i.scored_count, i.skip_count, i.completed_at, i.created_at, i.updated_at`;

/** The scores of an answer `a`, with corrections. */
const ANSWERED_SCORES = `(
    SELECT coalesce(json_agg(json_build_object('scorer_id', last.scorer_id, 'score_id', last.score_id,
        'score', last.score, 'label', last.label) ORDER BY answered.place), '[]'::json)
    FROM (SELECT a.workspace_id, score_id, place FROM unnest(a.score_ids) WITH ORDINALITY AS ids(score_id, place)) answered
    CROSS JOIN LATERAL ${LAST_CORRECTION} last)`;

const LISTED_COLUMNS = `${ITEM_COLUMNS}, ${CLAIMED_UNTIL} AS claimed_until,
  CASE WHEN ${CLAIMED_UNTIL} IS NULL THEN i.item_status ELSE 'in_progress' END AS item_status,
  (SELECT coalesce(json_agg(json_build_object('created_by', a.principal_id, 'author', nullif(a.author, ''),
      'outcome', a.outcome, 'reason', a.reason, 'scores', ${ANSWERED_SCORES},
      'created_at', to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
      ORDER BY a.created_at, a.principal_id, a.author), '[]'::json)
   FROM (SELECT * FROM annotation_answers
         WHERE item_id = i.item_id AND workspace_id = i.workspace_id OFFSET 0) a) AS answers`;

/** A person's work on an item. */
export interface Work {
  queueId: string;
  itemId: string;
  by: Annotator;
}

/** How a person's work changes the counts of an item. */
export interface ItemChange {
  /** Change of the number of people who have scored the item. */
  scored: 0 | 1;
  /** Change of the number of people who have skipped the item; -1 if a score replaces a skip. */
  skipped: -1 | 0 | 1;
}

/** Stores the items of queues, their claims and answers, and the people who work on them. */
@Injectable()
export class AnnotationItemRepository {
  constructor(private readonly database: Database) {}

  /** Finds an item. In a transaction, locks it until the transaction ends. */
  find({ workspaceId }: Scope, queueId: string, itemId: string, tx?: Tx): Promise<AnnotationItemRow | null> {
    const read = sql`SELECT ${raw(ITEM_COLUMNS)}, i.item_status FROM annotation_items i
      WHERE i.item_id = ${itemId} AND i.queue_id = ${queueId} AND i.workspace_id = ${workspaceId}`;
    return tx
      ? firstRow<AnnotationItemRow>(tx, 'annotation-item.lock', sql`${read} FOR UPDATE`)
      : firstRow<AnnotationItemRow>(this.database, 'annotation-item.find', read);
  }

  list(scope: Scope, queueId: string, query: AnnotationItemListQueryDto): Promise<RowPage<ListedItemRow>> {
    const { item_status: status } = query;
    const where = new Where(scope.key, 'i').add(sql`i.queue_id = ${queueId}`);
    if (status === 'in_progress') {
      // The claims that have not expired are few, so they are read first.
      where.addScattered(sql`i.item_id = ANY (ARRAY(SELECT p.item_id FROM annotation_places p
        WHERE p.queue_id = ${queueId} AND p.workspace_id = ${scope.workspaceId} AND NOT p.is_scored
          AND p.claimed_until > now()))`);
    } else {
      where.addIndexed(status, (status) => sql`i.item_status = ${status}`);
      if (status && status !== 'completed') where.add(sql`${raw(CLAIMED_UNTIL)} IS NULL`);
    }
    return listPage<ListedItemRow>(
      this.database,
      {
        columns: LISTED_COLUMNS,
        from: 'annotation_items i',
        where,
        id: 'i.item_id',
        createdAt: 'i.created_at',
        defaultSort: 'created_at',
      },
      query,
    );
  }

  listAnnotators(
    scope: Scope,
    queueId: string,
    query: AnnotatorListQueryDto,
  ): Promise<RowPage<AnnotatorRow>> {
    return listPage<AnnotatorRow>(
      this.database,
      {
        columns:
          'annotator_no, principal_id, author, scored_count, skipped_count, created_at, last_active_at',
        from: 'annotation_annotators',
        where: new Where(scope.key).add(sql`queue_id = ${queueId}`),
        id: 'annotator_no',
        createdAt: 'created_at',
        idType: 'int8',
        defaultSort: 'created_at',
      },
      query,
    );
  }

  /** Locks the row of a person until the transaction ends. Returns the last item that the person claimed; empty for none. */
  async lockAnnotator(tx: Tx, { workspaceId }: Scope, queueId: string, by: Annotator): Promise<string> {
    const row = await firstRow<{ last_item_id: string }>(
      tx,
      'annotation-annotator.lock',
      sql`INSERT INTO annotation_annotators (queue_id, principal_id, author, workspace_id, created_at, last_active_at)
        VALUES (${queueId}, ${by.principalId}, ${by.author}, ${workspaceId}, now(), now())
        ON CONFLICT (queue_id, principal_id, author) DO UPDATE SET last_active_at = now()
        RETURNING last_item_id`,
    );
    return row!.last_item_id;
  }

  /** Renews a person's claim, even an expired one if nobody else has taken it. Returns null without a claim. */
  renew(
    tx: Tx,
    { workspaceId }: Scope,
    queueId: string,
    by: Annotator,
    leaseMs: number,
  ): Promise<Claim | null> {
    return firstRow<Claim>(
      tx,
      'annotation-place.renew',
      sql`UPDATE annotation_places SET claimed_until = now() + ${leaseMs} * interval '1 millisecond',
          result_version = ${RESULT_VERSION}
        WHERE queue_id = ${queueId} AND principal_id = ${by.principalId} AND author = ${by.author}
          AND NOT is_scored AND workspace_id = ${workspaceId}
        RETURNING item_id, claimed_until`,
    );
  }

  /** Counts the items of a queue that an account has claimed. Other callers for this account wait until the transaction ends. */
  async countClaims(
    tx: Tx,
    { workspaceId }: Scope,
    queueId: string,
    { principalId }: Annotator,
  ): Promise<number> {
    const key = JSON.stringify(['annotation-claims', queueId, principalId]);
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
    const row = await firstRow<{ count: number }>(
      tx,
      'annotation-place.count-claims',
      sql`SELECT count(*) AS count FROM annotation_places
        WHERE queue_id = ${queueId} AND workspace_id = ${workspaceId} AND principal_id = ${principalId}
          AND NOT is_scored AND claimed_until > now()`,
    );
    return row!.count;
  }

  /**
   * Claims the first item after `after` that needs another person and that this person has neither scored nor skipped. The
   * caller holds the lock of the person's row. Returns null if no place is left.
   *
   * @param locked whether to skip places that concurrent requests are claiming, or to wait until these have ended
   */
  claim(
    tx: Tx,
    { workspaceId }: Scope,
    queueId: string,
    by: Annotator,
    { after, leaseMs, locked }: { after: string; leaseMs: number; locked: 'skip' | 'wait' },
  ): Promise<Claim | null> {
    // PostgreSQL looks up scalar subqueries by key for each place, whatever the statistics say.
    return firstRow<Claim>(
      tx,
      `annotation-place.claim-${locked}`,
      sql`WITH claimed AS (
          UPDATE annotation_places SET principal_id = ${by.principalId}, author = ${by.author},
            claimed_until = now() + ${leaseMs} * interval '1 millisecond', result_version = ${RESULT_VERSION}
          WHERE (item_id, place) = (
            SELECT p.item_id, p.place FROM annotation_places p
            WHERE p.queue_id = ${queueId} AND p.workspace_id = ${workspaceId} AND NOT p.is_scored
              AND p.item_id > ${after} AND (p.claimed_until IS NULL OR p.claimed_until <= now())
              AND (SELECT true FROM annotation_answers a
                   WHERE a.item_id = p.item_id AND a.workspace_id = ${workspaceId}
                     AND a.principal_id = ${by.principalId} AND a.author = ${by.author} LIMIT 1) IS NULL
            ORDER BY p.item_id, p.place LIMIT 1 FOR UPDATE ${locked === 'skip' ? raw('SKIP LOCKED') : empty})
          RETURNING item_id, claimed_until
        ), updated AS (
          UPDATE annotation_annotators SET last_item_id = claimed.item_id FROM claimed
          WHERE queue_id = ${queueId} AND principal_id = ${by.principalId} AND author = ${by.author}
            AND workspace_id = ${workspaceId}
        )
        SELECT * FROM claimed`,
    );
  }

  /**
   * Returns when the first item left for this person may be free: when the next claim of somebody else ends, or now for an item
   * that was released or claimed a moment ago. Null if no item is left.
   */
  async nextRelease({ workspaceId }: Scope, queueId: string, by: Annotator): Promise<Date | null> {
    const isLeft = sql`p.queue_id = ${queueId} AND p.workspace_id = ${workspaceId} AND NOT p.is_scored
      AND (SELECT true FROM annotation_answers a
           WHERE a.item_id = p.item_id AND a.workspace_id = ${workspaceId}
             AND a.principal_id = ${by.principalId} AND a.author = ${by.author} LIMIT 1) IS NULL`;
    const row = await firstRow<{ free_at: Date | null }>(
      this.database,
      'annotation-place.next-release',
      sql`SELECT coalesce(
        (SELECT p.claimed_until FROM annotation_places p WHERE ${isLeft} AND p.claimed_until > now()
         ORDER BY p.claimed_until LIMIT 1),
        (SELECT now() FROM annotation_places p WHERE ${isLeft} LIMIT 1)) AS free_at`,
    );
    return row!.free_at;
  }

  /**
   * Fills a place of an item: the person's own, else one that is free or whose claim has expired. The caller holds the lock of
   * the item. Returns the version of the result that the person's claim showed; null for a trace, and without a claim. Returns
   * undefined if others have all places.
   */
  async fill(tx: Tx, { workspaceId }: Scope, { itemId, by }: Work): Promise<number | null | undefined> {
    const filled = await firstRow<{ result_version: number | null }>(
      tx,
      'annotation-place.fill',
      sql`UPDATE annotation_places place
        SET principal_id = ${by.principalId}, author = ${by.author}, claimed_until = NULL, is_scored = true
        FROM (
          SELECT p.item_id, p.place, p.result_version,
                 (p.principal_id = ${by.principalId} AND p.author = ${by.author}) IS TRUE AS is_own
          FROM annotation_places p
          WHERE p.item_id = ${itemId} AND p.workspace_id = ${workspaceId} AND NOT p.is_scored
            AND (p.claimed_until IS NULL OR p.claimed_until <= now()
                 OR p.principal_id = ${by.principalId} AND p.author = ${by.author})
          ORDER BY is_own DESC, p.place LIMIT 1 FOR UPDATE) selected_place
        WHERE place.workspace_id = ${workspaceId}
          AND place.item_id = selected_place.item_id AND place.place = selected_place.place
        RETURNING CASE WHEN selected_place.is_own THEN selected_place.result_version END AS result_version`,
    );
    return filled ? filled.result_version : undefined;
  }

  /** Releases the person's claim of an item, if any. */
  async release(tx: Tx, { workspaceId }: Scope, { itemId, by }: Work): Promise<void> {
    await tx.query(
      prepared(
        'annotation-place.release',
        sql`UPDATE annotation_places SET principal_id = NULL, author = NULL, claimed_until = NULL
          WHERE item_id = ${itemId} AND workspace_id = ${workspaceId} AND NOT is_scored
            AND principal_id = ${by.principalId} AND author = ${by.author}`,
      ),
    );
  }

  /** Returns what a person did with an item; null for nothing. The caller holds the lock of the item. */
  async outcomeOf(
    tx: Tx,
    { workspaceId }: Scope,
    { itemId, by }: Work,
  ): Promise<'scored' | 'skipped' | null> {
    const row = await firstRow<{ outcome: 'scored' | 'skipped' }>(
      tx,
      'annotation-answer.outcome',
      sql`SELECT outcome FROM annotation_answers WHERE item_id = ${itemId} AND workspace_id = ${workspaceId}
        AND principal_id = ${by.principalId} AND author = ${by.author}`,
    );
    return row && row.outcome;
  }

  /** Stores what a person did with an item: the scores, or the reason to skip it. Scores replace a skip. */
  async answer(
    tx: Tx,
    { workspaceId }: Scope,
    { queueId, itemId, by }: Work,
    { scoreIds, reason }: { scoreIds: string[]; reason: null } | { scoreIds: null; reason: string },
  ): Promise<void> {
    const outcome = scoreIds === null ? 'skipped' : 'scored';
    await tx.query(
      prepared(
        'annotation-answer.store',
        sql`INSERT INTO annotation_answers (item_id, principal_id, author, workspace_id, queue_id, outcome, reason,
                                            score_ids, created_at)
          VALUES (${itemId}, ${by.principalId}, ${by.author}, ${workspaceId}, ${queueId}, ${outcome}, ${reason},
                  ${scoreIds}::text[], now())
          ON CONFLICT (item_id, principal_id, author) DO UPDATE
            SET outcome = excluded.outcome, reason = excluded.reason, score_ids = excluded.score_ids,
                created_at = excluded.created_at`,
      ),
    );
  }

  /**
   * Adds an answer to the counts of the item, the person and the queue. The caller holds the locks of the item and the
   * person. Returns false, and leaves the queue unchanged, if the queue has been archived in the meantime.
   */
  async count(
    tx: Tx,
    { workspaceId }: Scope,
    { queueId, itemId, by }: Work,
    { scored, skipped }: ItemChange,
  ): Promise<boolean> {
    const counted = await tx.query(
      prepared(
        'annotation-item.count',
        sql`WITH before AS MATERIALIZED (
            SELECT i.item_status, q.scores_per_item,
                   i.scored_count + ${scored}::integer AS scored_count, i.skip_count + ${skipped}::integer AS skip_count
            FROM annotation_items i, annotation_queues q
            WHERE i.item_id = ${itemId} AND q.queue_id = ${queueId} AND i.workspace_id = ${workspaceId}
              AND q.workspace_id = ${workspaceId}
          ), after AS MATERIALIZED (
            SELECT *, CASE WHEN scored_count >= scores_per_item THEN 'completed' WHEN skip_count > 0 THEN 'skipped'
                           ELSE 'pending' END AS new_status FROM before
          ), item AS (
            UPDATE annotation_items i SET scored_count = after.scored_count, skip_count = after.skip_count,
              item_status = after.new_status, updated_at = now(),
              completed_at = CASE WHEN after.new_status = 'completed' THEN now() END
            FROM after WHERE i.item_id = ${itemId} AND i.workspace_id = ${workspaceId}
          ), person AS (
            UPDATE annotation_annotators SET scored_count = scored_count + ${scored}::integer,
              skipped_count = skipped_count + ${skipped}::integer
            WHERE queue_id = ${queueId} AND principal_id = ${by.principalId} AND author = ${by.author}
              AND workspace_id = ${workspaceId}
          )
          UPDATE annotation_queues q SET
            completed_count = completed_count + (new_status = 'completed')::integer,
            skipped_count = skipped_count + (new_status = 'skipped')::integer - (item_status = 'skipped')::integer
          FROM after WHERE q.queue_id = ${queueId} AND q.workspace_id = ${workspaceId} AND q.archived_at IS NULL
          RETURNING 1`,
      ),
    );
    return counted.length > 0;
  }
}

/** The current version of the result that a place belongs to. Null for a trace. */
const RESULT_VERSION = raw(`(SELECT r.version FROM annotation_items i
  JOIN results r ON r.workspace_id = i.workspace_id AND r.experiment_id = i.experiment_id AND r.result_id = i.result_id
  WHERE i.item_id = annotation_places.item_id AND i.workspace_id = annotation_places.workspace_id)`);

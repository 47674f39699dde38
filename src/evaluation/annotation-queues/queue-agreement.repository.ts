import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, raw, sql } from '#platform/db';

const COLUMNS = `s.workspace_id, s.scorer_id, s.score_id, s.score, s.label, s.output_sha256, s.superseded_by_score_id,
  s.superseded_at`;

/**
 * The last correction of a score `answered`, or the score itself. Looks up each correction by key, because without statistics
 * the planner would go through all scores of the scorer.
 */
export const LAST_CORRECTION = `(
    WITH RECURSIVE chain AS (
      SELECT ${COLUMNS}, s.output_sha256 AS answered_output FROM scores s
      WHERE s.workspace_id = answered.workspace_id AND s.score_id = answered.score_id
      UNION ALL
      SELECT correction.*, chain.answered_output FROM chain CROSS JOIN LATERAL (
        SELECT ${COLUMNS} FROM scores s
        WHERE s.workspace_id = chain.workspace_id AND s.score_id = chain.superseded_by_score_id OFFSET 0) correction
    ) SELECT * FROM chain WHERE superseded_by_score_id IS NULL)`;

/** A person's score of an item. */
export interface RatingRow {
  item_id: string;
  /** Null if the score does not count. */
  score: number | null;
  label: string | null;
}

/** Reads the scores by the annotators of a queue. */
@Injectable()
export class QueueAgreementRepository {
  constructor(private readonly database: Database) {}

  /**
   * Reads the current scores of answers, item by item in the order of work. The score is null if its result was replaced, or
   * if its scale differs from the answer's.
   *
   * @param index index of the scorer in the queue's `scorer_ids`
   */
  ratings(scope: Scope, queueId: string, index: number, limit: number): Promise<RatingRow[]> {
    return this.database.query<RatingRow>(
      sql`SELECT answered.item_id, rating.score, rating.label
        FROM (SELECT item_id, workspace_id, score_ids[${index + 1}::integer] AS score_id FROM annotation_answers
              WHERE queue_id = ${queueId} AND workspace_id = ${scope.workspaceId} AND outcome = 'scored'
              ORDER BY item_id LIMIT ${limit} OFFSET 0) answered
        LEFT JOIN LATERAL (
          SELECT score, label FROM ${raw(LAST_CORRECTION)} last
          WHERE superseded_at IS NULL AND output_sha256 = answered_output OFFSET 0) rating ON true
        ORDER BY answered.item_id`,
    );
  }
}

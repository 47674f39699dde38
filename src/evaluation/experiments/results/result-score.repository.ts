import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { prepared, raw, sql, type Tx } from '#platform/db';
import { toRawJson } from '#platform/json';
import type { ScoreRow } from './scores';

/**
 * Ends an `INSERT INTO result_scores AS kept` of a score that the service or people gave. It replaces the earlier one by the
 * same version. If it comes after the experiment was finalized, the result goes on showing the earlier one. A running
 * experiment keeps a score that is shown, unless the new one is written to the result: another scorer of that name gave it.
 */
export const REPLACES_COUNTED = raw(`
  ON CONFLICT (experiment_id, scorer, scorer_version, result_id, source) DO UPDATE
  SET scorer_id = excluded.scorer_id, score = excluded.score,
      is_shown = excluded.is_shown OR (excluded.is_late AND kept.is_shown),
      frozen_score = CASE WHEN excluded.is_late AND NOT kept.is_late THEN kept.score ELSE kept.frozen_score END,
      is_late = kept.is_late OR (excluded.is_late AND
        (kept.score, kept.scorer_id) IS DISTINCT FROM (excluded.score, excluded.scorer_id))
  WHERE excluded.is_shown OR NOT kept.is_shown OR excluded.is_late`);

/** The scores that clients upload, as rows of `result_scores`. The results are locked, or new. */
@Injectable()
export class ResultScoreRepository {
  /** Stores the scores of new or cleared results. */
  async insert(tx: Tx, scope: Scope, experimentId: string, rows: readonly ScoreRow[]): Promise<void> {
    if (rows.length === 0) return;
    await tx.query(
      prepared(
        'result-score.insert',
        sql`INSERT INTO result_scores (experiment_id, workspace_id, result_id, scorer, scorer_version, scorer_id, score,
                                       source, is_shown)
          SELECT ${experimentId}, ${scope.workspaceId}, result_id, scorer, scorer_version, scorer_id, score, 'client', true
          FROM json_to_recordset(${toRawJson(rows)}::json) AS given(
            result_id text, scorer text, scorer_version integer, scorer_id text, score double precision)`,
      ),
    );
  }

  /** Removes all scores of these results, whoever made them. */
  async clear(
    tx: Tx,
    { workspaceId }: Scope,
    experimentId: string,
    resultIds: readonly string[],
  ): Promise<void> {
    if (resultIds.length === 0) return;
    await tx.query(
      sql`DELETE FROM result_scores
        WHERE experiment_id = ${experimentId} AND result_id = ANY (${resultIds}::text[])
          AND workspace_id = ${workspaceId}`,
    );
  }

  /** Stores scores of one result in place of all others under the same names, whoever made them. */
  async replace(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    resultId: string,
    rows: readonly ScoreRow[],
  ): Promise<void> {
    if (rows.length === 0) return;
    await tx.query(
      sql`DELETE FROM result_scores
        WHERE experiment_id = ${experimentId} AND result_id = ${resultId} AND workspace_id = ${scope.workspaceId}
          AND scorer = ANY (${rows.map((row) => row.scorer)}::text[])`,
    );
    await this.insert(tx, scope, experimentId, rows);
  }
}

import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { prepared, raw, sql, type Tx } from '#platform/db';
import { toRawJson } from '#platform/json';
import type { ScoreRow } from './scores';

/**
 * The end of an `INSERT INTO result_scores AS existing` of a hosted or human score. The score replaces the earlier one by
 * the same scorer version. If it arrives after the experiment was finalized, the result still shows the earlier one. While
 * the experiment runs, only a shown score replaces a shown score, because a different scorer with the same name gave that
 * one.
 */
export const REPLACE_SCORE = raw(`
  ON CONFLICT (experiment_id, scorer, scorer_version, result_id, source) DO UPDATE
  SET scorer_id = excluded.scorer_id, score = excluded.score,
      is_shown = excluded.is_shown OR (excluded.is_late AND existing.is_shown),
      finalized_score = CASE WHEN excluded.is_late AND NOT existing.is_late THEN existing.score
                             ELSE existing.finalized_score END,
      is_late = existing.is_late OR (excluded.is_late AND
        (existing.score, existing.scorer_id) IS DISTINCT FROM (excluded.score, excluded.scorer_id))
  WHERE excluded.is_shown OR NOT existing.is_shown OR excluded.is_late`);

/** The scores that clients upload with results. The results are locked, or new. */
@Injectable()
export class ResultScoreRepository {
  /** Stores the scores of new or cleared results. */
  async insert(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    rows: readonly ScoreRow[],
    at: Date,
  ): Promise<void> {
    if (rows.length === 0) return;
    await tx.query(
      prepared(
        'result-score.insert',
        sql`WITH input AS MATERIALIZED (
            SELECT * FROM json_to_recordset(${toRawJson(rows)}::json) AS input(
              score_id text, result_id text, result_version integer, case_id text, trace_id text, session_id text,
              scorer text, scorer_version integer, scorer_id text, score double precision, label text, comment text,
              metadata json)
          ), named_scorer AS MATERIALIZED (
            SELECT name.*, scorer.* FROM (SELECT DISTINCT scorer, scorer_id AS input_id FROM input) name
            LEFT JOIN LATERAL (
              SELECT scorer_id, scorer_kind FROM scorers s
              WHERE s.scorer_id = name.input_id AND s.workspace_id = ${scope.workspaceId}
              UNION ALL
              SELECT scorer_id, scorer_kind FROM scorers s
              WHERE s.name = name.scorer AND s.archived_at IS NULL AND name.input_id IS NULL
                AND s.scorer_kind <> 'human' AND s.workspace_id = ${scope.workspaceId}
            ) scorer ON true
          ), inserted AS (
            INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source,
                                target_kind, trace_id, session_id, experiment_id, result_id, result_version, case_id,
                                score, label, comment, metadata, created_at, created_by)
            SELECT score_id, ${scope.workspaceId}, named_scorer.scorer_id, scorer_version, named_scorer.scorer_kind,
                   scorer, 'client', 'result', trace_id, session_id, ${experimentId}, result_id, result_version, case_id,
                   score, label, comment, metadata, ${at}::timestamptz, ${scope.principalId}
            FROM input JOIN named_scorer USING (scorer)
            WHERE named_scorer.input_id IS NOT DISTINCT FROM input.scorer_id
          )
          INSERT INTO result_scores (experiment_id, workspace_id, result_id, scorer, scorer_version, scorer_id, score,
                                     source, is_shown)
          SELECT ${experimentId}, ${scope.workspaceId}, result_id, scorer, coalesce(scorer_version, 0), scorer_id, score,
                 'client', true
          FROM input`,
      ),
    );
  }

  /** Removes all scores of replaced results, regardless of their source. The list of scores keeps them as superseded. */
  async clear(
    tx: Tx,
    { workspaceId }: Scope,
    experimentId: string,
    resultIds: readonly string[],
    at: Date,
  ): Promise<void> {
    if (resultIds.length === 0) return;
    await tx.query(
      sql`WITH superseded AS (
          UPDATE scores SET superseded_at = ${at}
          WHERE workspace_id = ${workspaceId} AND result_id = ANY (${resultIds}::text[]) AND superseded_at IS NULL
        )
        DELETE FROM result_scores
        WHERE experiment_id = ${experimentId} AND result_id = ANY (${resultIds}::text[])
          AND workspace_id = ${workspaceId}`,
    );
  }

  /**
   * Replaces all scores of one result under the names of the given scores, regardless of their source. Scores of
   * people and of end users stay current in the list of scores.
   */
  async replace(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    resultId: string,
    rows: readonly ScoreRow[],
    at: Date,
  ): Promise<void> {
    if (rows.length === 0) return;
    const names = rows.map((row) => row.scorer);
    await tx.query(
      sql`WITH superseded AS (
          UPDATE scores SET superseded_at = ${at}, superseded_by_score_id = new_score.score_id
          FROM unnest(${names}::text[], ${rows.map((row) => row.score_id)}::text[]) AS new_score(scorer, score_id)
          WHERE scores.workspace_id = ${scope.workspaceId} AND scores.result_id = ${resultId}
            AND scores.scorer_name = new_score.scorer AND scores.source IN ('client', 'hosted')
            AND scores.superseded_at IS NULL
        )
        DELETE FROM result_scores
        WHERE experiment_id = ${experimentId} AND result_id = ${resultId} AND workspace_id = ${scope.workspaceId}
          AND scorer = ANY (${names}::text[])`,
    );
    await this.insert(tx, scope, experimentId, rows, at);
  }
}

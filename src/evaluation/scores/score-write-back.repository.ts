import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { raw, type Sql, sql, type Tx } from '#platform/db';
import { type RawJson, toRawJson } from '#platform/json';
import {
  type LockedResult,
  type NewResult,
  REPLACE_SCORE,
  type ScoreWriteBack,
  type WrittenBackScores,
} from '../experiments';
import type { NewScore } from './score.repository';

/** The human scores to write back: those by versions of one scorer with the same output. */
interface HumanScoreWriteBack {
  scorerId: string;
  /** The scorer's name, which is the score's name in results. */
  name: string;
  /** Digest of the definition's output. */
  outputSha256: string;
  minAnnotations: number;
  at: Date;
}

/**
 * The current human scores of a row `target` with `id`. OFFSET keeps further conditions out of the lookup: without
 * statistics, PostgreSQL would choose another index for them, and read all scores of a scorer. The workspace is a subquery,
 * because PostgreSQL might choose any index for a workspace that is not in its statistics.
 */
const scoresOfTarget = (workspaceId: string): Sql =>
  sql`(SELECT * FROM scores own WHERE own.workspace_id = (SELECT ${workspaceId}::text) AND own.target_id = target.id
    AND own.source = 'human' AND own.superseded_at IS NULL OFFSET 0)`;

/** Aggregates of one scorer's human scores of a result. Means are exact, as `numeric`. */
const AGGREGATES = raw(`count(*) AS annotation_count, max(scorer_version) AS scorer_version,
       avg(score::text::numeric) AS mean,
       CASE WHEN count(label) = count(*) AND min(label) = max(label) THEN min(label) END AS label,
       (array_agg(comment ORDER BY score_id DESC) FILTER (WHERE comment IS NOT NULL))[1] AS comment,
       (array_agg(score_id ORDER BY score_id DESC))[1:100] AS score_ids`);

/** The mean in a result's `scores`. It is 0 if it is too small for a double. */
const MEAN = raw('CASE WHEN abs(aggregated.mean) < 2.5e-324 THEN 0 ELSE aggregated.mean::float8 END');

/** The entry in a result's `score_details`. */
const DETAIL = raw(`json_strip_nulls(json_build_object(
  'metadata', json_build_object('annotation_count', aggregated.annotation_count, 'score_ids', aggregated.score_ids),
  'comment', aggregated.comment, 'label', aggregated.label,
  'scorer_id', aggregated.scorer_id, 'scorer_version', aggregated.scorer_version))`);

/**
 * Writes human scores back into results, in the transaction that stores the score or the result.
 *
 * Statements are not prepared, because a plan made for small tables takes 25 times as long for large ones. Scores and results
 * are looked up by the keys that the rows carry. `OFFSET 0` and MATERIALIZED keep PostgreSQL from replacing these keys by
 * parameters: it expects no rows for a workspace that is not in its statistics, and would read the whole table for each key.
 */
@Injectable()
export class ScoreWriteBackRepository implements ScoreWriteBack {
  /**
   * Writes the human scores of the traces and sessions that new results reference into these results, as if the newest
   * human score of each output were recorded now. A score of the same name that the client uploaded stays. If versions of a
   * scorer differ in their output, the highest version counts. Scores by archived scorers are not written. Returns the
   * results that changed.
   *
   * The caller's transaction holds the locks of `lockForUpload`, so that no score is added in the meantime.
   */
  intoNewResults(
    tx: Tx,
    { workspaceId }: Scope,
    experimentId: string,
    results: readonly NewResult[],
  ): Promise<WrittenBackScores[]> {
    return tx.query<WrittenBackScores>(
      sql`WITH target_score AS MATERIALIZED (
          SELECT new.result_id, s.scorer_id, s.output_sha256, s.created_by, s.author, s.score_id, s.scorer_version,
                 s.score, s.label, s.comment
          FROM (SELECT ${workspaceId}::text AS workspace_id, ids.*
                FROM unnest(${results.map((one) => one.result_id)}::text[],
                            ${results.map((one) => one.trace_id)}::text[],
                            ${results.map((one) => one.session_id)}::text[])
                  AS ids(result_id, trace_id, session_id) OFFSET 0) new
          CROSS JOIN LATERAL (VALUES ('trace', new.trace_id), ('session', new.session_id)) AS target(kind, id)
          CROSS JOIN LATERAL ${scoresOfTarget(workspaceId)} s WHERE s.target_kind = target.kind
        ), annotation AS (
          SELECT DISTINCT ON (result_id, scorer_id, output_sha256, created_by, author) * FROM target_score
          ORDER BY result_id, scorer_id, output_sha256, created_by, author, score_id DESC
        ), aggregated AS (
          SELECT result_id, scorer_id, ${AGGREGATES},
                 (array_agg(scorer_version ORDER BY score_id DESC))[1] AS newest_version
          FROM annotation GROUP BY result_id, scorer_id, output_sha256
        ), final_score AS MATERIALIZED (
          SELECT DISTINCT ON (aggregated.result_id, aggregated.scorer_id) ${workspaceId}::text AS workspace_id,
                 ${experimentId}::text AS experiment_id, aggregated.result_id, aggregated.scorer_id,
                 aggregated.scorer_version, scorer.name, ${MEAN} AS mean, ${DETAIL} AS detail
          FROM aggregated
          JOIN scorers scorer ON scorer.workspace_id = ${workspaceId} AND scorer.scorer_id = aggregated.scorer_id
            AND scorer.archived_at IS NULL
          JOIN scorer_versions version ON version.workspace_id = ${workspaceId}
            AND version.scorer_id = aggregated.scorer_id AND version.scorer_version = aggregated.newest_version
          WHERE aggregated.annotation_count >= coalesce((version.definition ->> 'min_annotations')::numeric, 1)
          ORDER BY aggregated.result_id, aggregated.scorer_id, aggregated.scorer_version DESC
        ), new_scores AS MATERIALIZED (
          SELECT workspace_id, experiment_id, result_id, jsonb_object_agg(final_score.name, final_score.mean) AS scores,
                 json_object_agg(final_score.name, final_score.detail ORDER BY final_score.name) AS score_details
          FROM final_score JOIN results r USING (workspace_id, experiment_id, result_id)
          WHERE NOT r.scores ? final_score.name GROUP BY workspace_id, experiment_id, result_id
        ), inserted AS (
          INSERT INTO result_scores (experiment_id, scorer, scorer_version, result_id, source, workspace_id, scorer_id,
                                     score, is_shown)
          SELECT experiment_id, final_score.name, final_score.scorer_version, result_id, 'human', workspace_id,
                 final_score.scorer_id, final_score.mean, NOT r.scores ? final_score.name
          FROM final_score JOIN results r USING (workspace_id, experiment_id, result_id)
        )
        UPDATE results SET scores = results.scores || new_scores.scores,
          score_details = (
            SELECT json_object_agg(key, value) FROM (
              SELECT key, value FROM json_each(results.score_details)
              UNION ALL SELECT key, value FROM json_each(new_scores.score_details)) merged)
        FROM new_scores
        WHERE results.workspace_id = new_scores.workspace_id AND results.experiment_id = new_scores.experiment_id
          AND results.result_id = new_scores.result_id
        RETURNING results.result_id, results.scores, results.score_details`,
    );
  }

  /**
   * Writes human scores back if enough people have scored: into the results themselves while their experiment is running,
   * and into `result_scores` at any time. `lockForScores` locks the results before the scores are read, so that when two
   * people score at once, the second transaction finds both scores.
   *
   * Counts each annotator's newest current score of the result's current version, its trace or its session. A score under
   * the scorer's name stays, unless the same or an older version of this scorer wrote it back to this result. The trace and
   * session ids are passed instead of read again, because the planner knows how many rows arrays have.
   */
  async intoResults(
    tx: Tx,
    { workspaceId }: Scope,
    results: readonly LockedResult[],
    { scorerId, name, outputSha256, minAnnotations, at }: HumanScoreWriteBack,
  ): Promise<void> {
    if (results.length === 0) return;
    const scoreName = sql`${name}::text`;
    await tx.query(
      sql`WITH annotation AS (
          SELECT DISTINCT ON (locked_result.result_id, s.created_by, s.author)
                 locked_result.workspace_id, locked_result.experiment_id, locked_result.result_id,
                 locked_result.is_finalized, locked_result.scorer_id, s.score_id, s.scorer_version, s.score, s.label, s.comment
          FROM (SELECT ${workspaceId}::text AS workspace_id, ${scorerId}::text AS scorer_id, ids.*
                FROM unnest(${results.map((one) => one.experiment_id)}::text[],
                            ${results.map((one) => one.result_id)}::text[],
                            ${results.map((one) => one.version)}::integer[],
                            ${results.map((one) => one.is_finalized)}::boolean[],
                            ${results.map((one) => one.trace_id)}::text[],
                            ${results.map((one) => one.session_id)}::text[])
                  AS ids(experiment_id, result_id, version, is_finalized, trace_id, session_id) OFFSET 0) locked_result
          CROSS JOIN LATERAL (VALUES ('result', locked_result.result_id), ('trace', locked_result.trace_id),
                                     ('session', locked_result.session_id)) AS target(kind, id)
          CROSS JOIN LATERAL ${scoresOfTarget(workspaceId)} s
          WHERE s.scorer_id = locked_result.scorer_id AND s.target_kind = target.kind AND s.output_sha256 = ${outputSha256}
            AND (target.kind <> 'result' OR s.result_version = locked_result.version)
          ORDER BY locked_result.result_id, s.created_by, s.author, s.score_id DESC
        ), aggregated AS MATERIALIZED (
          SELECT workspace_id, experiment_id, result_id, is_finalized, scorer_id, ${AGGREGATES} FROM annotation
          GROUP BY workspace_id, experiment_id, result_id, is_finalized, scorer_id HAVING count(*) >= ${minAnnotations}
        ), updated AS MATERIALIZED (
          UPDATE results SET updated_at = ${at},
            scores = results.scores || jsonb_build_object(${scoreName}, ${MEAN}),
            score_details = (
              SELECT json_object_agg(key, value) FROM (
                SELECT key, value FROM json_each(results.score_details) WHERE key <> ${scoreName}
                UNION ALL SELECT ${scoreName}, ${DETAIL}) merged)
          FROM aggregated
          WHERE results.workspace_id = aggregated.workspace_id AND results.experiment_id = aggregated.experiment_id
            AND results.result_id = aggregated.result_id AND NOT aggregated.is_finalized
            AND (NOT results.scores ? ${scoreName}
                 OR EXISTS (
                   SELECT FROM scores s
                   WHERE s.workspace_id = results.workspace_id AND s.scorer_id = ${scorerId}
                     AND s.score_id = results.score_details -> ${scoreName} #>> '{metadata,score_ids,0}'
                     AND s.target_id IN (results.result_id, results.trace_id, results.session_id)
                     AND (results.score_details -> ${scoreName} ->> 'scorer_version')::integer
                         <= aggregated.scorer_version))
          RETURNING results.workspace_id, results.experiment_id, results.result_id, aggregated.scorer_version,
                    ${scoreName} AS scorer
        ), hidden AS (
          UPDATE result_scores s SET is_shown = false FROM updated
          WHERE s.workspace_id = updated.workspace_id AND s.experiment_id = updated.experiment_id
            AND s.result_id = updated.result_id AND s.scorer = updated.scorer AND s.is_shown
            AND (s.source, s.scorer_version) <> ('human', updated.scorer_version)
        )
        INSERT INTO result_scores AS existing (experiment_id, scorer, scorer_version, result_id, source, workspace_id,
                                               scorer_id, score, is_shown, is_late)
        SELECT experiment_id, ${scoreName}, scorer_version, result_id, 'human', workspace_id, scorer_id, ${MEAN},
               result_id IN (SELECT result_id FROM updated), is_finalized
        FROM aggregated
        ${REPLACE_SCORE}`,
    );
  }

  /**
   * Stores a client's score of a locked result in `result_scores`. While the experiment is running, also writes it to the
   * result, unless the result shows a hosted or a human score under this name.
   */
  async writeClientScore(
    tx: Tx,
    { workspaceId }: Scope,
    { experiment_id, result_id, is_finalized }: LockedResult,
    row: NewScore,
  ): Promise<void> {
    const name = sql`${row.scorer_name}::text`;
    const version = sql`${row.scorer_version ?? 0}::integer`;
    const isResult = sql`workspace_id = ${workspaceId} AND experiment_id = ${experiment_id} AND result_id = ${result_id}`;
    await tx.query(
      sql`WITH updated AS (
          UPDATE results SET updated_at = ${row.created_at},
            scores = scores || jsonb_build_object(${name}, ${row.score}::float8),
            score_details = (
              SELECT coalesce(json_object_agg(key, value), '{}') FROM (
                SELECT key, value FROM json_each(score_details) WHERE key <> ${name}
                UNION ALL SELECT ${name}, detail FROM (SELECT ${detailOf(row)}::json AS detail) d
                WHERE detail::text <> '{}') merged)
          WHERE ${isResult} AND NOT ${is_finalized}::boolean AND (NOT scores ? ${name} OR EXISTS (
            SELECT FROM result_scores s
            WHERE s.workspace_id = results.workspace_id AND s.experiment_id = results.experiment_id
              AND s.result_id = results.result_id AND s.scorer = ${name} AND s.is_shown AND s.source = 'client'))
          RETURNING 1
        ), hidden AS (
          UPDATE result_scores SET is_shown = false
          WHERE ${isResult} AND scorer = ${name} AND is_shown AND (source, scorer_version) <> ('client', ${version})
            AND EXISTS (SELECT FROM updated)
        )
        INSERT INTO result_scores AS existing (experiment_id, scorer, scorer_version, result_id, source, workspace_id,
                                               scorer_id, score, is_shown, is_late)
        VALUES (${experiment_id}, ${name}, ${version}, ${result_id}, 'client', ${workspaceId}, ${row.scorer_id},
                ${row.score}::float8, EXISTS (SELECT FROM updated), ${is_finalized}::boolean)
        ${REPLACE_SCORE}`,
    );
  }
}

/** The entry of a client's score in a result's `score_details`. */
const detailOf = ({ label, comment, metadata, scorer_id, scorer_version }: NewScore): RawJson =>
  toRawJson({
    ...(metadata.text !== '{}' && { metadata }),
    ...(comment !== null && { comment }),
    ...(label !== null && { label }),
    ...(scorer_id !== null && { scorer_id }),
    ...(scorer_version !== null && { scorer_version }),
  });

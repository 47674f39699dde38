import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { RawJson } from '#platform/json';
import { FOLDED, LANDED_MEAN, landedDetail, nameLockOf } from './human-landing.repository';

/** A result that is being uploaded, as far as people's scores reach it. */
export interface UploadedResult {
  result_id: string;
  trace_id: string | null;
  session_id: string | null;
}

/** A result that scores landed in, and all the scores that it has then. */
export interface LandedScores {
  result_id: string;
  scores: Record<string, number | null>;
  score_details: RawJson;
}

/*
 * An upload takes its locks and looks for scores within statements that it runs anyway: it is what the service does most,
 * and each statement more would cost the upload of a single result a tenth.
 */

/**
 * An expression that holds parts of what results name (`namePartsOf`) until the transaction ends, against people's scores
 * of it: whichever of an upload and a score is first, the other waits for it and sees what it did. Uploads do not wait
 * for each other. @param workspace its parameter. @param parts theirs, an array of integers.
 */
export const holdNames = (workspace: string, parts: string): string => `(
      SELECT count(pg_advisory_xact_lock_shared(${nameLockOf(workspace, 'part')}))
      FROM unnest(${parts}) AS named(part))`;

/**
 * A condition: people have scored the trace or the session that a result names. It is certain in a statement that begins
 * after the names are held.
 */
export const isScored = (result: string): string => `EXISTS (
      SELECT FROM human_scores s WHERE s.workspace_id = ${result}.workspace_id
        AND s.target_id IN (${result}.trace_id, ${result}.session_id)
        AND s.target_kind <> 'result' AND s.superseded_by_score_id IS NULL)`;

/**
 * What people have said of the traces and sessions that new results name, as `LAND` of a score does it: as if the newest
 * score by each output were given now. Of several outputs of one scorer the one of the highest version lands, because
 * it replaces the others and they do not replace it. An archived scorer takes no scores, and lands none.
 *
 * Not prepared, as `LAND` is not. Scores and results are looked up by keys that rows carry (`LAND`, too).
 */
const LAND_EARLIER = `WITH said AS MATERIALIZED (
      SELECT uploaded.result_id, s.scorer_id, s.output_sha256, s.created_by, s.score_id, s.scorer_version, s.score,
             s.choice, s.comment
      FROM (SELECT $1::text AS workspace_id, given.*
            FROM unnest($3::text[], $4::text[], $5::text[]) AS given(result_id, trace_id, session_id) OFFSET 0) uploaded
      CROSS JOIN LATERAL (VALUES ('trace', uploaded.trace_id), ('session', uploaded.session_id)) AS target(kind, id)
      JOIN human_scores s ON s.workspace_id = uploaded.workspace_id AND s.target_kind = target.kind
        AND s.target_id = target.id AND s.target_kind <> 'result' AND s.superseded_by_score_id IS NULL
    ), noted AS (
      INSERT INTO human_score_experiments (experiment_id, score_id, workspace_id)
      SELECT DISTINCT $2, score_id, $1 FROM said ORDER BY score_id ON CONFLICT DO NOTHING
    ), opinion AS (
      SELECT DISTINCT ON (result_id, scorer_id, output_sha256, created_by) * FROM said
      ORDER BY result_id, scorer_id, output_sha256, created_by, score_id DESC
    ), folded AS (
      SELECT result_id, scorer_id, ${FOLDED},
             (array_agg(scorer_version ORDER BY score_id DESC))[1] AS newest_version
      FROM opinion GROUP BY result_id, scorer_id, output_sha256
    ), landing AS MATERIALIZED (
      SELECT DISTINCT ON (folded.result_id, folded.scorer_id) $1::text AS workspace_id, $2::text AS experiment_id,
             folded.result_id, scorer.name, ${LANDED_MEAN} AS mean, ${landedDetail('folded.scorer_id')} AS detail
      FROM folded
      JOIN scorers scorer ON scorer.workspace_id = $1 AND scorer.scorer_id = folded.scorer_id
        AND scorer.archived_at IS NULL
      JOIN scorer_versions version ON version.workspace_id = $1 AND version.scorer_id = folded.scorer_id
        AND version.scorer_version = folded.newest_version
      WHERE folded.annotation_count >= coalesce((version.definition ->> 'min_annotations')::numeric, 1)
      ORDER BY folded.result_id, folded.scorer_id, folded.scorer_version DESC
    ), landed AS MATERIALIZED (
      SELECT workspace_id, experiment_id, result_id, jsonb_object_agg(landing.name, landing.mean) AS scores,
             json_object_agg(landing.name, landing.detail ORDER BY landing.name) AS score_details
      FROM landing JOIN results r USING (workspace_id, experiment_id, result_id)
      WHERE NOT r.scores ? landing.name GROUP BY workspace_id, experiment_id, result_id
    )
    UPDATE results SET scores = results.scores || landed.scores,
      score_details = (
        SELECT json_object_agg(key, value) FROM (
          SELECT key, value FROM json_each(results.score_details)
          UNION ALL SELECT key, value FROM json_each(landed.score_details)) merged)
    FROM landed
    WHERE results.workspace_id = landed.workspace_id AND results.experiment_id = landed.experiment_id
      AND results.result_id = landed.result_id
    RETURNING results.result_id, results.scores, results.score_details`;

/** Where results meet what people said before of the traces and sessions that they name: in the upload's transaction. */
@Injectable()
export class UploadLandingRepository {
  /**
   * Puts into results that were just written what people have said of what they name, where enough of them have; a score
   * of the same name that they have already stays. @returns those that something landed in, as they are now.
   */
  land(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    results: readonly UploadedResult[],
  ): Promise<LandedScores[]> {
    return tx.query<LandedScores>(LAND_EARLIER, [
      scope.workspaceId,
      experimentId,
      results.map((result) => result.result_id),
      results.map((result) => result.trace_id),
      results.map((result) => result.session_id),
    ]);
  }
}

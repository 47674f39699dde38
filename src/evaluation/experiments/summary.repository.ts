import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';

/** Results that are folded into a summary, in order of arrival. */
export const SUMMARY_RESULTS_MAX = 10_000;
/** Scorers that a summary tells, in the order of their names: a result has room for 100 names of its own. */
export const SUMMARY_SCORERS_MAX = 1_000;
/** Records of a dataset that a snapshot holds. */
export const SNAPSHOT_RECORDS_MAX = 10_000;

export interface ScorerMean {
  scorer: string;
  mean: number;
  count: number;
}

export interface ScorerReference {
  scorer: string;
  scorer_id: string;
  scorer_version: number;
}

/** The results that are folded in, of the experiment $1 in the workspace $2. Their ids sort by arrival. */
const FOLDED = `folded AS (
  SELECT result_id, scores, score_details FROM results WHERE experiment_id = $1 AND workspace_id = $2
  ORDER BY result_id LIMIT ${SUMMARY_RESULTS_MAX}
)`;

/**
 * Mean and count of each scorer's scores that are not null, over the results that are folded in. Means are divided to
 * 400 decimals and told as text, for `toScorerMean` to round, because PostgreSQL divides to 16 digits and fails on what
 * is too small for a double. Only those that are told are divided: 10,000 results have room for a million names.
 *
 * @param condition on `score.key`, the scorer's name
 * @param order of `scorer` and `count`
 */
export const meansOf = (
  order: string,
  limit: number,
  condition = 'true',
): string => `WITH ${FOLDED}, summed AS MATERIALIZED (
    SELECT score.key COLLATE "C" AS scorer, sum(score.value::numeric) AS total, count(*) AS count
    FROM folded CROSS JOIN LATERAL jsonb_each(folded.scores) AS score
    WHERE jsonb_typeof(score.value) = 'number' AND ${condition}
    GROUP BY score.key COLLATE "C" ORDER BY ${order} LIMIT ${limit}
  )
  SELECT scorer, ((total + 0::numeric(500, 400)) / count)::text AS mean, count FROM summed ORDER BY ${order}`;

export type ScorerMeanRow = Omit<ScorerMean, 'mean'> & { mean: string };

/** The double nearest to the true mean. */
export const toScorerMean = ({ scorer, mean, count }: ScorerMeanRow): ScorerMean => ({
  scorer,
  mean: Number(mean),
  count,
});

/** What is read of an experiment's results and records as it is finalized, under its exclusive lock. */
@Injectable()
export class SummaryRepository {
  /**
   * Mean and count of each scorer's scores that are not null, over the results that are folded in; of one scorer more
   * than a summary tells.
   */
  async means(tx: Tx, scope: Scope, experimentId: string): Promise<ScorerMean[]> {
    const rows = await tx.query<ScorerMeanRow>(meansOf('scorer', SUMMARY_SCORERS_MAX + 1), [
      experimentId,
      scope.workspaceId,
    ]);
    return rows.map(toScorerMean);
  }

  /** The scorer that each name stands for; where versions differ, the one of the last result to arrive. Also one more. */
  references(tx: Tx, scope: Scope, experimentId: string): Promise<ScorerReference[]> {
    return tx.query<ScorerReference>(
      `WITH ${FOLDED}
       SELECT DISTINCT ON (detail.key COLLATE "C") detail.key AS scorer, detail.value->>'scorer_id' AS scorer_id,
              (detail.value->>'scorer_version')::integer AS scorer_version
       FROM folded CROSS JOIN LATERAL json_each(folded.score_details) AS detail
       WHERE folded.score_details::text <> '{}' AND detail.value->>'scorer_id' IS NOT NULL
         AND detail.value->>'scorer_version' IS NOT NULL
       ORDER BY detail.key COLLATE "C", folded.result_id DESC LIMIT ${SUMMARY_SCORERS_MAX + 1}`,
      [experimentId, scope.workspaceId],
    );
  }

  /** Whether there are more results than are folded in. */
  async isTruncated(tx: Tx, scope: Scope, experimentId: string): Promise<boolean> {
    const rows = await tx.query(
      `SELECT 1 FROM results WHERE experiment_id = $1 AND workspace_id = $2 OFFSET ${SUMMARY_RESULTS_MAX} LIMIT 1`,
      [experimentId, scope.workspaceId],
    );
    return rows.length > 0;
  }

  /** The live records of a dataset as of one of its revisions, each with the version it had then. */
  recordsAsOf(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    revision: number,
  ): Promise<{ dataset_record_id: string; version: number }[]> {
    return tx.query(
      `SELECT r.dataset_record_id, v.version
       FROM records r
       CROSS JOIN LATERAL (
         SELECT version FROM record_versions
         WHERE dataset_id = r.dataset_id AND dataset_record_id = r.dataset_record_id AND revision <= $3
         ORDER BY revision DESC LIMIT 1
       ) v
       WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.created_revision <= $3
         AND (r.archived_revision IS NULL OR r.archived_revision > $3)
       ORDER BY r.dataset_record_id LIMIT ${SNAPSHOT_RECORDS_MAX}`,
      [scope.workspaceId, datasetId, revision],
    );
  }

  /** Rows and digest of a CSV version. */
  async csvVersion(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    version: number,
  ): Promise<{ row_count: number; sha256: string }> {
    const [row] = await tx.query<{ row_count: number; sha256: string }>(
      'SELECT row_count, sha256 FROM dataset_versions WHERE workspace_id = $1 AND dataset_id = $2 AND version = $3',
      [scope.workspaceId, datasetId, version],
    );
    if (!row) throw new Error(`The dataset has no version ${version}, which an experiment pins.`);
    return row;
  }
}

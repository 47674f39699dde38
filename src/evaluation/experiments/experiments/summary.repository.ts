import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { raw, type Sql, sql, type Tx } from '#platform/db';

/** Maximum number of results that a summary covers, in order of arrival. */
export const SUMMARY_RESULTS_MAX = 10_000;
/** Maximum number of scorers in a summary, by name. A result may have 100 names that no other result has. */
export const SUMMARY_SCORERS_MAX = 1_000;
/** Maximum number of means of one summary that the search by `score` covers. */
const SEARCHABLE_MEANS_MAX = 1_000;

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

/** Numbers of cases that one scorer covers. */
export interface ScorerCaseCounts {
  scorer: string;
  /** Cases with a score. */
  scored_count: number;
  /** Cases without a score, but with a deliberate null: the result has no error. */
  null_count: number;
}

/** The results that a summary covers. Their ids sort by arrival. */
const coveredResults = ({ workspaceId }: Scope, experimentId: string): Sql => sql`covered_result AS (
  SELECT result_id, scores, score_details, error IS NOT NULL AS has_error, is_expected,
         -- without a dataset, trials share their trial_group, as in comparisons
         coalesce(CASE WHEN NOT is_expected THEN trial_group END, dataset_record_id, case_id) AS case_key
  FROM results WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}
  ORDER BY result_id LIMIT ${raw(String(SUMMARY_RESULTS_MAX))}
)`;

/**
 * Mean and count of each scorer's scores that are not null, over the results that a summary covers. Means are computed to
 * 400 decimals and returned as text, because PostgreSQL divides to 16 digits and fails on values too small for a
 * double. Only the means within `limit` are divided, because 10,000 results can have a million names.
 */
const meansOf = (scope: Scope, experimentId: string, limit: number): Sql =>
  sql`WITH ${coveredResults(scope, experimentId)}, scorer_sum AS MATERIALIZED (
    SELECT score.key COLLATE "C" AS scorer, sum(score.value::numeric) AS total, count(*) AS count
    FROM covered_result CROSS JOIN LATERAL jsonb_each(covered_result.scores) AS score
    WHERE jsonb_typeof(score.value) = 'number'
    GROUP BY score.key COLLATE "C" ORDER BY scorer LIMIT ${raw(String(limit))}
  )
  SELECT scorer, ((total + 0::numeric(500, 400)) / count)::text AS mean, count FROM scorer_sum ORDER BY scorer`;

type MeanRow = Omit<ScorerMean, 'mean'> & { mean: string };

/** `Number` rounds to the double nearest to the true mean. */
const toMeans = (rows: MeanRow[]): ScorerMean[] => rows.map((row) => ({ ...row, mean: Number(row.mean) }));

/** Computes the summaries of experiments' results, and stores their means. */
@Injectable()
export class SummaryRepository {
  /** Computes the means of scorers, by name, for a new summary. Returns one more than a summary holds if there are more. */
  async newMeans(tx: Tx, scope: Scope, experimentId: string): Promise<ScorerMean[]> {
    return toMeans(await tx.query(meansOf(scope, experimentId, SUMMARY_SCORERS_MAX + 1)));
  }

  /** Returns the scorer behind each name, one more than a summary holds. The newest result decides on the version. */
  references(tx: Tx, scope: Scope, experimentId: string): Promise<ScorerReference[]> {
    return tx.query<ScorerReference>(
      sql`WITH ${coveredResults(scope, experimentId)}
        SELECT DISTINCT ON (detail.key COLLATE "C") detail.key AS scorer, detail.value->>'scorer_id' AS scorer_id,
               (detail.value->>'scorer_version')::integer AS scorer_version
        FROM covered_result CROSS JOIN LATERAL json_each(covered_result.score_details) AS detail
        WHERE covered_result.score_details::text <> '{}' AND detail.value->>'scorer_id' IS NOT NULL
          AND detail.value->>'scorer_version' IS NOT NULL
        ORDER BY detail.key COLLATE "C", covered_result.result_id DESC LIMIT ${raw(String(SUMMARY_SCORERS_MAX + 1))}`,
    );
  }

  /** Counts the results that a summary covers, and those with an error. */
  async countResults(
    tx: Tx,
    scope: Scope,
    experimentId: string,
  ): Promise<{ result_count: number; error_count: number }> {
    const [row] = await tx.query<{ result_count: number; error_count: number }>(
      sql`WITH ${coveredResults(scope, experimentId)}
        SELECT count(*) AS result_count, count(*) FILTER (WHERE has_error) AS error_count FROM covered_result`,
    );
    return row!;
  }

  /** Counts the cases that each scorer covers, by name. With a dataset, counts only the dataset's cases. */
  caseCounts(tx: Tx, scope: Scope, experimentId: string): Promise<ScorerCaseCounts[]> {
    return tx.query<ScorerCaseCounts>(
      sql`WITH ${coveredResults(scope, experimentId)}, scored_case AS (
          SELECT score.key COLLATE "C" AS scorer, bool_or(jsonb_typeof(score.value) = 'number') AS is_scored,
                 bool_or(NOT has_error) AS is_null
          FROM covered_result CROSS JOIN LATERAL jsonb_each(covered_result.scores) AS score
          WHERE is_expected OR (SELECT expected_case_count IS NULL FROM experiments
                                WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId})
          GROUP BY score.key COLLATE "C", case_key
        )
        SELECT scorer, count(*) FILTER (WHERE is_scored) AS scored_count,
               count(*) FILTER (WHERE NOT is_scored AND is_null) AS null_count
        FROM scored_case GROUP BY scorer ORDER BY scorer LIMIT ${raw(String(SUMMARY_SCORERS_MAX))}`,
    );
  }

  /** Whether there are more results than a summary covers. */
  async isTruncated(tx: Tx, { workspaceId }: Scope, experimentId: string): Promise<boolean> {
    const rows = await tx.query(
      sql`SELECT 1 FROM results WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}
        OFFSET ${raw(String(SUMMARY_RESULTS_MAX))} LIMIT 1`,
    );
    return rows.length > 0;
  }

  /** Stores the means of a summary for the search by `score`. */
  async insertMeans(
    tx: Tx,
    { workspaceId }: Scope,
    experimentId: string,
    means: readonly ScorerMean[],
  ): Promise<void> {
    const searchable = means.slice(0, SEARCHABLE_MEANS_MAX);
    await tx.query(
      sql`INSERT INTO experiment_scores (workspace_id, experiment_id, scorer, mean)
        SELECT ${workspaceId}, ${experimentId}, *
        FROM unnest(${searchable.map(({ scorer }) => scorer)}::text[], ${searchable.map(({ mean }) => mean)}::float8[])`,
    );
  }
}

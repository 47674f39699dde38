import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, firstRow, raw, sql, type Sql, type SqlExecutor, type Tx } from '#platform/db';
import { currentScores, hasPeople } from '../../scores';
import { exactSum, meanText } from '../../statistics';

/** Maximum number of results that a summary covers, in order of arrival. */
export const SUMMARY_RESULTS_MAX = 10_000;
/** Maximum number of scorers in a summary, by name. A result may have 100 names that no other result has. */
export const SUMMARY_SCORERS_MAX = 1_000;

/** The current scores under one name. */
export interface ScorerMean {
  scorer: string;
  /** Null if the scorer gave no number. */
  mean: number | null;
  /** Number of results with a number. */
  count: number;
  /** Number of current scores that were given after the experiment was finalized. */
  late_count: number;
}

/** What a summary says about one scorer name. */
export interface ScorerSummary extends ScorerMean {
  /** The scorer and its version, by the newest result that names them. Null if none does. */
  scorer_id: string | null;
  scorer_version: number | null;
  /** Cases whose trials are complete and all have a score or a deliberate null, at least one of them a score. */
  scored_count: number;
  /** Cases whose trials are complete and all have a deliberate null: a null without an error. */
  null_count: number;
}

/** Numbers of the results that a summary covers. */
export interface CoveredCounts {
  result_count: number;
  error_count: number;
  case_count: number;
}

/**
 * Mean and number of the scores under each name, by name. Returns one more than a summary holds if there are more. Only the
 * means within the limit are divided, because 10,000 results can have a million names.
 *
 * @param further columns over the scores of a name
 */
const meansOf = (scores: Sql, further: Sql): Sql =>
  sql`SELECT *, ${meanText('total', 'count')} AS mean FROM (
      SELECT scorer_name AS scorer, ${raw(exactSum('score'))} AS total, count(score) AS count,
             count(*) FILTER (WHERE is_late) AS late_count ${further}
      FROM (${scores}) score GROUP BY scorer_name ORDER BY scorer_name LIMIT ${raw(String(SUMMARY_SCORERS_MAX + 1))}
    ) scorer`;

type Texts<Row> = Omit<Row, 'mean'> & { mean: string | null };

/** `Number` rounds to the double nearest to the true mean. */
const toMeans = <Row extends ScorerMean>(rows: Texts<Row>[]): Row[] =>
  rows.map((row) => ({ ...row, mean: row.mean === null ? null : Number(row.mean) }) as unknown as Row);

/** Returns the mean and the count of each scorer that gave a number, by name. */
export const scoresOf = (scorers: readonly ScorerMean[]): Record<string, { mean: number; count: number }> =>
  Object.fromEntries(
    scorers.flatMap(({ scorer, mean, count }) => (mean === null ? [] : [[scorer, { mean, count }]])),
  );

/** Computes the summaries of experiments' results, and stores their means. */
@Injectable()
export class SummaryRepository {
  constructor(private readonly database: Database) {}

  /** Sums up the current scores of all results. */
  async summarizeAll({ workspaceId }: Scope, experimentId: string): Promise<ScorerMean[]> {
    return toMeans<ScorerMean>(
      await this.database.query(meansOf(currentScores(workspaceId, { experimentId }), sql``)),
    );
  }

  /**
   * Whether scores were given after an experiment was finalized, or people have scored traces or sessions, which its results
   * may name.
   */
  async mayHaveLateScores({ workspaceId }: Scope, experimentId: string): Promise<boolean> {
    const row = await firstRow<{ may_have: boolean }>(
      this.database,
      'summary.late',
      sql`SELECT EXISTS (SELECT FROM scores WHERE workspace_id = ${workspaceId} AND experiment_id = ${experimentId} AND is_late)
            OR ${hasPeople(workspaceId, { ofResults: false })} AS may_have`,
    );
    return row!.may_have;
  }

  /** Counts the results that a summary covers, those with an error, and their cases. */
  async countCovered(tx: Tx, { workspaceId }: Scope, experimentId: string): Promise<CoveredCounts> {
    const [row] = await tx.query<CoveredCounts>(
      sql`WITH ${coveredResults(workspaceId, experimentId)}
        SELECT count(*) AS result_count, count(*) FILTER (WHERE has_error) AS error_count,
               count(DISTINCT case_key) AS case_count FROM covered_result`,
    );
    return row!;
  }

  /**
   * Sums up the current scores of the results that a summary covers. With a dataset, only the dataset's cases count as cases.
   *
   * @param trials number of results that complete a case; null if each case has one
   */
  async summarize(
    tx: Tx,
    { workspaceId }: Scope,
    experimentId: string,
    trials: number | null,
  ): Promise<ScorerSummary[]> {
    const upTo = sql`(SELECT max(result_id) FROM covered_result)`;
    const scores = sql`SELECT * FROM (${currentScores(workspaceId, { experimentId, upTo })}) current
      JOIN covered_result USING (result_id)`;
    const covered = sql`WITH ${coveredResults(workspaceId, experimentId)}`;
    // Without statistics, PostgreSQL expects few rows, and would compare each score with each result.
    await tx.query('SET LOCAL enable_nestloop = off');
    const summaries = toMeans<ScorerSummary>(
      await tx.query(
        sql`SELECT *, split_part(reference, ' ', 3) AS scorer_id, split_part(reference, ' ', 2)::integer AS scorer_version
          FROM (${covered} ${meansOf(
            scores,
            sql`, count(score) FILTER (WHERE is_counted) AS scored_count,
              count(*) FILTER (WHERE is_counted AND score IS NULL AND NOT has_error) AS null_count,
              max(result_id || ' ' || scorer_version || ' ' || scorer_id)
                FILTER (WHERE scorer_id IS NOT NULL AND scorer_version > 0) AS reference`,
          )}) summary ORDER BY scorer`,
      ),
    );
    const cases = trials === null ? null : await countCases(tx, covered, scores, trials);
    await tx.query('SET LOCAL enable_nestloop = on');
    const noCases = { scored_count: 0, null_count: 0 };
    return summaries.map((one) => ({ ...one, ...(cases && (cases.get(one.scorer) ?? noCases)) }));
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
    means: readonly { scorer: string; mean: number }[],
  ): Promise<void> {
    await tx.query(
      sql`INSERT INTO experiment_scores (workspace_id, experiment_id, scorer, mean)
        SELECT ${workspaceId}, ${experimentId}, *
        FROM unnest(${means.map(({ scorer }) => scorer)}::text[], ${means.map(({ mean }) => mean)}::float8[])`,
    );
  }
}

type CaseCounts = Pick<ScorerSummary, 'scored_count' | 'null_count'>;

/**
 * Counts the cases that each scorer covers, if trials share cases: each result has a score or a deliberate null.
 *
 * @param trials number of results that complete a case; a case may have more
 */
async function countCases(
  on: SqlExecutor,
  covered: Sql,
  scores: Sql,
  trials: number,
): Promise<Map<string, CaseCounts>> {
  const rows = await on.query<CaseCounts & { scorer: string }>(
    sql`${covered}, whole_case AS (
        SELECT case_key, count(*) AS results FROM covered_result GROUP BY case_key HAVING count(*) >= ${trials}
      ),
      scored_case AS (
        SELECT scorer_name, case_key, bool_or(score IS NOT NULL) AS is_scored,
               count(*) FILTER (WHERE score IS NOT NULL OR NOT has_error) AS covered
        FROM (${scores}) score WHERE is_counted GROUP BY scorer_name, case_key
      )
      SELECT scorer_name AS scorer, count(*) FILTER (WHERE is_scored AND covered = results) AS scored_count,
             count(*) FILTER (WHERE NOT is_scored AND covered = results) AS null_count
      FROM scored_case JOIN whole_case USING (case_key) GROUP BY scorer_name`,
  );
  return new Map(rows.map(({ scorer, ...counts }) => [scorer, counts]));
}

/** The results that a summary covers. Their ids sort by arrival. `is_counted`: whether the case is one of the dataset's, if any. */
const coveredResults = (
  workspaceId: string,
  experimentId: string,
): Sql => sql`covered_result AS MATERIALIZED (
  SELECT result_id, error IS NOT NULL AS has_error,
         is_expected OR (SELECT expected_case_count IS NULL FROM experiments
                         WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}) AS is_counted,
         -- as in comparisons
         coalesce(dataset_record_id, trial_group, case_id) AS case_key
  FROM results WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}
  ORDER BY result_id LIMIT ${raw(String(SUMMARY_RESULTS_MAX))}
)`;

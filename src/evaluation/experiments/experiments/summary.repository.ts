import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, empty, prepared, raw, type Sql, sql, type Tx } from '#platform/db';
import { currentScoresOfExperiment, hasPeople } from '../../scores';
import type { ExperimentEntity } from './experiment.entity';

/** Maximum number of results that a summary covers, in order of arrival. */
export const SUMMARY_RESULTS_MAX = 10_000;
/** Maximum number of scorers in a summary, by name. A result may have 100 names that no other result has. */
export const SUMMARY_SCORERS_MAX = 1_000;

type SummarizedExperiment = Pick<ExperimentEntity, 'experiment_id' | 'summary'>;

/** What a summary says about one scorer name. */
export interface ScorerSummary {
  scorer: string;
  /** Null if the scorer gave no number. */
  mean: number | null;
  /** Number of results with a number. */
  count: number;
  /** Number of current scores that were given after the experiment was finalized. */
  late_count: number;
  /** Cases with a score. */
  scored_count: number;
  /** Cases without a score, but with a deliberate null: the result has no error. */
  null_count: number;
  /** The scorer and its version, by the newest result that names them. Null if none does. */
  scorer_id: string | null;
  scorer_version: number | null;
}

/** Computes the summaries of experiments' results, and stores their means. */
@Injectable()
export class SummaryRepository {
  constructor(private readonly database: Database) {}

  /** Returns the current scores of a finalized experiment that has later ones, or of a running one. Null for any other. */
  async findCurrent(
    scope: Scope,
    { experiment_id: id, summary }: SummarizedExperiment,
  ): Promise<ScorerSummary[] | null> {
    if (summary && !(await this.mayHaveLateScores(scope, id))) return null;
    return this.database.transaction((tx) => this.summarize(tx, scope, id, { ofAll: true }));
  }

  /** Whether scores were given after an experiment was finalized, or people have scored traces or sessions that it may name. */
  private async mayHaveLateScores({ workspaceId }: Scope, experimentId: string): Promise<boolean> {
    const [row] = await this.database.query<{ may_have: boolean }>(
      prepared(
        'summary.late',
        sql`SELECT EXISTS (SELECT FROM scores WHERE workspace_id = ${workspaceId} AND experiment_id = ${experimentId} AND is_late)
              OR ${hasPeople(workspaceId, raw('people.result_id IS NULL'))} AS may_have`,
      ),
    );
    return row!.may_have;
  }

  /**
   * Sums up the current scores by scorer name, over the results that a summary covers or over all. Returns one more than a
   * summary holds if there are more. With a dataset, only the dataset's cases count as cases.
   *
   * Means are computed to 400 decimals and returned as text, because PostgreSQL divides to 16 digits and fails on values too
   * small for a double. Only the means within the limit are divided, because 10,000 results can have a million names.
   */
  async summarize(
    tx: Tx,
    { workspaceId }: Scope,
    experimentId: string,
    { ofAll = false }: { ofAll?: boolean } = {},
  ): Promise<ScorerSummary[]> {
    const upTo = sql`(SELECT max(result_id) FROM covered_result)`;
    const scores = currentScoresOfExperiment(workspaceId, { experimentId, ...(!ofAll && { upTo }) });
    // Without statistics, PostgreSQL expects few rows, and would compare each score with each result.
    await tx.query('SET LOCAL enable_nestloop = off');
    const rows = await tx.query<Omit<ScorerSummary, 'mean'> & { mean: string | null }>(
      sql`WITH ${coveredResults(workspaceId, experimentId, ofAll)}, experiment AS MATERIALIZED (
          SELECT expected_case_count IS NULL AS has_no_dataset FROM experiments
          WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}
        ), scored_case AS (
          SELECT scorer_name, sum(score::text::numeric) AS total, count(score) AS count,
                 count(*) FILTER (WHERE is_late) AS late_count,
                 bool_or(is_expected OR has_no_dataset) AS is_counted,
                 bool_or(score IS NOT NULL AND (is_expected OR has_no_dataset)) AS is_scored,
                 bool_or(NOT has_error AND (is_expected OR has_no_dataset)) AS is_null,
                 max(result_id || ' ' || scorer_version || ' ' || scorer_id)
                   FILTER (WHERE scorer_id IS NOT NULL AND scorer_version > 0) AS reference
          FROM (${scores}) current JOIN covered_result USING (result_id) CROSS JOIN experiment
          GROUP BY scorer_name, case_key
        ), scorer AS MATERIALIZED (
          SELECT scorer_name, sum(total) AS total, sum(count)::bigint AS count, sum(late_count)::bigint AS late_count,
                 count(*) FILTER (WHERE is_scored) AS scored_count,
                 count(*) FILTER (WHERE is_counted AND NOT is_scored AND is_null) AS null_count, max(reference) AS reference
          FROM scored_case GROUP BY scorer_name ORDER BY scorer_name LIMIT ${raw(String(SUMMARY_SCORERS_MAX + 1))}
        )
        SELECT scorer_name AS scorer, ((total + 0::numeric(500, 400)) / nullif(count, 0))::text AS mean, count, late_count,
               scored_count, null_count, split_part(reference, ' ', 3) AS scorer_id,
               split_part(reference, ' ', 2)::integer AS scorer_version
        FROM scorer ORDER BY scorer_name`,
    );
    await tx.query('SET LOCAL enable_nestloop = on');
    // `Number` rounds to the double nearest to the true mean
    return rows.map((row) => ({ ...row, mean: row.mean === null ? null : Number(row.mean) }));
  }

  /** Counts the results that a summary covers, and those with an error. */
  async countResults(
    tx: Tx,
    { workspaceId }: Scope,
    experimentId: string,
  ): Promise<{ result_count: number; error_count: number }> {
    const [row] = await tx.query<{ result_count: number; error_count: number }>(
      sql`WITH ${coveredResults(workspaceId, experimentId)}
        SELECT count(*) AS result_count, count(*) FILTER (WHERE has_error) AS error_count FROM covered_result`,
    );
    return row!;
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

/** The results that a summary covers: the first ones, in order of arrival, or all. */
const coveredResults = (
  workspaceId: string,
  experimentId: string,
  ofAll = false,
): Sql => sql`covered_result AS MATERIALIZED (
  SELECT result_id, error IS NOT NULL AS has_error, is_expected,
         -- without a dataset, trials share their trial_group, as in comparisons
         coalesce(CASE WHEN NOT is_expected THEN trial_group END, dataset_record_id, case_id) AS case_key
  FROM results WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}
  ORDER BY result_id ${ofAll ? empty : sql`LIMIT ${raw(String(SUMMARY_RESULTS_MAX))}`}
)`;

/** Returns the mean and the count of each scorer that gave a number, by name. */
export const scoresOf = (
  scorers: readonly ScorerSummary[],
): Record<string, { mean: number; count: number }> =>
  Object.fromEntries(
    scorers.flatMap(({ scorer, mean, count }) => (mean === null ? [] : [[scorer, { mean, count }]])),
  );

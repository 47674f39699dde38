import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { arrayParameter, Database, prepared, sql, type Tx } from '#platform/db';
import type { RawJson } from '#platform/json';
import {
  type ExperimentStatus,
  type ScorerMean,
  SUMMARY_RESULTS_MAX,
  SummaryRepository,
} from '../../experiments';

/** Results of the first batch, when their size is unknown, and of any batch at most. */
const BATCH = { first: 25, most: 1_000 };
/** Characters of scores per batch, exceeded by at most one result. They parse within a few milliseconds. */
export const BATCH_CHARACTERS = 200_000;
/** Scorers read per experiment: those with the most scores. */
export const SCORERS_READ_MAX = 1_000;

/** The members of an experiment that a comparison needs. */
export interface ComparedExperiment {
  experiment_id: string;
  name: string;
  experiment_name: string;
  experiment_status: ExperimentStatus;
  baseline_experiment_id: string | null;
  dataset_id: string | null;
  dataset_version: number | null;
}

/** A batch of results as columns: ids, cases, scores and sizes. */
export interface ScoredBatch {
  resultIds: string[];
  caseKeys: string[];
  scores: Record<string, number | null>[];
  /** Approximate size of each result as JSON, in bytes. */
  bytes: number[];
}

/** Columns as JSON texts; `scores` lacks the brackets. All are null if there are no results. */
interface ScoredColumns {
  last: string | null;
  /** Number of results found, including those that exceed `BATCH_CHARACTERS` and are missing from the columns. */
  found: number;
  ids: string;
  keys: string;
  bytes: string;
  scores: string;
}

/** The members of a result that a case of a comparison shows. */
export interface ComparedRow {
  result_id: string;
  case_id: string;
  output: RawJson | null;
  error: RawJson | null;
  scores: Record<string, number | null>;
  trace_id: string | null;
  session_id: string | null;
  duration_ms: number | null;
  trial_index: number | null;
  /** Null unless requested. */
  input: RawJson | null;
  expected: RawJson | null;
}

/** Reads experiments and their results for comparisons. */
@Injectable()
export class ComparisonRepository {
  constructor(
    private readonly database: Database,
    private readonly summaries: SummaryRepository,
  ) {}

  /** Runs `read` on one snapshot of the database, so that scores and counts are consistent. */
  inSnapshot<Result>(read: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.database.transaction(async (tx) => {
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      return read(tx);
    });
  }

  async find(scope: Scope, experimentId: string): Promise<ComparedExperiment | null> {
    const [row] = await this.database.query<ComparedExperiment>(
      prepared(
        'comparison.find',
        sql`
          SELECT experiment_id, name, experiment_name, experiment_status, baseline_experiment_id, dataset_id,
                 dataset_version
          FROM experiments WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId}`,
      ),
    );
    return row ?? null;
  }

  /**
   * Returns the mean and the count of each scorer's scores that are not null, scorers with the most scores first. Reads the
   * summary if there is one and it contains all scorers.
   *
   * @param scorers names of the scorers to return; null for all
   */
  means(
    tx: Tx,
    scope: Scope,
    experiment: ComparedExperiment,
    scorers: readonly string[] | null,
  ): Promise<ScorerMean[]> {
    return this.summaries.means(tx, scope, experiment, scorers, SCORERS_READ_MAX);
  }

  /**
   * Reads the results that a summary covers, in order of arrival and in batches.
   *
   * @returns whether the experiment has more results
   */
  async readScores(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    take: (batch: ScoredBatch) => void,
  ): Promise<boolean> {
    let after = '';
    let size = BATCH.first;
    for (let left = SUMMARY_RESULTS_MAX; left > 0;) {
      const limit = Math.min(left, size);
      const found = await this.readBatch(tx, scope, experimentId, after, limit);
      if (found.last === null) return false;
      const batch = toBatch(found);
      const count = batch.resultIds.length;
      take(batch);
      if (count === found.found && count < limit) return false;
      after = found.last;
      left -= count;
      // read about as many results as fit, because the others are read again
      size = Math.min(BATCH.most, Math.ceil((count * BATCH_CHARACTERS) / found.scores.length));
    }
    return this.hasMore(tx, scope, experimentId, after);
  }

  /** Reads results of one experiment, in any order. @param withInput ids of the results to read with input and expected */
  async readResults(
    scope: Scope,
    experimentId: string,
    resultIds: readonly string[],
    withInput: readonly string[],
  ): Promise<ComparedRow[]> {
    if (resultIds.length === 0) return [];
    return this.database.query<ComparedRow>(
      prepared(
        'comparison.results',
        sql`
          SELECT result_id, case_id, output, error, scores, trace_id, session_id, duration_ms, trial_index,
                 CASE WHEN whole.id IS NOT NULL THEN input END AS input,
                 CASE WHEN whole.id IS NOT NULL THEN expected END AS expected
          FROM results LEFT JOIN unnest(${arrayParameter('text', withInput)}::text[]) AS whole(id) ON whole.id = result_id
          WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId}
            AND result_id = ANY(${arrayParameter('text', resultIds)}::text[])`,
      ),
    );
  }

  /** Reads a batch as columns, because a row per result costs more than its content. */
  private async readBatch(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    after: string,
    limit: number,
  ): Promise<ScoredColumns> {
    const [columns] = await tx.query<ScoredColumns>(
      prepared(
        'comparison.scores',
        sql`
          SELECT max(result_id) AS last, max(found) AS found, json_agg(result_id)::text AS ids,
                 json_agg(case_key)::text AS keys, json_agg(bytes)::text AS bytes, string_agg(scores, ',') AS scores
          FROM (
            SELECT *, count(*) OVER () AS found,
                   sum(length(scores)) OVER (ORDER BY result_id) - length(scores) AS characters_before
            FROM (
              SELECT result_id, coalesce(trial_group, dataset_record_id, case_id) AS case_key, scores::text AS scores,
                     bytes
              FROM results
              WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId} AND result_id > ${after}
              ORDER BY result_id LIMIT ${limit}
            ) AS read
          ) AS batch WHERE characters_before < ${BATCH_CHARACTERS}::integer`,
      ),
    );
    return columns!;
  }

  private async hasMore(tx: Tx, scope: Scope, experimentId: string, after: string): Promise<boolean> {
    const rows = await tx.query(
      prepared(
        'comparison.more',
        sql`
          SELECT 1 FROM results
          WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId} AND result_id > ${after}
          LIMIT 1`,
      ),
    );
    return rows.length > 0;
  }
}

const toBatch = ({ ids, keys, bytes, scores }: ScoredColumns): ScoredBatch => ({
  resultIds: JSON.parse(ids) as string[],
  caseKeys: JSON.parse(keys) as string[],
  bytes: JSON.parse(bytes) as number[],
  scores: JSON.parse(`[${scores}]`) as Record<string, number | null>[],
});

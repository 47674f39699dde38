import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { arrayParameter, Database, type Tx } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { ExperimentStatus } from '../experiments/experiment.entity';
import {
  meansOf,
  type ScorerMean,
  type ScorerMeanRow,
  SUMMARY_RESULTS_MAX,
  toScorerMean,
} from '../experiments/summary.repository';

/** Rows of scores that are in memory as rows at once. */
const BATCH = 1_000;
/** Scorers of an experiment that are looked at, by how many scores they gave. */
const SCORERS_READ_MAX = 1_000;

/** What a comparison says of an experiment itself. */
export interface ComparedExperiment {
  experiment_id: string;
  name: string;
  experiment_name: string;
  experiment_status: ExperimentStatus;
  baseline_experiment_id: string | null;
}

/** What is read of every result: enough to pair it, and to know how large the rest of it is. */
export interface ScoredRow {
  result_id: string;
  /** What results of one case share. */
  case_key: string;
  scores: Record<string, number | null>;
  bytes: number;
}

/** A result as a case of a comparison shows it. */
export interface ShownRow {
  result_id: string;
  case_id: string;
  output: RawJson | null;
  error: RawJson | null;
  scores: Record<string, number | null>;
  trace_id: string | null;
  session_id: string | null;
  duration_ms: number | null;
  trial_index: number | null;
  /** Null unless asked for. */
  input: RawJson | null;
  expected: RawJson | null;
}

const FIND = {
  name: 'comparison.find',
  text: `SELECT experiment_id, name, experiment_name, experiment_status, baseline_experiment_id
    FROM experiments WHERE experiment_id = $1 AND workspace_id = $2`,
};

/** The key by which results are paired: repeated trials share a group, or the record that they are of. */
const SCORES = {
  name: 'comparison.scores',
  text: `SELECT result_id, coalesce(trial_group, dataset_record_id, case_id) AS case_key, scores, bytes FROM results
    WHERE experiment_id = $1 AND workspace_id = $2 AND result_id > $3 ORDER BY result_id LIMIT $4`,
};

/** As the summary has them, of an experiment that has none yet. */
const RUNNING_MEANS = {
  name: 'comparison.running-means',
  text: meansOf('count DESC, scorer', SCORERS_READ_MAX, '($3::text[] IS NULL OR score.key = ANY($3))'),
};

const FROZEN_MEANS = {
  name: 'comparison.frozen-means',
  text: `SELECT own.key AS scorer, own.value->>'mean' AS mean, (own.value->>'count')::bigint AS count
    FROM experiments CROSS JOIN LATERAL json_each(summary->'scores') AS own
    WHERE experiment_id = $1 AND workspace_id = $2 AND ($3::text[] IS NULL OR own.key = ANY($3))
    ORDER BY count DESC, own.key COLLATE "C" LIMIT ${SCORERS_READ_MAX}`,
};

const SHOWN = {
  name: 'comparison.shown',
  text: `SELECT result_id, case_id, output, error, scores, trace_id, session_id, duration_ms, trial_index,
      CASE WHEN whole.id IS NOT NULL THEN input END AS input,
      CASE WHEN whole.id IS NOT NULL THEN expected END AS expected
    FROM results LEFT JOIN unnest($4::text[]) AS whole(id) ON whole.id = result_id
    WHERE experiment_id = $1 AND workspace_id = $2 AND result_id = ANY($3::text[])`,
};

/** Reads what experiments are compared by. */
@Injectable()
export class ComparisonRepository {
  constructor(private readonly database: Database) {}

  /** Runs `read` on one state of the database, so that what results say and what is counted of them agree. */
  onOneState<Result>(read: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.database.transaction(async (tx) => {
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      return read(tx);
    });
  }

  async find(scope: Scope, experimentId: string): Promise<ComparedExperiment | null> {
    const [row] = await this.database.query<ComparedExperiment>(FIND, [experimentId, scope.workspaceId]);
    return row ?? null;
  }

  /**
   * Mean and count of the scores that are not null, by scorer, as the summary has them; those with the most scores
   * first, at most 1,000. @param scorers narrows to these names.
   */
  async means(
    tx: Tx,
    scope: Scope,
    experiment: ComparedExperiment,
    scorers: readonly string[] | null,
  ): Promise<ScorerMean[]> {
    const statement = experiment.experiment_status === 'running' ? RUNNING_MEANS : FROZEN_MEANS;
    const names = scorers && arrayParameter('text', scorers);
    const rows = await tx.query<ScorerMeanRow>(statement, [
      experiment.experiment_id,
      scope.workspaceId,
      names,
    ]);
    return rows.map(toScorerMean);
  }

  /**
   * The results that are folded into a summary, in order of arrival, some at a time. @returns whether there are more
   * results than that.
   */
  async eachScored(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    take: (rows: ScoredRow[]) => Promise<void>,
  ): Promise<boolean> {
    let after = '';
    for (let left = SUMMARY_RESULTS_MAX; ; left -= BATCH) {
      const limit = Math.min(left, BATCH) || 1;
      const rows = await tx.query<ScoredRow>(SCORES, [experimentId, scope.workspaceId, after, limit]);
      if (left === 0) return rows.length > 0;
      await take(rows);
      if (rows.length < limit) return false;
      after = rows.at(-1)!.result_id;
    }
  }

  /** These results of one experiment, in no order. @param withInput those whose input and expected are read too. */
  shown(
    scope: Scope,
    experimentId: string,
    resultIds: readonly string[],
    withInput: readonly string[],
  ): Promise<ShownRow[]> {
    if (resultIds.length === 0) return Promise.resolve([]);
    return this.database.query<ShownRow>(SHOWN, [
      experimentId,
      scope.workspaceId,
      arrayParameter('text', resultIds),
      arrayParameter('text', withInput),
    ]);
  }
}

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
  SUMMARY_SCORERS_MAX,
  toScorerMean,
} from '../experiments/summary.repository';

/** Results that are looked at for the scores that are read at once: the first time, when their size is not known, and at most. */
const BATCH = { first: 25, most: 1_000 };
/**
 * Scores are read at once until they have this many characters, which the last result of them may exceed: parsed within
 * a few milliseconds.
 */
export const BATCH_CHARACTERS = 400_000;
/** Scorers of an experiment that are looked at, by how many scores they gave. */
export const SCORERS_READ_MAX = 1_000;

/** What a comparison says of an experiment itself. */
export interface ComparedExperiment {
  experiment_id: string;
  name: string;
  experiment_name: string;
  experiment_status: ExperimentStatus;
  baseline_experiment_id: string | null;
  dataset_id: string | null;
  dataset_version: number | null;
}

/** What is read of every result, by columns: enough to pair it, and to know how large the rest of it is. */
export interface ScoredBatch {
  resultIds: string[];
  /** What results of one case share. */
  caseKeys: string[];
  scores: Record<string, number | null>[];
  bytes: number[];
}

/** Columns as JSON texts; of scores the members of one. Null where there are no results. */
interface ScoredColumns {
  last: string | null;
  /** Results that were looked at, of which those that do not fit any more are left out. */
  found: number;
  ids: string;
  keys: string;
  bytes: string;
  scores: string;
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
  text: `SELECT experiment_id, name, experiment_name, experiment_status, baseline_experiment_id, dataset_id,
      dataset_version
    FROM experiments WHERE experiment_id = $1 AND workspace_id = $2`,
};

/**
 * The key by which results are paired: repeated trials share a group, or the record that they are of. Columns, because
 * a row for each result costs more than what is in it.
 */
const SCORES = {
  name: 'comparison.scores',
  text: `SELECT max(result_id) AS last, max(found) AS found, json_agg(result_id)::text AS ids,
      json_agg(case_key)::text AS keys, json_agg(bytes)::text AS bytes, string_agg(scores, ',') AS scores
    FROM (
      SELECT *, count(*) OVER () AS found,
        sum(length(scores)) OVER (ORDER BY result_id) - length(scores) AS characters_before
      FROM (
        SELECT result_id, coalesce(trial_group, dataset_record_id, case_id) AS case_key, scores::text AS scores, bytes
        FROM results
        WHERE experiment_id = $1 AND workspace_id = $2 AND result_id > $3 ORDER BY result_id LIMIT $4
      ) AS looked_at
    ) AS batch WHERE characters_before < ${BATCH_CHARACTERS}`,
};

const MORE = {
  name: 'comparison.more',
  text: 'SELECT 1 FROM results WHERE experiment_id = $1 AND workspace_id = $2 AND result_id > $3 LIMIT 1',
};

const HAVE_MORE = {
  name: 'comparison.have-more',
  text: `SELECT 1 FROM unnest($1::text[]) AS one(id) WHERE EXISTS (
      SELECT 1 FROM results WHERE experiment_id = one.id AND workspace_id = $2 OFFSET $3 LIMIT 1
    )`,
};

/** As the summary has them, of an experiment that has none yet, or whose summary has not those of all scorers. */
const COUNTED_MEANS = {
  name: 'comparison.counted-means',
  text: meansOf('count DESC, scorer', SCORERS_READ_MAX, '($3::text[] IS NULL OR score.key = ANY($3))'),
};

/** Whether a summary has the means of all scorers; older ones do not say it. No row of an experiment that has none. */
const HAS_ALL_MEANS = {
  name: 'comparison.has-all-means',
  text: `SELECT NOT coalesce(
      (summary->>'is_scorers_truncated')::boolean,
      (SELECT count(*) FROM json_object_keys(summary->'scores')) >= ${SUMMARY_SCORERS_MAX}
    ) AS has_all
    FROM experiments WHERE experiment_id = $1 AND workspace_id = $2 AND summary IS NOT NULL`,
};

const SUMMED_UP_MEANS = {
  name: 'comparison.summed-up-means',
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
    const values = [experiment.experiment_id, scope.workspaceId];
    const [summary] =
      experiment.experiment_status === 'running'
        ? []
        : await tx.query<{ has_all: boolean }>(HAS_ALL_MEANS, values);
    const statement = summary?.has_all ? SUMMED_UP_MEANS : COUNTED_MEANS;
    const names = scorers && arrayParameter('text', scorers);
    const rows = await tx.query<ScorerMeanRow>(statement, [...values, names]);
    return rows.map(toScorerMean);
  }

  /** Whether any of these experiments has more results than that. */
  async haveMore(scope: Scope, experimentIds: readonly string[], results: number): Promise<boolean> {
    const values = [arrayParameter('text', experimentIds), scope.workspaceId, results];
    return (await this.database.query(HAVE_MORE, values)).length > 0;
  }

  /**
   * The results that are folded into a summary, in order of arrival, some at a time. @returns whether there are more
   * results than that.
   */
  async eachScored(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    take: (batch: ScoredBatch) => Promise<void>,
  ): Promise<boolean> {
    let after = '';
    let size = BATCH.first;
    for (let left = SUMMARY_RESULTS_MAX; left > 0;) {
      const limit = Math.min(left, size);
      const [found] = await tx.query<ScoredColumns>(SCORES, [experimentId, scope.workspaceId, after, limit]);
      if (found!.last === null) return false;
      const batch = toBatch(found!);
      const count = batch.resultIds.length;
      await take(batch);
      if (count === found!.found && count < limit) return false;
      after = found!.last;
      left -= count;
      // no more than are likely to fit: the others would be looked at in vain
      const fitting = Math.ceil((count * BATCH_CHARACTERS) / found!.scores.length);
      size = Math.min(BATCH.most, fitting);
    }
    return (await tx.query(MORE, [experimentId, scope.workspaceId, after])).length > 0;
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

const toBatch = ({ ids, keys, bytes, scores }: ScoredColumns): ScoredBatch => ({
  resultIds: JSON.parse(ids) as string[],
  caseKeys: JSON.parse(keys) as string[],
  bytes: JSON.parse(bytes) as number[],
  scores: JSON.parse(`[${scores}]`) as Record<string, number | null>[],
});

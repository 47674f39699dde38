import type { TestApp } from '#testing';

interface Executor {
  query(statement: string, values: unknown[]): Promise<unknown>;
}

/** SQL expressions over a result `r`, whose `case_id` ends with the number `n`. */
interface Given {
  /** The results, as a condition. Default: all of the experiment. */
  where?: string;
  /** `jsonb`: scorer name to number or null. */
  scores: string;
  /** `jsonb`: scorer name to an object with `scorer_id`, `scorer_version` and `label`. */
  details?: string;
}

/** Inserts a client's scores of an experiment's results, if a test has inserted these results by SQL. */
export const fillResultScores = async (
  on: Executor,
  experimentId: string,
  { scores, details = `'{}'::jsonb`, where = 'true' }: Given,
): Promise<void> => {
  await on.query(
    `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_name, source, target_kind, trace_id,
                         session_id, experiment_id, result_id, result_version, case_id, score, label, is_current,
                         created_at, created_by)
     SELECT 'score_' || left(md5(r.experiment_id), 8) || substr(r.result_id, 5) || '_' || s.ordinality, r.workspace_id,
            given.details -> s.key ->> 'scorer_id', (given.details -> s.key ->> 'scorer_version')::integer, s.key,
            'client', 'result', r.trace_id, r.session_id, r.experiment_id, r.result_id, r.version, r.case_id,
            CASE WHEN jsonb_typeof(s.value) = 'number' THEN s.value::float8 END, given.details -> s.key ->> 'label',
            true, r.created_at, r.created_by
     FROM results r
     CROSS JOIN LATERAL (SELECT substring(r.case_id FROM '\\d+$')::int AS n) number
     CROSS JOIN LATERAL (SELECT (${scores})::jsonb AS scores, (${details})::jsonb AS details) given
     CROSS JOIN LATERAL jsonb_each(given.scores) WITH ORDINALITY s(key, value, ordinality)
     WHERE r.experiment_id = $1 AND ${where}
     ON CONFLICT DO NOTHING`,
    [experimentId],
  );
};

/** A current score of a result. */
export interface StoredScore {
  scorer_name: string;
  scorer_version: number | null;
  source: string;
  scorer_id: string | null;
  score: number | null;
  is_late: boolean;
}

/** Returns the scores of a result that are not superseded. */
export const scoresOf = ({ database }: TestApp, resultId: string): Promise<StoredScore[]> =>
  database.query<StoredScore>(
    `SELECT scorer_name, scorer_version, source, scorer_id, score, is_late FROM scores
     WHERE result_id = $1 AND superseded_at IS NULL ORDER BY scorer_name, source, scorer_version`,
    [resultId],
  );

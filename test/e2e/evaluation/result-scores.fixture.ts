import type { TestApp } from '#testing';

interface Executor {
  query(statement: string, values: unknown[]): Promise<unknown>;
}

/** Inserts the score rows of an experiment's results, if a test has inserted these results by SQL. */
export const fillResultScores = async (on: Executor, experimentId: string): Promise<void> => {
  await on.query(
    `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_name, source, target_kind, trace_id,
                         session_id, experiment_id, result_id, result_version, case_id, score, label, created_at,
                         created_by)
     SELECT 'score_' || substr(r.result_id, 5) || '_' || s.ordinality, r.workspace_id,
            r.score_details -> s.key ->> 'scorer_id', (r.score_details -> s.key ->> 'scorer_version')::integer, s.key,
            'client', 'result', r.trace_id, r.session_id, r.experiment_id, r.result_id, r.version, r.case_id,
            CASE WHEN jsonb_typeof(s.value) = 'number' THEN s.value::float8 END, r.score_details -> s.key ->> 'label',
            r.created_at, r.created_by
     FROM results r CROSS JOIN LATERAL jsonb_each(r.scores) WITH ORDINALITY s(key, value, ordinality)
     WHERE r.experiment_id = $1 AND r.score_details -> s.key #> '{metadata,score_ids}' IS NULL
       AND r.score_details -> s.key #> '{metadata,score_run_id}' IS NULL
     ON CONFLICT DO NOTHING`,
    [experimentId],
  );
  await on.query(
    `INSERT INTO result_scores (experiment_id, scorer, scorer_version, result_id, source, workspace_id, scorer_id, score,
                                is_shown)
     SELECT r.experiment_id, s.key, coalesce((r.score_details -> s.key ->> 'scorer_version')::integer, 0), r.result_id,
            CASE WHEN r.score_details -> s.key #> '{metadata,score_ids}' IS NOT NULL THEN 'human'
                 WHEN r.score_details -> s.key #> '{metadata,score_run_id}' IS NOT NULL THEN 'hosted'
                 ELSE 'client' END,
            r.workspace_id, r.score_details -> s.key ->> 'scorer_id',
            CASE WHEN jsonb_typeof(s.value) = 'number' THEN s.value::float8 END, true
     FROM results r CROSS JOIN LATERAL jsonb_each(r.scores) s WHERE r.experiment_id = $1
     ON CONFLICT DO NOTHING`,
    [experimentId],
  );
};

/** A row of `result_scores`. */
export interface StoredScore {
  scorer: string;
  scorer_version: number;
  source: string;
  scorer_id: string | null;
  score: number | null;
  is_shown: boolean;
  is_late: boolean;
  shown_score: number | null;
}

/** Returns the scores stored for a result. */
export const scoresOf = ({ database }: TestApp, resultId: string): Promise<StoredScore[]> =>
  database.query<StoredScore>(
    `SELECT scorer, scorer_version, source, scorer_id, score, is_shown, is_late, shown_score FROM result_scores
     WHERE result_id = $1 ORDER BY scorer, source, scorer_version`,
    [resultId],
  );

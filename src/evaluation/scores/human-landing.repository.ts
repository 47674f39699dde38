import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { namePartOf } from './name-parts';

/** Results that a score of a trace or a session reaches: the newest that name it. */
export const REACHED_RESULTS_MAX = 1_000;

export interface ResultKey {
  experiment_id: string;
  result_id: string;
}

/** A result, and what it names. */
export interface NamingResultKey extends ResultKey {
  trace_id: string | null;
  session_id: string | null;
}

const FIND_RESULT = {
  name: 'human-score.find-result',
  text: `SELECT experiment_id, result_id, trace_id, session_id FROM results WHERE result_id = $2 AND workspace_id = $1`,
};

const NAMING = {
  trace: `SELECT experiment_id, result_id FROM results WHERE workspace_id = $1 AND trace_id = $2
    ORDER BY result_id DESC LIMIT ${REACHED_RESULTS_MAX}`,
  session: `SELECT experiment_id, result_id FROM results WHERE workspace_id = $1 AND session_id = $2
    ORDER BY result_id DESC LIMIT ${REACHED_RESULTS_MAX}`,
};

/*
 * Not prepared: the same statement reaches one result or a thousand, and a plan that was made while tables were small
 * took 25 times as long once they were not.
 */
const lockRunning = (ids: string): string => `SELECT experiment_id FROM experiments
    WHERE workspace_id = $1 AND experiment_id = ANY (${ids}) AND experiment_status = 'running'
      AND archived_at IS NULL
    ORDER BY experiment_id FOR SHARE`;
const LOCK_RUNNING = lockRunning('$2::text[]');
const LOCK_NAMING = {
  trace: lockRunning(`ARRAY(SELECT experiment_id FROM (${NAMING.trace}) naming)`),
  session: lockRunning(`ARRAY(SELECT experiment_id FROM (${NAMING.session}) naming)`),
};

/** An advisory lock: the one of what results name that falls into this part. @param workspace its parameter. */
export const nameLockOf = (workspace: string, part: string): string =>
  `hashtext('named in ' || ${workspace}), ${part}`;
const LOCK_NAME = {
  name: 'human-score.lock-name',
  text: `SELECT pg_advisory_xact_lock(${nameLockOf('$1', '$2::integer')})`,
};

const LOCK_RESULTS = `SELECT r.experiment_id, r.result_id, r.trace_id, r.session_id
    FROM (SELECT $1::text AS workspace_id, * FROM unnest($2::text[], $3::text[]) AS given(experiment_id, result_id)
          OFFSET 0) given
    JOIN results r USING (workspace_id, experiment_id, result_id)
    ORDER BY r.result_id FOR UPDATE OF r`;

/** Exact. */
export const MEAN_OF_SCORES = 'avg(score::text::numeric)';

/** What opinions are together. */
export const FOLDED = `count(*) AS annotation_count, max(scorer_version) AS scorer_version,
             ${MEAN_OF_SCORES} AS mean,
             CASE WHEN count(choice) = count(*) AND min(choice) = max(choice) THEN min(choice) END AS label,
             (array_agg(comment ORDER BY score_id DESC) FILTER (WHERE comment IS NOT NULL))[1] AS comment,
             (array_agg(score_id ORDER BY score_id DESC))[1:100] AS score_ids`;

/** What a result has of it: in `scores`, where it is 0 if a double cannot hold it, and in `score_details`. */
export const LANDED_MEAN = 'CASE WHEN abs(folded.mean) < 2.5e-324 THEN 0 ELSE folded.mean::float8 END';
export const landedDetail = (scorerId: string): string => `json_strip_nulls(json_build_object(
            'metadata', json_build_object('annotation_count', folded.annotation_count, 'score_ids', folded.score_ids),
            'comment', folded.comment, 'label', folded.label,
            'scorer_id', ${scorerId}, 'scorer_version', folded.scorer_version))`;

/**
 * What people say of a result: of each the newest of their present scores of it, of its trace and of its session. Only
 * versions with the same output count together, because others may be on another scale. Means are exact (as `numeric`),
 * and 0 where they are below what a double holds.
 *
 * What stands under the scorer's name stays, unless it is what people said of this very result by this very scorer, by
 * no newer version.
 *
 * What the results name is given, and not read again: how many rows arrays have the planner knows, and of a join of
 * them with results it believes that it has one. Scores and results are looked up by keys that the rows carry, which
 * `OFFSET 0` and MATERIALIZED keep from being taken for the parameters: of a workspace or an experiment that the
 * statistics do not know, PostgreSQL believes that it has no rows, and reads all of them for each.
 */
const LAND = `WITH opinion AS (
      SELECT DISTINCT ON (reached.result_id, s.created_by)
             reached.workspace_id, reached.experiment_id, reached.result_id, s.score_id, s.scorer_version, s.score,
             s.choice, s.comment
      FROM (SELECT $1::text AS workspace_id, $4::text AS scorer_id, given.*
            FROM unnest($2::text[], $3::text[], $9::text[], $10::text[])
              AS given(experiment_id, result_id, trace_id, session_id) OFFSET 0) reached
      CROSS JOIN LATERAL (VALUES ('result', reached.result_id), ('trace', reached.trace_id),
                                 ('session', reached.session_id)) AS target(kind, id)
      JOIN human_scores s ON s.workspace_id = reached.workspace_id AND s.scorer_id = reached.scorer_id
        AND s.target_kind = target.kind AND s.target_id = target.id AND s.superseded_by_score_id IS NULL AND s.output_sha256 = $6
      ORDER BY reached.result_id, s.created_by, s.score_id DESC
    ), folded AS MATERIALIZED (
      SELECT workspace_id, experiment_id, result_id, ${FOLDED} FROM opinion
      GROUP BY workspace_id, experiment_id, result_id HAVING count(*) >= $7
    )
    UPDATE results SET updated_at = $8,
      scores = results.scores || jsonb_build_object($5::text, ${LANDED_MEAN}),
      score_details = (
        SELECT json_object_agg(key, value) FROM (
          SELECT key, value FROM json_each(results.score_details) WHERE key <> $5
          UNION ALL SELECT $5, ${landedDetail('$4::text')}) merged)
    FROM folded
    WHERE results.workspace_id = folded.workspace_id AND results.experiment_id = folded.experiment_id
      AND results.result_id = folded.result_id
      AND (NOT results.scores ? $5
           OR EXISTS (
             SELECT FROM human_scores s
             WHERE s.workspace_id = results.workspace_id AND s.scorer_id = $4
               AND s.score_id = results.score_details -> $5 #>> '{metadata,score_ids,0}'
               AND s.target_id IN (results.result_id, results.trace_id, results.session_id)
               AND (results.score_details -> $5 ->> 'scorer_version')::integer <= folded.scorer_version))
    RETURNING results.result_id`;

/** What is to land. */
export interface HumanLanding {
  scorerId: string;
  /** The scorer's: what the score is called in results. */
  name: string;
  /** Of the definition's output. */
  outputSha256: string;
  minAnnotations: number;
  at: Date;
}

/** Where people's scores reach results. All is in the transaction that keeps the score. */
@Injectable()
export class HumanLandingRepository {
  constructor(private readonly database: Database) {}

  /** A result by its id alone, and what it names. */
  async findResult(scope: Scope, id: string): Promise<NamingResultKey | null> {
    const [row] = await this.database.query<NamingResultKey>(FIND_RESULT, [scope.workspaceId, id]);
    return row ?? null;
  }

  /**
   * The results that a trace's or a session's score is about: the newest that name it. Until the transaction ends no
   * further one is uploaded: an upload holds what it names shared, so that either the results are here, or the upload
   * sees the score (`UploadLandingRepository`). As others wait for this lock, their experiments are locked before it:
   * one that is being finalized is waited for without it.
   */
  async naming(tx: Tx, scope: Scope, kind: 'trace' | 'session', id: string): Promise<ResultKey[]> {
    await tx.query(LOCK_NAMING[kind], [scope.workspaceId, id]);
    await tx.query(LOCK_NAME, [scope.workspaceId, namePartOf(id)]);
    return tx.query<ResultKey>(NAMING[kind], [scope.workspaceId, id]);
  }

  /**
   * Puts what people say of these results into those whose experiment runs, where enough of them have. Experiments are
   * locked shared, in the order of their ids: one that is being finalized is waited for, and one that is final takes
   * nothing. Then the results, in the order of theirs, as hosted scoring locks them. What people say is read after
   * that, so that of two who score at once the second has both.
   */
  async land(tx: Tx, scope: Scope, results: readonly ResultKey[], landing: HumanLanding): Promise<void> {
    const named = [...new Set(results.map((result) => result.experiment_id))];
    const running = await tx.query<{ experiment_id: string }>(LOCK_RUNNING, [scope.workspaceId, named]);
    const isRunning = new Set(running.map((experiment) => experiment.experiment_id));
    const reached = results.filter((result) => isRunning.has(result.experiment_id));
    if (reached.length === 0) return;
    const locked = await tx.query<NamingResultKey>(LOCK_RESULTS, [
      scope.workspaceId,
      reached.map((result) => result.experiment_id),
      reached.map((result) => result.result_id),
    ]);
    await tx.query(LAND, [
      scope.workspaceId,
      locked.map((result) => result.experiment_id),
      locked.map((result) => result.result_id),
      landing.scorerId,
      landing.name,
      landing.outputSha256,
      landing.minAnnotations,
      landing.at,
      locked.map((result) => result.trace_id),
      locked.map((result) => result.session_id),
    ]);
  }
}

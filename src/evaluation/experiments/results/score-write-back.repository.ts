import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { raw, sql, type Tx } from '#platform/db';
import type { RawJson } from '#platform/json';
import { ExperimentRepository } from '../experiments/experiment.repository';
import type { ResultKey } from './result.repository';

/** Results that a score of a trace or a session reaches: the newest that name it. */
export const REACHED_RESULTS_MAX = 1_000;

export type NewResult = Pick<ResultKey, 'result_id' | 'trace_id' | 'session_id'>;
export type ResultId = Pick<ResultKey, 'experiment_id' | 'result_id'>;

/** All scores of a result after a write-back. */
export interface WrittenBackScores {
  result_id: string;
  scores: Record<string, number | null>;
  score_details: RawJson;
}

/** The human scores that are written back: those of a scorer, by versions with the same output. */
export interface HumanScoreWriteBack {
  scorerId: string;
  /** The scorer's name, which is the score's name in results. */
  name: string;
  /** Digest of the definition's output. */
  outputSha256: string;
  minAnnotations: number;
  at: Date;
}

/** What one scorer's human scores of a result come to. Means are exact, as `numeric`. */
const FOLDED = raw(`count(*) AS annotation_count, max(scorer_version) AS scorer_version,
       avg(score::text::numeric) AS mean,
       CASE WHEN count(choice) = count(*) AND min(choice) = max(choice) THEN min(choice) END AS label,
       (array_agg(comment ORDER BY score_id DESC) FILTER (WHERE comment IS NOT NULL))[1] AS comment,
       (array_agg(score_id ORDER BY score_id DESC))[1:100] AS score_ids`);

/** The mean in a result's `scores`. It is 0 where it is too small for a double. */
const MEAN = raw('CASE WHEN abs(folded.mean) < 2.5e-324 THEN 0 ELSE folded.mean::float8 END');

/** The entry in a result's `score_details`. */
const DETAIL = raw(`json_strip_nulls(json_build_object(
  'metadata', json_build_object('annotation_count', folded.annotation_count, 'score_ids', folded.score_ids),
  'comment', folded.comment, 'label', folded.label,
  'scorer_id', folded.scorer_id, 'scorer_version', folded.scorer_version))`);

/**
 * Writes human scores back into results, in the transaction that keeps the score or the result.
 *
 * Statements are not prepared: the same one reaches one result or a thousand, and a plan made while tables were small
 * took 25 times as long once they were not. Scores and results are looked up by keys that the rows carry, which
 * `OFFSET 0` and MATERIALIZED keep from being replaced by parameters. PostgreSQL expects no rows for a workspace that
 * its statistics do not know, and would read the whole table for each key.
 */
@Injectable()
export class ScoreWriteBackRepository {
  constructor(private readonly experiments: ExperimentRepository) {}

  /**
   * Writes the human scores of the traces and sessions that new results name into these results, as if the newest score
   * by each output were given now. A score of the same name that the client uploaded stays. Of several outputs of one
   * scorer the one of the highest version counts. An archived scorer writes nothing. Returns the results that changed.
   */
  intoNewResults(
    tx: Tx,
    { workspaceId }: Scope,
    experimentId: string,
    results: readonly NewResult[],
  ): Promise<WrittenBackScores[]> {
    return tx.query<WrittenBackScores>(
      sql`WITH given AS MATERIALIZED (
          SELECT new.result_id, s.scorer_id, s.output_sha256, s.created_by, s.score_id, s.scorer_version, s.score,
                 s.choice, s.comment
          FROM (SELECT ${workspaceId}::text AS workspace_id, ids.*
                FROM unnest(${results.map((one) => one.result_id)}::text[],
                            ${results.map((one) => one.trace_id)}::text[],
                            ${results.map((one) => one.session_id)}::text[])
                  AS ids(result_id, trace_id, session_id) OFFSET 0) new
          CROSS JOIN LATERAL (VALUES ('trace', new.trace_id), ('session', new.session_id)) AS target(kind, id)
          JOIN human_scores s ON s.workspace_id = new.workspace_id AND s.target_kind = target.kind
            AND s.target_id = target.id AND s.target_kind <> 'result' AND s.superseded_by_score_id IS NULL
        ), noted AS (
          INSERT INTO human_score_experiments (experiment_id, score_id, workspace_id)
          SELECT DISTINCT ${experimentId}::text, score_id, ${workspaceId}::text FROM given ORDER BY score_id
          ON CONFLICT DO NOTHING
        ), opinion AS (
          SELECT DISTINCT ON (result_id, scorer_id, output_sha256, created_by) * FROM given
          ORDER BY result_id, scorer_id, output_sha256, created_by, score_id DESC
        ), folded AS (
          SELECT result_id, scorer_id, ${FOLDED},
                 (array_agg(scorer_version ORDER BY score_id DESC))[1] AS newest_version
          FROM opinion GROUP BY result_id, scorer_id, output_sha256
        ), counted AS MATERIALIZED (
          SELECT DISTINCT ON (folded.result_id, folded.scorer_id) ${workspaceId}::text AS workspace_id,
                 ${experimentId}::text AS experiment_id, folded.result_id, scorer.name, ${MEAN} AS mean,
                 ${DETAIL} AS detail
          FROM folded
          JOIN scorers scorer ON scorer.workspace_id = ${workspaceId} AND scorer.scorer_id = folded.scorer_id
            AND scorer.archived_at IS NULL
          JOIN scorer_versions version ON version.workspace_id = ${workspaceId}
            AND version.scorer_id = folded.scorer_id AND version.scorer_version = folded.newest_version
          WHERE folded.annotation_count >= coalesce((version.definition ->> 'min_annotations')::numeric, 1)
          ORDER BY folded.result_id, folded.scorer_id, folded.scorer_version DESC
        ), written AS MATERIALIZED (
          SELECT workspace_id, experiment_id, result_id, jsonb_object_agg(counted.name, counted.mean) AS scores,
                 json_object_agg(counted.name, counted.detail ORDER BY counted.name) AS score_details
          FROM counted JOIN results r USING (workspace_id, experiment_id, result_id)
          WHERE NOT r.scores ? counted.name GROUP BY workspace_id, experiment_id, result_id
        )
        UPDATE results SET scores = results.scores || written.scores,
          score_details = (
            SELECT json_object_agg(key, value) FROM (
              SELECT key, value FROM json_each(results.score_details)
              UNION ALL SELECT key, value FROM json_each(written.score_details)) merged)
        FROM written
        WHERE results.workspace_id = written.workspace_id AND results.experiment_id = written.experiment_id
          AND results.result_id = written.result_id
        RETURNING results.result_id, results.scores, results.score_details`,
    );
  }

  /**
   * Finds the newest results that name a trace or a session, and keeps further ones from being uploaded until the
   * transaction ends. An upload holds the names of its results shared, so either its results are found here, or it
   * finds the score. The experiments are locked before the name, because one that is being finalized is waited for, and
   * others wait for the name.
   */
  async resultsNaming(tx: Tx, scope: Scope, kind: 'trace' | 'session', id: string): Promise<ResultId[]> {
    const { workspaceId } = scope;
    const newest = sql`SELECT experiment_id, result_id FROM results
      WHERE workspace_id = ${workspaceId} AND ${raw(kind === 'trace' ? 'trace_id' : 'session_id')} = ${id}
      ORDER BY result_id DESC LIMIT ${raw(String(REACHED_RESULTS_MAX))}`;
    await tx.query(sql`SELECT experiment_id FROM experiments
      WHERE workspace_id = ${workspaceId}
        AND experiment_id = ANY (ARRAY(SELECT experiment_id FROM (${newest}) naming))
        AND experiment_status = 'running' AND archived_at IS NULL
      ORDER BY experiment_id FOR SHARE`);
    await this.experiments.lockName(tx, scope, id);
    return tx.query<ResultId>(newest);
  }

  /**
   * Writes human scores back into these results, where their experiment runs and enough people have scored. Experiments
   * are locked shared, in the order of their ids: one that is being finalized is waited for, and a final one takes
   * nothing. Then the results are locked in the order of theirs, as hosted scoring locks them. The scores are read after
   * that, so that the second of two who score at once has both.
   */
  async intoResults(
    tx: Tx,
    { workspaceId }: Scope,
    results: readonly ResultId[],
    score: HumanScoreWriteBack,
  ): Promise<void> {
    const named = [...new Set(results.map((result) => result.experiment_id))];
    const running = await tx.query<{ experiment_id: string }>(
      sql`SELECT experiment_id FROM experiments
        WHERE workspace_id = ${workspaceId} AND experiment_id = ANY (${named}::text[])
          AND experiment_status = 'running' AND archived_at IS NULL
        ORDER BY experiment_id FOR SHARE`,
    );
    const isRunning = new Set(running.map((experiment) => experiment.experiment_id));
    const reached = results.filter((result) => isRunning.has(result.experiment_id));
    if (reached.length === 0) return;
    const locked = await tx.query<ResultKey>(
      sql`SELECT r.experiment_id, r.result_id, r.trace_id, r.session_id
        FROM (SELECT ${workspaceId}::text AS workspace_id, *
              FROM unnest(${reached.map((one) => one.experiment_id)}::text[],
                          ${reached.map((one) => one.result_id)}::text[]) AS ids(experiment_id, result_id)
              OFFSET 0) given
        JOIN results r USING (workspace_id, experiment_id, result_id)
        ORDER BY r.result_id FOR UPDATE OF r`,
    );
    await this.write(tx, workspaceId, locked, score);
  }

  /**
   * Of each person the newest present score of the result, its trace or its session counts. A score under the scorer's
   * name stays, unless it is a write-back of this very result by this very scorer, by no newer version. What the results
   * name is passed and not read again, because the planner knows how many rows arrays have.
   */
  private async write(
    tx: Tx,
    workspaceId: string,
    results: readonly ResultKey[],
    { scorerId, name, outputSha256, minAnnotations, at }: HumanScoreWriteBack,
  ): Promise<void> {
    const scoreName = sql`${name}::text`;
    await tx.query(
      sql`WITH opinion AS (
          SELECT DISTINCT ON (reached.result_id, s.created_by)
                 reached.workspace_id, reached.experiment_id, reached.result_id, reached.scorer_id, s.score_id,
                 s.scorer_version, s.score, s.choice, s.comment
          FROM (SELECT ${workspaceId}::text AS workspace_id, ${scorerId}::text AS scorer_id, ids.*
                FROM unnest(${results.map((one) => one.experiment_id)}::text[],
                            ${results.map((one) => one.result_id)}::text[],
                            ${results.map((one) => one.trace_id)}::text[],
                            ${results.map((one) => one.session_id)}::text[])
                  AS ids(experiment_id, result_id, trace_id, session_id) OFFSET 0) reached
          CROSS JOIN LATERAL (VALUES ('result', reached.result_id), ('trace', reached.trace_id),
                                     ('session', reached.session_id)) AS target(kind, id)
          JOIN human_scores s ON s.workspace_id = reached.workspace_id AND s.scorer_id = reached.scorer_id
            AND s.target_kind = target.kind AND s.target_id = target.id AND s.superseded_by_score_id IS NULL
            AND s.output_sha256 = ${outputSha256}
          ORDER BY reached.result_id, s.created_by, s.score_id DESC
        ), folded AS MATERIALIZED (
          SELECT workspace_id, experiment_id, result_id, scorer_id, ${FOLDED} FROM opinion
          GROUP BY workspace_id, experiment_id, result_id, scorer_id HAVING count(*) >= ${minAnnotations}
        )
        UPDATE results SET updated_at = ${at},
          scores = results.scores || jsonb_build_object(${scoreName}, ${MEAN}),
          score_details = (
            SELECT json_object_agg(key, value) FROM (
              SELECT key, value FROM json_each(results.score_details) WHERE key <> ${scoreName}
              UNION ALL SELECT ${scoreName}, ${DETAIL}) merged)
        FROM folded
        WHERE results.workspace_id = folded.workspace_id AND results.experiment_id = folded.experiment_id
          AND results.result_id = folded.result_id
          AND (NOT results.scores ? ${scoreName}
               OR EXISTS (
                 SELECT FROM human_scores s
                 WHERE s.workspace_id = results.workspace_id AND s.scorer_id = ${scorerId}
                   AND s.score_id = results.score_details -> ${scoreName} #>> '{metadata,score_ids,0}'
                   AND s.target_id IN (results.result_id, results.trace_id, results.session_id)
                   AND (results.score_details -> ${scoreName} ->> 'scorer_version')::integer <= folded.scorer_version))`,
    );
  }
}

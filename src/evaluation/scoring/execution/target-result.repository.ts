import { Injectable } from '@nestjs/common';
import { Database, prepared, sql, type Tx } from '#platform/db';
import { toRawJson } from '#platform/json';
import { cutComment, REPLACE_SCORE } from '../../experiments';
import type { ScoredItem, TargetKind } from '../../scores';
import { isResult, type ScoringTarget } from '../runs/score-run.entity';
import { isRun, type RunKey } from './run-execution.repository';

/** A score to write back to the result that is the target. */
export interface WriteBack {
  /** Name of the scorer, which is the key of the score in the result. */
  name: string;
  /** Null when the scorer abstained. */
  score: number | null;
  /** Identifies the score's origin: `scorer_id`, and `metadata` with `score_run_id`. */
  detail: object;
}

/** A target that was scored. */
export interface ScoredTarget {
  target: ScoringTarget;
  scoreId: string;
  item: ScoredItem;
  /** Null for a target that is not a result, and for a target that failed. */
  writeBack: WriteBack | null;
}

/** Stores the results of targets, and writes scores back to the results of experiments. */
@Injectable()
export class TargetResultRepository {
  constructor(private readonly database: Database) {}

  /**
   * Stores the results of targets of one run in one transaction. If a target is a result, also stores its score for
   * comparisons and, in a running experiment, writes it back to the result. Returns for each target whether it was stored.
   * Stores nothing for a target that already has a result, and nothing at all if the run has ended.
   *
   * A result that was replaced since it was selected gets no score. A score of the same name in the result is replaced only
   * if the same version of the scorer, or an older one, wrote it.
   */
  async store(run: RunKey, scored: readonly ScoredTarget[]): Promise<boolean[]> {
    // Runs over the same targets lock them in this order, so that they do not deadlock.
    const ordered = [...scored].sort((a, b) => (ownIdOf(a.target)! < ownIdOf(b.target)! ? -1 : 1));
    const stored = await this.database.transaction(async (tx) => {
      const ofScore = ordered.filter(({ item }) => item.error === undefined).map(({ target }) => target);
      await this.lockTargets(
        tx,
        run,
        ofScore.filter((target) => !isResult(target)),
      );
      await this.lockResults(tx, run, ofScore.filter(isResult));
      return this.insert(tx, run, ordered);
    });
    return scored.map(({ target }) => stored.has(target.ordinal));
  }

  /** Locks traces and sessions for the scorer version of a run, so that later scores supersede those of this run. */
  private async lockTargets(tx: Tx, run: RunKey, targets: readonly ScoringTarget[]): Promise<void> {
    if (targets.length === 0) return;
    await tx.query(
      prepared(
        'score-run.lock-targets',
        sql`SELECT count(pg_advisory_xact_lock(
              hashtextextended(format('hosted score %s %s %s', r.scorer_id, r.scorer_version, ids.id), 0)))
            FROM unnest(${targets.map(ownIdOf)}::text[]) AS ids(id) CROSS JOIN score_runs r WHERE ${isRun(run)}`,
      ),
    );
  }

  /**
   * Locks the experiments, which waits for finalizations in progress, and then the results, so that the next statement sees
   * what other runs have written to them. All writers lock results in the order of their ids.
   */
  private async lockResults(
    tx: Tx,
    { workspace_id }: RunKey,
    targets: readonly ScoringTarget[],
  ): Promise<void> {
    if (targets.length === 0) return;
    const experimentIds = targets.map((target) => target.result_experiment_id);
    await tx.query(
      sql`SELECT 1 FROM experiments WHERE workspace_id = ${workspace_id}
          AND experiment_id = ANY (${[...new Set(experimentIds)]}::text[])
        ORDER BY experiment_id FOR SHARE`,
    );
    // OFFSET 0 makes PostgreSQL look up each result by its key, even in a workspace without statistics.
    await tx.query(
      sql`SELECT 1
        FROM (SELECT ${workspace_id}::text AS workspace_id, *
              FROM unnest(${experimentIds}::text[], ${targets.map((target) => target.result_id)}::text[])
                AS ids(experiment_id, result_id)
              OFFSET 0) keys
        JOIN results r USING (workspace_id, experiment_id, result_id)
        ORDER BY r.result_id FOR UPDATE OF r`,
    );
  }

  /**
   * Inserts the results of targets and their scores, and writes scores back to results. Returns the ordinals of the stored
   * targets. The statement is not prepared, because a plan made while the tables were small would read all of them later.
   */
  private async insert(tx: Tx, run: RunKey, scored: readonly ScoredTarget[]): Promise<ReadonlySet<number>> {
    const rows = await tx.query<{ ordinal: number }>(
      sql`WITH run AS MATERIALIZED (
          SELECT * FROM score_runs r WHERE ${isRun(run)} AND r.run_status = 'running'
        ), scored_target AS MATERIALIZED (
          SELECT scored_target.*, run.score_run_id, run.workspace_id, run.scorer_id, run.scorer_version, run.grain,
                 run.created_by
          FROM run CROSS JOIN json_to_recordset(${toRawJson(scored.map(toRow))}::json) AS scored_target(
            ordinal integer, score_id text, target_kind text, target_id text, trace_id text, session_id text,
            experiment_id text, result_id text, result_version integer, case_id text, score float8, choice text,
            confidence float8, probabilities json, answers json, reasoning text, comment text, backend text, model text,
            error text, elapsed_ms integer, cost_usd float8, request_sha256 text, is_cached boolean, samples json,
            name text, detail json)
        ), result_state AS MATERIALIZED (
          SELECT scored_target.ordinal, r.experiment_id, r.result_id, r.workspace_id, scored_target.name,
                 e.experiment_status <> 'running' AS is_late,
                 e.experiment_status = 'running' AND e.archived_at IS NULL AND (NOT r.scores ? scored_target.name OR EXISTS (
                   SELECT FROM score_runs earlier
                   WHERE earlier.score_run_id = r.score_details -> scored_target.name #>> '{metadata,score_run_id}'
                     AND earlier.workspace_id = scored_target.workspace_id AND earlier.scorer_id = scored_target.scorer_id
                     AND earlier.scorer_version <= scored_target.scorer_version)) AS is_written
          FROM scored_target
          CROSS JOIN LATERAL (
            SELECT experiment_status, archived_at FROM experiments
            WHERE experiment_id = scored_target.experiment_id AND workspace_id = scored_target.workspace_id OFFSET 0
          ) e
          CROSS JOIN LATERAL (
            SELECT * FROM results
            WHERE experiment_id = scored_target.experiment_id AND result_id = scored_target.result_id
              AND workspace_id = scored_target.workspace_id OFFSET 0
          ) r
          WHERE scored_target.name IS NOT NULL AND r.version = scored_target.result_version
        ), inserted AS (
          INSERT INTO score_results (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                     trace_id, session_id, experiment_id, result_id, result_version, case_id, score,
                                     choice, confidence, probabilities, answers, reasoning, backend, model, error,
                                     elapsed_ms, cost_usd, request_sha256, is_cached, samples, is_written_back)
          SELECT score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain, trace_id, session_id,
                 experiment_id, result_id, result_version, case_id, score, choice, confidence, probabilities, answers,
                 reasoning, backend, model, error, elapsed_ms, cost_usd, request_sha256, is_cached, samples,
                 CASE WHEN name IS NOT NULL THEN coalesce(
                   (SELECT is_written FROM result_state WHERE result_state.ordinal = scored_target.ordinal), false) END
          FROM scored_target ORDER BY ordinal -- like the end of a run, which may insert the same keys
          ON CONFLICT (score_run_id, ordinal) DO NOTHING
          RETURNING ordinal, created_at
        ), new_score AS MATERIALIZED (
          SELECT scored_target.*, inserted.created_at, result_state.is_late, result_state.is_written,
                 result_state.ordinal IS NOT NULL OR scored_target.result_id IS NULL AS is_current
          FROM inserted JOIN scored_target USING (ordinal) LEFT JOIN result_state USING (ordinal)
          WHERE scored_target.error IS NULL
        ), earlier_score AS MATERIALIZED (
          SELECT own.score_id, new_score.score_id AS superseded_by_score_id, new_score.created_at
          FROM new_score CROSS JOIN LATERAL (
            SELECT * FROM scores
            WHERE scores.workspace_id = new_score.workspace_id AND source = 'hosted' AND superseded_at IS NULL
              AND (scores.scorer_id, scores.scorer_version, scores.target_kind, scores.target_id)
                  >= (new_score.scorer_id, new_score.scorer_version, new_score.target_kind, new_score.target_id)
            ORDER BY scorer_id, scorer_version, target_kind, target_id LIMIT 1
          ) own
          WHERE new_score.is_current AND own.scorer_id = new_score.scorer_id AND own.scorer_version = new_score.scorer_version
            AND own.target_kind = new_score.target_kind AND own.target_id = new_score.target_id
        ), superseded AS (
          UPDATE scores SET superseded_by_score_id = earlier_score.superseded_by_score_id, superseded_at = earlier_score.created_at
          FROM earlier_score
          WHERE scores.workspace_id = ${run.workspace_id} AND scores.score_id = ANY (ARRAY(SELECT score_id FROM earlier_score))
            AND scores.score_id = earlier_score.score_id AND scores.superseded_at IS NULL
          RETURNING scores.score_id, earlier_score.superseded_by_score_id
        ), inserted_score AS (
          INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source,
                              target_kind, trace_id, session_id, experiment_id, result_id, result_version, case_id,
                              score, label, answers, comment, score_run_id, supersedes_score_id, superseded_at,
                              created_at, created_by)
          SELECT score_id, workspace_id, scorer_id, scorer_version, scorer.scorer_kind, scorer.name, 'hosted',
                 target_kind, trace_id, session_id, experiment_id, result_id, result_version, case_id, score, choice,
                 answers, comment, score_run_id,
                 (SELECT max(score_id) FROM superseded WHERE superseded.superseded_by_score_id = new_score.score_id),
                 CASE WHEN NOT is_current THEN created_at END, created_at, created_by
          FROM new_score CROSS JOIN (
            SELECT s.scorer_kind, s.name FROM run JOIN scorers s USING (workspace_id, scorer_id)
          ) scorer
        ), updated_result AS (
          UPDATE results
          SET scores = results.scores || jsonb_build_object(new_score.name, new_score.score), updated_at = now(),
              score_details = (
                SELECT json_object_agg(key, value) FROM (
                  SELECT key, value FROM json_each(results.score_details) WHERE key <> new_score.name
                  UNION ALL SELECT new_score.name, new_score.detail) merged)
          FROM new_score
          WHERE results.workspace_id = ${run.workspace_id}
            AND results.experiment_id = ANY (ARRAY(SELECT DISTINCT experiment_id FROM result_state))
            AND results.result_id = ANY (ARRAY(SELECT result_id FROM result_state))
            AND results.experiment_id = new_score.experiment_id AND results.result_id = new_score.result_id
            AND new_score.is_written
        ), hidden AS (
          UPDATE result_scores s SET is_shown = false
          FROM new_score
          WHERE s.workspace_id = ${run.workspace_id}
            AND s.experiment_id = ANY (ARRAY(SELECT DISTINCT experiment_id FROM result_state))
            AND s.result_id = ANY (ARRAY(SELECT result_id FROM result_state))
            AND s.experiment_id = new_score.experiment_id AND s.result_id = new_score.result_id
            AND s.scorer = new_score.name AND s.is_shown AND new_score.is_written
            AND NOT (s.source = 'hosted' AND s.scorer_version = new_score.scorer_version)
        ), upserted_score AS (
          INSERT INTO result_scores AS existing (experiment_id, scorer, scorer_version, result_id, source, workspace_id,
                                                 scorer_id, score, is_shown, is_late)
          SELECT experiment_id, name, scorer_version, result_id, 'hosted', workspace_id, scorer_id, score, is_written,
                 is_late
          FROM new_score WHERE is_written IS NOT NULL
          ${REPLACE_SCORE}
        )
        SELECT ordinal FROM inserted`,
    );
    return new Set(rows.map(({ ordinal }) => ordinal));
  }
}

/** The columns of a target that was scored; absent members are null. */
const toRow = ({ target, scoreId, item, writeBack }: ScoredTarget): object => ({
  ordinal: target.ordinal,
  score_id: scoreId,
  target_kind: targetKindOf(target),
  target_id: ownIdOf(target),
  trace_id: target.trace_id,
  session_id: target.session_id,
  ...(isResult(target) && {
    experiment_id: target.result_experiment_id,
    result_id: target.result_id,
    result_version: target.result_version,
  }),
  case_id: target.case_id,
  ...item,
  ...(item.reasoning !== undefined && { comment: cutComment(item.reasoning) }),
  ...(writeBack && { name: writeBack.name, detail: writeBack.detail }),
});

const targetKindOf = (target: ScoringTarget): TargetKind =>
  isResult(target) ? 'result' : target.trace_id !== null ? 'trace' : 'session';

/** Returns the id of the target alone, without a version. */
const ownIdOf = (target: ScoringTarget): string | null =>
  isResult(target) ? target.result_id : (target.trace_id ?? target.session_id);

import { Injectable } from '@nestjs/common';
import { Database, prepared, sql, type SqlExecutor, type Tx } from '#platform/db';
import { retry } from '#platform/concurrency';
import { type RawJson, toRawJson } from '#platform/json';
import { duplicateOf } from '#platform/problem';
import { cut, REPLACES_COUNTED } from '../../experiments';
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

/** Stores the results of targets, and writes scores back to the results of experiments. */
@Injectable()
export class TargetResultRepository {
  constructor(private readonly database: Database) {}

  /**
   * Stores the result of one target. If the target is a result, also stores its score for comparisons and, in a running
   * experiment, writes it back to the result. Returns false, and writes nothing, if the target already has a result or the
   * run has ended.
   *
   * A result that was replaced since it was selected gets no score. Replaces a score of the same name in the result only if
   * the same scorer wrote it, in the same or an older version.
   */
  async store(
    run: RunKey,
    target: ScoringTarget,
    scoreId: string,
    item: ScoredItem,
    writeBack: WriteBack | null,
  ): Promise<boolean> {
    const store = (): Promise<boolean> =>
      writeBack
        ? this.database.transaction(async (tx) => {
            await this.lockResult(tx, run, target);
            return this.storeOn(tx, run, target, scoreId, item, writeBack);
          })
        : this.storeOn(this.database, run, target, scoreId, item, null);
    // two runs that score one target at the same time: the second supersedes the first
    return retry(store, { isRetryable: (error) => duplicateOf(error) === 'scores_hosted', firstDelayMs: 10 });
  }

  /**
   * Locks the experiment, which waits for a finalization in progress, and then the result, so that the next statement sees
   * what other runs have written to it. Each transaction locks one result, so runs cannot deadlock.
   */
  private async lockResult(tx: Tx, { workspace_id }: RunKey, target: ScoringTarget): Promise<void> {
    await tx.query(
      prepared(
        'score-run.lock-result',
        sql`WITH experiment AS MATERIALIZED (
            SELECT experiment_id FROM experiments
            WHERE experiment_id = ${target.result_experiment_id} AND workspace_id = ${workspace_id} FOR SHARE
          )
          SELECT 1 FROM experiment JOIN results r USING (experiment_id)
          WHERE r.result_id = ${target.result_id} AND r.workspace_id = ${workspace_id} FOR UPDATE OF r`,
      ),
    );
  }

  private async storeOn(
    on: SqlExecutor,
    run: RunKey,
    target: ScoringTarget,
    scoreId: string,
    item: ScoredItem,
    writeBack: WriteBack | null,
  ): Promise<boolean> {
    const name = sql`${writeBack?.name ?? null}::text`;
    const score = sql`${writeBack?.score ?? null}::float8`;
    const experimentId = isResult(target) ? target.result_experiment_id : null;
    const resultId = isResult(target) ? target.result_id : null;
    const comment = sql`${item.reasoning === undefined ? null : cut(item.reasoning)}::text`;
    const [row] = await on.query<{ stored: number }>(
      prepared(
        'score-run.store',
        sql`WITH run AS MATERIALIZED (
            SELECT * FROM score_runs r WHERE ${isRun(run)} AND r.run_status = 'running'
          ), decided AS MATERIALIZED (
            SELECT r.experiment_id, r.result_id, r.workspace_id, e.experiment_status <> 'running' AS is_late,
                   e.experiment_status = 'running' AND e.archived_at IS NULL AND (NOT r.scores ? ${name} OR EXISTS (
                     SELECT FROM score_runs earlier
                     WHERE earlier.score_run_id = r.score_details -> ${name} #>> '{metadata,score_run_id}'
                       AND earlier.workspace_id = run.workspace_id AND earlier.scorer_id = run.scorer_id
                       AND earlier.scorer_version <= run.scorer_version)) AS is_written
            FROM run JOIN experiments e ON e.experiment_id = ${experimentId} AND e.workspace_id = run.workspace_id
            JOIN results r ON r.experiment_id = e.experiment_id AND r.result_id = ${resultId}
              AND r.workspace_id = run.workspace_id AND r.version = ${target.result_version}::integer
            WHERE ${name} IS NOT NULL
          ), stored AS (
            INSERT INTO score_results (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                       trace_id, session_id, experiment_id, result_id, result_version, case_id, score,
                                       choice, confidence, probabilities, answers, reasoning, backend, model, error,
                                       elapsed_ms, cost_usd, request_sha256, is_cached, samples, is_written_back)
            SELECT run.score_run_id, ${target.ordinal}, ${scoreId}, run.workspace_id, run.scorer_id, run.scorer_version,
                   run.grain, ${target.trace_id}, ${target.session_id}, ${experimentId}, ${resultId},
                   ${target.result_version}, ${target.case_id}, ${item.score ?? null}, ${item.choice ?? null},
                   ${item.confidence ?? null}, ${jsonOrNull(item.probabilities)}, ${jsonOrNull(item.answers)},
                   ${item.reasoning ?? null}, ${item.backend ?? null}, ${item.model ?? null}, ${item.error ?? null},
                   ${item.elapsed_ms}, ${item.cost_usd ?? null}, ${item.request_sha256 ?? null},
                   ${item.is_cached ?? null}, ${jsonOrNull(item.samples)},
                   CASE WHEN ${name} IS NOT NULL THEN coalesce((SELECT is_written FROM decided), false) END
            FROM run
            ON CONFLICT (score_run_id, ordinal) DO NOTHING
            RETURNING *
          ), superseded AS (
            UPDATE scores SET superseded_by_score_id = stored.score_id, superseded_at = stored.created_at
            FROM stored
            WHERE stored.error IS NULL AND scores.workspace_id = stored.workspace_id
              AND scores.scorer_id = stored.scorer_id AND scores.scorer_version = stored.scorer_version
              AND scores.target_kind = ${targetKindOf(target)} AND scores.target_id = ${ownIdOf(target)}
              AND scores.source = 'hosted' AND scores.superseded_at IS NULL
              AND (stored.result_id IS NULL OR EXISTS (SELECT FROM decided))
            RETURNING scores.score_id
          ), listed AS (
            INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source,
                                target_kind, trace_id, session_id, experiment_id, result_id, result_version, case_id,
                                score, label, answers, comment, score_run_id, supersedes_score_id, superseded_at,
                                created_at, created_by)
            SELECT stored.score_id, stored.workspace_id, stored.scorer_id, stored.scorer_version, scorer.scorer_kind,
                   scorer.name, 'hosted', ${targetKindOf(target)}, stored.trace_id, stored.session_id,
                   stored.experiment_id, stored.result_id, stored.result_version, stored.case_id, stored.score,
                   stored.choice, stored.answers, ${comment}, stored.score_run_id,
                   (SELECT max(score_id) FROM superseded),
                   CASE WHEN stored.result_id IS NOT NULL AND NOT EXISTS (SELECT FROM decided)
                        THEN stored.created_at END,
                   stored.created_at, run.created_by
            FROM stored CROSS JOIN run
            JOIN scorers scorer ON scorer.workspace_id = run.workspace_id AND scorer.scorer_id = run.scorer_id
            WHERE stored.error IS NULL
            RETURNING 1
          ), written AS (
            UPDATE results
            SET scores = results.scores || jsonb_build_object(${name}, ${score}), updated_at = now(),
                score_details = (
                  SELECT json_object_agg(key, value) FROM (
                    SELECT key, value FROM json_each(results.score_details) WHERE key <> ${name}
                    UNION ALL SELECT ${name}, ${jsonOrNull(writeBack?.detail)}::json) merged)
            FROM decided CROSS JOIN stored
            WHERE results.experiment_id = decided.experiment_id AND results.result_id = decided.result_id
              AND results.workspace_id = decided.workspace_id AND is_written
            RETURNING 1
          ), hidden AS (
            UPDATE result_scores s SET is_shown = false
            FROM decided CROSS JOIN stored
            WHERE s.experiment_id = decided.experiment_id AND s.result_id = decided.result_id
              AND s.workspace_id = decided.workspace_id AND s.scorer = ${name} AND s.is_shown AND is_written
              AND NOT (s.source = 'hosted' AND s.scorer_version = stored.scorer_version)
            RETURNING 1
          ), counted AS (
            INSERT INTO result_scores AS kept (experiment_id, scorer, scorer_version, result_id, source, workspace_id,
                                               scorer_id, score, is_shown, is_late)
            SELECT decided.experiment_id, ${name}, stored.scorer_version, decided.result_id, 'hosted',
                   decided.workspace_id, stored.scorer_id, ${score}, is_written, is_late
            FROM decided CROSS JOIN stored
            ${REPLACES_COUNTED}
            RETURNING 1
          )
          SELECT (SELECT count(*) FROM stored) AS stored, (SELECT count(*) FROM written) AS written,
                 (SELECT count(*) FROM hidden) AS hidden, (SELECT count(*) FROM counted) AS counted,
                 (SELECT count(*) FROM listed) AS listed`,
      ),
    );
    return row!.stored > 0;
  }
}

const targetKindOf = (target: ScoringTarget): TargetKind =>
  isResult(target) ? 'result' : target.trace_id !== null ? 'trace' : 'session';

/** Returns the id of the target alone, without a version. */
const ownIdOf = (target: ScoringTarget): string | null =>
  isResult(target) ? target.result_id : (target.trace_id ?? target.session_id);

const jsonOrNull = (value: object | undefined): RawJson | null => (value ? toRawJson(value) : null);

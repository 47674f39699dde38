import { Injectable } from '@nestjs/common';
import { empty, sql, type Sql, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import type { ErasureBatch, ErasureItemKind, ErasureRun } from '../../resources';
import { andOfErasedTrace, columnOf } from './erasure-passes.sql';

/** Runs with up to 100 targets each. */
const RUNS = 100;
const ANSWERS = 1_000;
const ERASED = 'The target was erased.';

/** Erases what scoring keeps about erased traces, sessions and results. */
@Injectable()
export class TargetErasureRepository {
  /** Removes targets that wait in open batches, one batch at a time. */
  async removeWaiting(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, isDryRun } = erasure;
    if (isDryRun) return { counts: {}, next: null };
    const [batch] = await tx.query<{ score_batch_id: string }>(
      sql`SELECT score_batch_id FROM score_batches
        WHERE workspace_id = ${workspaceId} AND batch_status IN ('selecting', 'queued', 'running')
          AND score_batch_id > ${cursor ?? ''}
        ORDER BY score_batch_id LIMIT 1 FOR UPDATE`,
    );
    if (!batch) return { counts: {}, next: null };
    const { score_batch_id: id } = batch;
    await tx.query(
      sql`WITH removed AS (
          DELETE FROM score_batch_targets t WHERE t.score_batch_id = ${id} AND ${isErased(erasure)} RETURNING 1)
        UPDATE score_batches SET total = total - (SELECT count(*) FROM removed)::integer
        WHERE score_batch_id = ${id} AND workspace_id = ${workspaceId} AND batch_status <> 'selecting'`,
    );
    return { counts: {}, next: id };
  }

  /**
   * Blanks the targets of runs, in the order of the runs. Their numbers stay. A target without an outcome gets an error, so that
   * a worker that is scoring it stores nothing.
   */
  async blankTargets(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, isDryRun } = erasure;
    if (isDryRun) return { counts: {}, next: null };
    const runs = await tx.query<{ score_run_id: string }>(
      sql`SELECT score_run_id FROM score_runs WHERE workspace_id = ${workspaceId} AND score_run_id > ${cursor ?? ''}
        ORDER BY score_run_id LIMIT ${RUNS}`,
    );
    const runIds = runs.map((row) => row.score_run_id);
    if (runIds.length === 0) return { counts: {}, next: null };
    const found = await tx.query<{ score_run_id: string; ordinal: number }>(
      sql`SELECT t.score_run_id, t.ordinal FROM score_targets t
        WHERE t.score_run_id = ANY (${runIds}::text[]) AND ${isErased(erasure)}
        ORDER BY t.score_run_id, t.ordinal FOR UPDATE`,
    );
    if (found.length > 0) await this.blank(tx, workspaceId, found);
    return { counts: {}, next: runIds.length < RUNS ? null : runIds.at(-1)! };
  }

  /** Deletes cached answers of judges that name no run, such as those of tests. */
  async deleteAnswers(tx: Tx, { workspaceId, isDryRun }: ErasureRun): Promise<ErasureBatch> {
    if (isDryRun) return { counts: {}, next: null };
    const deleted = await tx.query(
      sql`DELETE FROM judge_answers WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM judge_answers WHERE workspace_id = ${workspaceId} AND target_key IS NULL LIMIT ${ANSWERS}))
        RETURNING 1`,
    );
    return { counts: {}, next: deleted.length < ANSWERS ? null : 'answers' };
  }

  private async blank(
    tx: Tx,
    workspaceId: string,
    targets: readonly { score_run_id: string; ordinal: number }[],
  ): Promise<void> {
    const runIds = targets.map((row) => row.score_run_id);
    const ordinals = targets.map((row) => row.ordinal);
    const scoreIds = targets.map(() => newId('score'));
    const keys = sql`unnest(${runIds}::text[], ${ordinals}::integer[]) AS key(score_run_id, ordinal)`;
    await tx.query(
      sql`UPDATE score_targets t SET trace_id = NULL, session_id = NULL, is_erased = true FROM ${keys}
        WHERE t.score_run_id = key.score_run_id AND t.ordinal = key.ordinal`,
    );
    await tx.query(
      sql`INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                       target_id, error, elapsed_ms)
        SELECT r.score_run_id, t.ordinal, key.score_id, r.workspace_id, r.scorer_id, r.scorer_version, r.grain, t.target_id,
               ${ERASED}, 0
        FROM unnest(${runIds}::text[], ${ordinals}::integer[], ${scoreIds}::text[]) AS key(score_run_id, ordinal, score_id)
        JOIN score_runs r USING (score_run_id) JOIN score_targets t USING (score_run_id, ordinal)
        WHERE r.workspace_id = ${workspaceId} AND r.run_status IN ('queued', 'running')
        ORDER BY score_run_id, ordinal
        ON CONFLICT (score_run_id, ordinal) DO NOTHING`,
    );
    await tx.query(
      sql`UPDATE target_outcomes o
        SET target_id = t.target_id, error = CASE WHEN error IS NOT NULL THEN ${ERASED} END, reasoning = NULL, samples = NULL,
            probabilities = NULL, request_sha256 = NULL
        FROM ${keys} JOIN score_targets t USING (score_run_id, ordinal)
        WHERE o.score_run_id = key.score_run_id AND o.ordinal = key.ordinal AND o.workspace_id = ${workspaceId}`,
    );
    const targetKeys = targets.map((row) => `${row.score_run_id}:${row.ordinal}`);
    await tx.query(
      sql`DELETE FROM judge_answers
        WHERE workspace_id = ${workspaceId} AND target_key = ANY (${targetKeys}::text[])`,
    );
  }
}

/** Whether a target `t` is, or names, an erased trace, session or result. Deleted traces leave results as they are. */
const isErased = (erasure: ErasureRun): Sql => {
  const { erasureId, workspaceId, subject } = erasure;
  const isItem = (kind: ErasureItemKind): Sql =>
    sql`EXISTS (SELECT FROM erasure_items i WHERE i.erasure_id = ${erasureId} AND i.workspace_id = ${workspaceId}
      AND i.item_kind = ${kind} AND i.item_id = t.${columnOf(kind)})${andOfErasedTrace(erasure, kind, 't')}`;
  return sql`(${isItem('trace')} OR ${isItem('session')} OR ${isItem('result')})
    ${subject === 'traces' ? sql`AND t.result_id IS NULL` : empty}`;
};

import { Injectable } from '@nestjs/common';
import { prepared, sql, type Tx } from '#platform/db';

/** The error of a target that failed and whose trace was deleted later. */
const TRACE_DELETED = 'The trace was deleted.';

/** Traces as targets of runs and batches: which open ones use them, and what their outcomes contain. */
@Injectable()
export class TraceTargetRepository {
  /** Returns the traces that are targets of an open run or batch, with its name, such as `scoring run run_…`. */
  findOpen(
    tx: Tx,
    workspaceId: string,
    traceIds: readonly string[],
  ): Promise<{ trace_id: string; use: string }[]> {
    return tx.query(
      sql`SELECT DISTINCT ON (trace_id) trace_id, use FROM (
        SELECT w.target_id AS trace_id, 'scoring run ' || r.score_run_id AS use
        FROM score_runs r CROSS JOIN LATERAL (
          SELECT t.target_id FROM score_targets t
          WHERE t.score_run_id = r.score_run_id AND t.target_id = ANY (${traceIds}::text[]) AND t.trace_id IS NOT NULL
          OFFSET 0
        ) w WHERE r.workspace_id = ${workspaceId} AND r.run_status IN ('queued', 'running')
        UNION ALL
        SELECT ids.id, 'scoring batch ' || w.score_batch_id
        FROM unnest(${traceIds}::text[]) AS ids(id) CROSS JOIN LATERAL (
          SELECT b.score_batch_id FROM score_batch_targets t JOIN score_batches b USING (score_batch_id)
          WHERE t.target_id = ids.id AND t.trace_id IS NOT NULL AND b.workspace_id = ${workspaceId}
            AND b.batch_status IN ('queued', 'running') OFFSET 0
        ) w
      ) uses`,
    );
  }

  /**
   * Deletes what runs keep about traces: the content of outcomes and the cached answers of judges. Status and cost stay, so that
   * the counts of the runs stay true. An error, which may quote the trace, becomes a note.
   */
  async clear(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<void> {
    const targets = await tx.query<{ key: string }>(
      prepared(
        'score-target.mark-erased',
        sql`UPDATE score_targets t SET is_erased = true FROM (
            SELECT score_run_id, ordinal FROM target_outcomes
            WHERE workspace_id = ${workspaceId} AND target_id = ANY (${traceIds}::text[]) AND grain = 'trace'
            UNION
            SELECT t.score_run_id, t.ordinal FROM score_runs r JOIN score_targets t USING (score_run_id)
            WHERE r.workspace_id = ${workspaceId} AND r.run_status IN ('queued', 'running')
              AND t.target_id = ANY (${traceIds}::text[]) AND t.trace_id IS NOT NULL
          ) found
          WHERE t.score_run_id = found.score_run_id AND t.ordinal = found.ordinal
          RETURNING t.score_run_id || ':' || t.ordinal AS key`,
      ),
    );
    if (targets.length === 0) return;
    await tx.query(
      prepared(
        'target-outcome.clear',
        sql`UPDATE target_outcomes
          SET reasoning = NULL, samples = NULL, probabilities = NULL, request_sha256 = NULL,
              error = CASE WHEN error IS NOT NULL THEN ${TRACE_DELETED} END
          WHERE workspace_id = ${workspaceId} AND target_id = ANY (${traceIds}::text[]) AND grain = 'trace'`,
      ),
    );
    await tx.query(
      prepared(
        'judge-answer.delete-of-targets',
        sql`DELETE FROM judge_answers
          WHERE workspace_id = ${workspaceId} AND target_key = ANY (${targets.map(({ key }) => key)}::text[])`,
      ),
    );
  }
}

import { Injectable } from '@nestjs/common';
import { prepared, sql, type Tx } from '#platform/db';

/** Traces as targets of runs and batches: which open ones use them, and what their outcomes contain. */
@Injectable()
export class TraceTargetRepository {
  /** Returns the traces that are targets of an open run or batch, with its name, such as `score run run_…`. */
  findOpen(
    tx: Tx,
    workspaceId: string,
    traceIds: readonly string[],
  ): Promise<{ trace_id: string; use: string }[]> {
    return tx.query(
      sql`SELECT DISTINCT ON (trace_id) trace_id, use FROM (
        SELECT w.target_id AS trace_id, 'score run ' || r.score_run_id AS use
        FROM score_runs r CROSS JOIN LATERAL (
          SELECT t.target_id FROM score_targets t
          WHERE t.score_run_id = r.score_run_id AND t.target_id = ANY (${traceIds}::text[]) AND t.trace_id IS NOT NULL
          OFFSET 0
        ) w WHERE r.workspace_id = ${workspaceId} AND r.run_status IN ('queued', 'running')
        UNION ALL
        SELECT ids.id, 'score batch ' || w.score_batch_id
        FROM unnest(${traceIds}::text[]) AS ids(id) CROSS JOIN LATERAL (
          SELECT b.score_batch_id FROM score_batch_targets t JOIN score_batches b USING (score_batch_id)
          WHERE t.target_id = ids.id AND t.trace_id IS NOT NULL AND b.workspace_id = ${workspaceId}
            AND b.batch_status IN ('queued', 'running') OFFSET 0
        ) w
      ) uses`,
    );
  }

  /** Deletes what the outcomes of runs contain of traces. Status, error and cost stay, so that the counts of the runs stay true. */
  async clearOutcomes(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<void> {
    await tx.query(
      prepared(
        'target-outcome.clear',
        sql`UPDATE target_outcomes SET reasoning = NULL, samples = NULL, probabilities = NULL
          WHERE workspace_id = ${workspaceId} AND target_id = ANY (${traceIds}::text[]) AND grain = 'trace'`,
      ),
    );
  }
}

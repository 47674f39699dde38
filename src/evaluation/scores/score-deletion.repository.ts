import { Injectable } from '@nestjs/common';
import { sql, type Tx } from '#platform/db';

/** Deletes scores. */
@Injectable()
export class ScoreDeletionRepository {
  /**
   * Deletes the scores of traces, current and superseded. Scores of results keep the trace's id. Not prepared, because a plan
   * made for few scores would read all of them for each trace. @returns their number
   */
  async deleteOfTraces(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<number> {
    const [row] = await tx.query<{ count: number }>(
      sql`WITH deleted AS (
          DELETE FROM scores WHERE workspace_id = ${workspaceId} AND trace_id = ANY (${traceIds}::text[]) AND result_id IS NULL
          RETURNING 1
        ) SELECT count(*) AS count FROM deleted`,
    );
    return row!.count;
  }
}

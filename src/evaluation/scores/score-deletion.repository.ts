import { Injectable } from '@nestjs/common';
import {
  Database,
  DELETE_BATCH,
  deleteInBatches,
  indexOrdered,
  raw,
  type Sql,
  sql,
  type Tx,
} from '#platform/db';
import { firstIdAt } from '#platform/ids';

const ofTraces = (workspaceId: string, traceIds: readonly string[]): Sql =>
  sql`workspace_id = ${workspaceId} AND trace_id = ANY (${traceIds}::text[]) AND result_id IS NULL`;

/** Deletes scores. */
@Injectable()
export class ScoreDeletionRepository {
  constructor(private readonly database: Database) {}

  /**
   * Deletes the scores of traces, current and superseded. Scores of results keep the trace's id. Not prepared, because a plan
   * made for few scores would read all of them for each trace. @returns their number
   */
  async deleteOfTraces(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<number> {
    const [row] = await tx.query<{ count: number }>(
      sql`WITH deleted AS (DELETE FROM scores WHERE ${ofTraces(workspaceId, traceIds)} RETURNING 1)
        SELECT count(*) AS count FROM deleted`,
    );
    return row!.count;
  }

  /** Counts what `deleteOfTraces` would delete. */
  async countOfTraces(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<number> {
    const [row] = await tx.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM scores WHERE ${ofTraces(workspaceId, traceIds)}`,
    );
    return row!.count;
  }

  /**
   * Deletes the scores of traces and sessions from before a time in batches, the oldest first, current and superseded ones. Ids
   * sort by time. Scores of results stay, because the summaries of experiments count them.
   */
  deleteBefore(workspaceId: string, time: Date): Promise<void> {
    const ofTargets = sql`workspace_id = ${workspaceId} AND result_id IS NULL`;
    return deleteInBatches(
      this.database,
      indexOrdered(
        sql`WITH deleted AS (
            DELETE FROM scores WHERE ${ofTargets} AND score_id = ANY (ARRAY(
              SELECT score_id FROM scores WHERE ${ofTargets} AND score_id < ${firstIdAt('score', time.getTime())}
              ORDER BY workspace_id, score_id LIMIT ${raw(String(DELETE_BATCH))} FOR UPDATE SKIP LOCKED
            )) RETURNING 1
          ) SELECT count(*) AS deleted FROM deleted`,
      ),
    );
  }
}

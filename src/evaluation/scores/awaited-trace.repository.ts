import { Injectable } from '@nestjs/common';
import { BulkColumns, followIndexes, raw, sql, type Tx } from '#platform/db';
import { joinTraceFact } from '../../telemetry';

/** A score whose trace had not arrived when it was recorded. */
export interface AwaitingScore {
  workspace_id: string;
  score_id: string;
  trace_id: string;
  created_at: Date;
  /** Whether the trace has arrived, or a result names it. */
  is_known: boolean;
  /** The session of the trace. */
  session_id: string | null;
}

/** A score, and when to look for its trace again. */
export type CheckedWait = AwaitingScore & { next: Date | null };

const KEYS = [
  { name: 'workspace_id', type: 'text', value: ({ workspace_id }: AwaitingScore) => workspace_id },
  { name: 'score_id', type: 'text', value: ({ score_id }: AwaitingScore) => score_id },
] as const;
const SCORES = new BulkColumns<AwaitingScore>(KEYS);
const CHECKED = new BulkColumns<CheckedWait>([
  ...KEYS,
  { name: 'session_id', type: 'text', value: ({ session_id }) => session_id },
  { name: 'next', type: 'timestamptz', value: ({ next }) => (next ? BigInt(next.getTime()) * 1000n : null) },
]);

/** Finds and updates the scores that wait for their traces, of all workspaces. */
@Injectable()
export class AwaitedTraceRepository {
  /** Locks the scores whose traces are to be looked for, the longest due first, except those that another worker has locked. */
  async lockDue(tx: Tx, limit: number): Promise<AwaitingScore[]> {
    await followIndexes(tx);
    return tx.query<AwaitingScore>(
      sql`WITH due AS MATERIALIZED (
          SELECT workspace_id, score_id, trace_id, created_at FROM scores WHERE trace_check_at <= now()
          ORDER BY trace_check_at LIMIT ${raw(String(limit))} FOR UPDATE SKIP LOCKED
        )
        SELECT due.*, of_session_id.is_stored IS TRUE OR named.is_named IS TRUE AS is_known,
               coalesce(of_session_id.session_id, named.session_id) AS session_id
        FROM due ${joinTraceFact('due', 'session_id')} LEFT JOIN LATERAL (
          SELECT session_id, true AS is_named FROM results
          WHERE workspace_id = due.workspace_id AND trace_id = due.trace_id ORDER BY result_id DESC LIMIT 1
        ) named ON of_session_id.is_stored IS NULL`,
    );
  }

  /** Stores the sessions of traces that have arrived, and when to look for the others. */
  async update(tx: Tx, scores: readonly CheckedWait[]): Promise<void> {
    if (scores.length === 0) return;
    await tx.query(
      sql`UPDATE scores SET session_id = input.session_id, trace_check_at = input.next
        FROM ${CHECKED.table(scores, 'input')}
        WHERE scores.workspace_id = input.workspace_id AND scores.score_id = input.score_id`,
    );
  }

  async delete(tx: Tx, scores: readonly AwaitingScore[]): Promise<void> {
    if (scores.length === 0) return;
    await tx.query(
      sql`DELETE FROM scores USING ${SCORES.table(scores, 'input')}
        WHERE scores.workspace_id = input.workspace_id AND scores.score_id = input.score_id`,
    );
  }
}

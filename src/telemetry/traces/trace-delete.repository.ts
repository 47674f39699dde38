import { Injectable } from '@nestjs/common';
import { BulkColumns, followIndexes, inChunks, prepared, raw, type Sql, sql, type Tx } from '#platform/db';
import { SessionWriteRepository } from './session-write.repository';
import type { TraceLocation } from './trace.types';

/** A trace that is locked to be deleted. */
export interface LockedTrace extends TraceLocation {
  workspace_id: string;
  trace_id: string;
  /** Null for a trace without a session. */
  session_id: string | null;
}

const TRACES = new BulkColumns<LockedTrace>([
  { name: 'workspace_id', type: 'text', value: ({ workspace_id }) => workspace_id },
  { name: 'trace_id', type: 'text', value: ({ trace_id }) => trace_id },
  { name: 'trace_no', type: 'int8', value: ({ trace_no }) => trace_no },
  { name: 'day', type: 'date', value: ({ day }) => day },
]);

const COLUMNS = raw('t.workspace_id, t.trace_id, t.trace_no, t.day::text AS day, t.session_id');

/** Locks traces and deletes their rows, for retention and for deletion. All writers lock traces, then sessions. */
@Injectable()
export class TraceDeleteRepository {
  constructor(private readonly sessions: SessionWriteRepository) {}

  /** Locks traces, in the order that all writers use. @returns those that exist */
  lock(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<LockedTrace[]> {
    return tx.query<LockedTrace>(
      prepared(
        'trace.lock-to-delete',
        sql`SELECT ${COLUMNS} FROM unnest(${[...new Set(traceIds)].sort()}::text[]) AS ids(trace_id),
          LATERAL (SELECT * FROM traces WHERE workspace_id = ${workspaceId} AND trace_id = ids.trace_id FOR UPDATE) t`,
      ),
    );
  }

  /** Locks the first traces of a day, except those that a writer has locked, of all workspaces or of one. */
  lockUnused(tx: Tx, day: string, limit: number, workspaceId?: string): Promise<LockedTrace[]> {
    const select = (which: Sql) =>
      sql`SELECT ${COLUMNS} FROM traces t WHERE ${which} LIMIT ${limit} FOR UPDATE SKIP LOCKED`;
    const ofDay = sql`t.day = ${day}::date`;
    return tx.query<LockedTrace>(
      workspaceId === undefined
        ? prepared('trace.lock-unused', select(ofDay))
        : prepared(
            'trace.lock-unused-of-workspace',
            select(sql`${ofDay} AND t.workspace_id = ${workspaceId}`),
          ),
    );
  }

  /** Locks the first traces of a workspace. */
  lockFirst(tx: Tx, workspaceId: string, limit: number): Promise<LockedTrace[]> {
    return tx.query<LockedTrace>(
      prepared(
        'trace.lock-first',
        sql`SELECT ${COLUMNS} FROM traces t WHERE t.workspace_id = ${workspaceId} LIMIT ${limit} FOR UPDATE`,
      ),
    );
  }

  /** Locks all traces of a day, after their writers have ended. */
  lockDay(tx: Tx, day: string): Promise<LockedTrace[]> {
    return tx.query<LockedTrace>(
      prepared(
        'trace.lock-day',
        sql`SELECT ${COLUMNS} FROM traces t WHERE day = ${day}::date ORDER BY workspace_id, trace_id FOR UPDATE`,
      ),
    );
  }

  /** Counts traces and their spans. */
  async count(
    tx: Tx,
    workspaceId: string,
    traceIds: readonly string[],
  ): Promise<{ traces: number; spans: number }> {
    const [row] = await tx.query<{ traces: number; spans: number }>(
      sql`SELECT count(*) AS traces, coalesce(sum(span_count), 0)::int8 AS spans FROM traces
        WHERE workspace_id = ${workspaceId} AND trace_id = ANY (${traceIds}::text[])`,
    );
    return row!;
  }

  /** Counts the traces of a workspace and their spans. */
  async countAll(tx: Tx, workspaceId: string): Promise<{ traces: number; spans: number }> {
    const [row] = await tx.query<{ traces: number; spans: number }>(
      sql`SELECT count(*) AS traces, coalesce(sum(span_count), 0)::int8 AS spans FROM traces
        WHERE workspace_id = ${workspaceId}`,
    );
    return row!;
  }

  /** Deletes the spans of locked traces. @returns their number */
  async deleteSpans(tx: Tx, traces: readonly LockedTrace[]): Promise<number> {
    await followIndexes(tx);
    const deleted = await inChunks(traces, (chunk) => {
      const days = [...new Set(chunk.map(({ day }) => day))];
      return tx.query<{ count: number }>(
        // not prepared, because only a plan that knows the days reads just their partitions
        sql`WITH deleted AS (
            DELETE FROM spans s USING ${TRACES.table(chunk, 't')}
            WHERE s.day = ANY (${days}::date[]) AND s.day = t.day AND s.trace_no = t.trace_no
              AND s.workspace_id = t.workspace_id
            RETURNING 1
          ) SELECT count(*) AS count FROM deleted`,
      );
    });
    return deleted.reduce((sum, { count }) => sum + count, 0);
  }

  /** Deletes the rows of locked traces, except their spans. */
  async deleteRows(tx: Tx, traces: readonly LockedTrace[]): Promise<void> {
    await inChunks(traces, (chunk) =>
      tx.query(
        prepared(
          'trace.delete-rows',
          sql`WITH t AS MATERIALIZED (SELECT * FROM ${TRACES.table(chunk, 't')}), gaps AS (
              DELETE FROM span_gaps g USING t WHERE g.workspace_id = t.workspace_id AND g.trace_no = t.trace_no
            ), models AS (
              DELETE FROM trace_models m USING t WHERE m.workspace_id = t.workspace_id AND m.trace_id = t.trace_id
            )
            DELETE FROM traces USING t WHERE traces.workspace_id = t.workspace_id AND traces.trace_id = t.trace_id`,
        ),
      ),
    );
  }

  /** Updates the sessions of deleted traces. */
  updateSessions(tx: Tx, traces: readonly LockedTrace[]): Promise<void> {
    return this.sessions.apply(
      tx,
      traces.flatMap(({ workspace_id, session_id }) =>
        session_id === null
          ? []
          : [{ workspaceId: workspace_id, sessionId: session_id, startedAt: null, isShrunk: true }],
      ),
    );
  }
}

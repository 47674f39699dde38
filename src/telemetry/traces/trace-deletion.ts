import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { LogDeleteRepository } from '../deletion/log-delete.repository';
import { TombstoneRepository } from '../deletion/tombstone.repository';
import { type RemovedUses, TraceUses } from '../deletion/trace-uses';
import { TraceDeleteRepository } from './trace-delete.repository';

/** Number of deleted rows, by kind. */
export interface DeletedCounts extends RemovedUses {
  traces: number;
  spans: number;
  logs: number;
}

/** Maximum number of traces per transaction, so that a deletion holds its locks only briefly. */
export const DELETED_TRACES_MAX = 1_000;

/**
 * Deletes traces for good: with their spans, log records, scores and places in annotation queues. Late spans and log records of
 * these traces are refused from then on.
 */
@Injectable()
export class TraceDeletion {
  constructor(
    private readonly traces: TraceDeleteRepository,
    private readonly logs: LogDeleteRepository,
    private readonly tombstones: TombstoneRepository,
    private readonly uses: TraceUses,
  ) {}

  /**
   * Deletes traces and remembers keyed hashes of their ids. An export that is adding to one of them either ends before, and its
   * spans are deleted too, or waits, and its spans are refused. Locks traces, then sessions, then scores, as all writers do.
   * Exports of logs to the workspace wait from the deletion of the log records until the commit.
   *
   * @param traceIds at most `DELETED_TRACES_MAX`. Unknown ones are remembered too
   */
  async delete(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<DeletedCounts> {
    const locked = await this.traces.lock(tx, workspaceId, traceIds);
    const spans = await this.traces.deleteSpans(tx, locked);
    await this.traces.deleteRows(tx, locked);
    await this.traces.updateSessions(tx, locked);
    await this.tombstones.addTraces(
      tx,
      traceIds.map((id) => ({ workspaceId, id })),
    );
    await this.logs.lock(tx, [workspaceId], 'exclusive');
    const logs = await this.logs.deleteByTraces(tx, workspaceId, traceIds);
    return { traces: locked.length, spans, logs, ...(await this.uses.remove(tx, workspaceId, traceIds)) };
  }

  /** Counts what `delete` would delete. */
  async count(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<DeletedCounts> {
    const uses = await this.uses.count(tx, workspaceId, traceIds);
    const logs = await this.logs.countByTraces(tx, workspaceId, traceIds);
    return { ...(await this.traces.count(tx, workspaceId, traceIds)), logs, ...uses };
  }
}

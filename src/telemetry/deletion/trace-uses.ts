import type { Tx } from '#platform/db';

/** What was deleted together with traces. */
export interface RemovedUses {
  scores: number;
  /** Items of annotation queues. */
  items: number;
}

/** The uses of traces as targets of scores, scoring runs and annotation queues. The evaluation area implements it. */
export abstract class TraceUses {
  /**
   * Returns one open run, batch or annotation queue that still works on one of the traces, such as `score run run_…`; null for
   * none.
   */
  abstract findOpen(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<string | null>;

  /** Counts what `remove` would delete. */
  abstract count(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<RemovedUses>;

  /**
   * Deletes the scores of deleted traces, and the open items of annotation queues. Scores of results keep the trace's id.
   * Requires the locks of the traces.
   */
  abstract remove(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<RemovedUses>;
}

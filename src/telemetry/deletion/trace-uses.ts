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
   * Returns the traces that an open run, batch or annotation queue still works on, each with one of them, such as
   * `scoring run run_…`.
   */
  abstract findOpen(
    tx: Tx,
    workspaceId: string,
    traceIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>>;

  /** Counts what `remove` would delete. */
  abstract count(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<RemovedUses>;

  /**
   * Deletes the scores of deleted traces, and the open items of annotation queues. Scores of results keep the trace's id.
   * Requires the locks of the traces.
   */
  abstract remove(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<RemovedUses>;
}

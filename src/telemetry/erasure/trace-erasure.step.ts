import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import {
  type ErasureBatch,
  ErasureItems,
  type ErasureRun,
  type ErasureStep,
  ErasureSteps,
} from '../../resources';
import { TraceUses } from '../deletion/trace-uses';
import { TraceDeletion } from '../traces/trace-deletion';
import { TraceDeleteRepository } from '../traces/trace-delete.repository';

/** Traces per batch. */
const BATCH = 200;

/** Deletes the collected traces of an erasure, or all traces of a workspace, with their spans. */
@Injectable()
export class TraceErasureStep implements ErasureStep {
  readonly name = 'traces';
  readonly subjects = ['end_user', 'session', 'traces', 'workspace'] as const;
  readonly phase = 'erase';

  constructor(
    steps: ErasureSteps,
    private readonly items: ErasureItems,
    private readonly deletion: TraceDeletion,
    private readonly traces: TraceDeleteRepository,
    private readonly uses: TraceUses,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { subject, workspaceId, isDryRun } = erasure;
    if (subject === 'workspace') return isDryRun ? this.countAll(tx, erasure) : this.deleteAll(tx, erasure);
    const ids = await this.items.list(tx, erasure, 'trace', cursor, BATCH);
    if (ids.length === 0) return { counts: {}, next: null };
    const used = await this.inUse(tx, erasure, ids);
    // because later steps erase what was made from the items
    await this.items.remove(tx, erasure, 'trace', [...used.keys()]);
    const free = ids.filter((id) => !used.has(id));
    const { items, ...counts } = isDryRun
      ? await this.deletion.count(tx, workspaceId, free)
      : await this.deletion.delete(tx, workspaceId, free);
    return { counts: { ...counts, annotation_items: items, traces_in_use: used.size }, next: ids.at(-1)! };
  }

  /** Returns the traces to leave alone: those in use, unless the deletion is forced. Other erasures take everything. */
  private async inUse(
    tx: Tx,
    { subject, workspaceId, isForced }: ErasureRun,
    ids: string[],
  ): Promise<ReadonlyMap<string, string>> {
    if (subject !== 'traces' || isForced) return new Map();
    return this.uses.findOpen(tx, workspaceId, ids);
  }

  /** Deletes traces without remembering them, because the workspace accepts no more spans. */
  private async deleteAll(tx: Tx, { workspaceId }: ErasureRun): Promise<ErasureBatch> {
    const traces = await this.traces.lockFirst(tx, workspaceId, BATCH);
    if (traces.length === 0) return { counts: {}, next: null };
    const spans = await this.traces.deleteSpans(tx, traces);
    await this.traces.deleteRows(tx, traces);
    return { counts: { traces: traces.length, spans }, next: 'more' };
  }

  private async countAll(tx: Tx, { workspaceId }: ErasureRun): Promise<ErasureBatch> {
    return { counts: await this.traces.countAll(tx, workspaceId), next: null };
  }
}

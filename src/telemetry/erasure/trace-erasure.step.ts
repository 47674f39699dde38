import { Injectable } from '@nestjs/common';
import { empty, sql, type Tx } from '#platform/db';
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
    if (erasure.isDryRun) return { counts: await this.count(tx, erasure), next: null };
    if (erasure.subject === 'workspace') return this.deleteAll(tx, erasure);
    const ids = await this.items.list(tx, erasure, 'trace', cursor, BATCH);
    if (ids.length === 0) return { counts: {}, next: null };
    const { free, used } = await this.split(tx, erasure, ids);
    const { items, ...deleted } = await this.deletion.delete(tx, erasure.workspaceId, free);
    return { counts: { ...deleted, annotation_items: items, traces_in_use: used }, next: ids.at(-1)! };
  }

  /** Leaves out traces that are in use, unless the deletion is forced. Other erasures take everything. */
  private async split(tx: Tx, { subject, workspaceId, isForced }: ErasureRun, ids: string[]) {
    if (subject !== 'traces' || isForced) return { free: ids, used: 0 };
    const free: string[] = [];
    if ((await this.uses.findOpen(tx, workspaceId, ids)) === null) return { free: ids, used: 0 };
    for (const id of ids) {
      if ((await this.uses.findOpen(tx, workspaceId, [id])) === null) free.push(id);
    }
    return { free, used: ids.length - free.length };
  }

  /** Deletes traces without remembering them, because the workspace accepts no more spans. */
  private async deleteAll(tx: Tx, { workspaceId }: ErasureRun): Promise<ErasureBatch> {
    const traces = await this.traces.lockFirst(tx, workspaceId, BATCH);
    if (traces.length === 0) return { counts: {}, next: null };
    const spans = await this.traces.deleteSpans(tx, traces);
    await this.traces.deleteRows(tx, traces);
    return { counts: { traces: traces.length, spans }, next: 'more' };
  }

  private async count(tx: Tx, { erasureId, workspaceId, subject }: ErasureRun) {
    const collected =
      subject === 'workspace'
        ? empty
        : sql` AND trace_id IN (SELECT item_id FROM erasure_items
            WHERE erasure_id = ${erasureId} AND workspace_id = ${workspaceId} AND item_kind = 'trace')`;
    const [row] = await tx.query<{ traces: number; spans: number }>(
      sql`SELECT count(*) AS traces, coalesce(sum(span_count), 0)::int8 AS spans FROM traces
        WHERE workspace_id = ${workspaceId}${collected}`,
    );
    return { traces: row!.traces, spans: row!.spans };
  }
}

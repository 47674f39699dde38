import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type RemovedUses, TraceUses } from '../../telemetry';
import { TraceItemRepository } from '../annotation-queues';
import { ScoreDeletionRepository } from '../scores';
import { TraceTargetRepository } from '../scoring';

/** Traces as targets of scoring runs, batches, annotation queues and scores. */
@Injectable()
export class EvaluationTraceUses extends TraceUses {
  constructor(
    private readonly targets: TraceTargetRepository,
    private readonly items: TraceItemRepository,
    private readonly scores: ScoreDeletionRepository,
  ) {
    super();
  }

  async findOpen(
    tx: Tx,
    workspaceId: string,
    traceIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const uses = [
      ...(await this.items.findOpen(tx, workspaceId, traceIds)),
      ...(await this.targets.findOpen(tx, workspaceId, traceIds)),
    ];
    return new Map(uses.map(({ trace_id, use }) => [trace_id, use]));
  }

  async count(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<RemovedUses> {
    return {
      scores: await this.scores.countOfTraces(tx, workspaceId, traceIds),
      items: await this.items.countUnscored(tx, workspaceId, traceIds),
    };
  }

  /** Locks items before scores, as people who score them do. */
  async remove(tx: Tx, workspaceId: string, traceIds: readonly string[]): Promise<RemovedUses> {
    const items = await this.items.deleteUnscored(tx, workspaceId, traceIds);
    const scores = await this.scores.deleteOfTraces(tx, workspaceId, traceIds);
    await this.targets.clear(tx, workspaceId, traceIds);
    return { scores, items };
  }
}

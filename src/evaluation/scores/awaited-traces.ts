import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';
import { DeletedTraces } from '../../telemetry';
import { AwaitedTraceRepository, type AwaitingScore } from './awaited-trace.repository';

/** How long a score waits for its trace. */
const WAIT_MS = 7 * 24 * 60 * 60_000;
/** How long a trace without a session may still get one, because its spans arrive in several exports. */
const SETTLED_MS = 60 * 60_000;
/** Bounds of the time between two checks, which grows with the age of the score. */
const CHECK_MIN_MS = 10_000;
const CHECK_MAX_MS = 60 * 60_000;
/** Maximum number of scores of a transaction. */
const BATCH = 500;
/** Maximum number of transactions of a pass. */
const BATCHES_MAX = 40;

/**
 * Looks for the traces of scores that named them before they arrived, and gives these scores the sessions of the traces. A score
 * whose trace was deleted, or has not arrived within 7 days, is deleted. Safe to run in any number of workers at once.
 */
@Injectable()
export class AwaitedTraces {
  constructor(
    private readonly database: Database,
    private readonly deletedTraces: DeletedTraces,
    private readonly scores: AwaitedTraceRepository,
  ) {}

  async resolve(): Promise<void> {
    for (let batch = 0; batch < BATCHES_MAX; batch++) {
      const count = await this.database.transaction((tx) => this.resolveDue(tx));
      if (count < BATCH) return;
    }
  }

  private async resolveDue(tx: Tx): Promise<number> {
    const due = await this.scores.lockDue(tx, BATCH);
    const missing = due.flatMap((score) =>
      score.is_known ? [] : { score, workspaceId: score.workspace_id, id: score.trace_id },
    );
    const found = missing.length > 0 ? await this.deletedTraces.findAll(tx, missing) : [];
    const deleted = new Set(found.map(({ score }) => score));
    const now = Date.now();
    const isDropped = (score: AwaitingScore): boolean =>
      !score.is_known && (deleted.has(score) || now - score.created_at.getTime() >= WAIT_MS);
    const kept = due.filter((score) => !isDropped(score));
    const checked = kept.map((score) => ({ ...score, next: nextCheck(score, now) }));
    await this.scores.update(tx, checked);
    await this.scores.delete(tx, due.filter(isDropped));
    return due.length;
  }
}

/** Returns when to look for the trace of a score again. Null if that is not necessary. */
function nextCheck({ is_known, session_id, created_at }: AwaitingScore, now: number): Date | null {
  const age = now - created_at.getTime();
  if (is_known && (session_id !== null || age >= SETTLED_MS)) return null;
  return new Date(now + Math.min(Math.max(age, CHECK_MIN_MS), CHECK_MAX_MS));
}

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { runAs } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Database, type Tx } from '#platform/db';
import { Handles, JobHandedBack, JobProcessor, PeriodicTasks, WorkerShutdown } from '#platform/jobs';
import { Problem } from '#platform/problem';
import type { ErasedCounts, ErasureEntity, ErasureProgress } from './erasure.entity';
import { ErasureItems } from './erasure-items.repository';
import { ErasureRepository } from './erasure.repository';
import { type ErasureRun, type ErasureStep, ErasureSteps } from './erasure-steps';
import { ERASURE, Erasures, type ErasureTarget } from './erasures';
import { TenantTables } from './tenant-tables.repository';

/** Interval of the search for erasures without a worker, in ms. */
const WAITING_MS = 60_000;
/** Longest pause between two batches, in ms. A pause takes as long as the batch before, so that others have half the time. */
const PAUSE_MAX_MS = 500;
const PAUSE_MIN_MS = 5;
const ITEMS_BATCH = 5_000;

/** An erasure that this process holds. */
interface Held {
  row: ErasureEntity;
  token: string;
  counts: ErasedCounts;
}

/** Thrown when the erasure of a place must wait before its second pass. The periodic task continues it. */
class ErasureSettling extends Error {}

/** Thrown within the transaction of a batch when another worker has taken the erasure over. */
class ErasureLost extends Error {}

/**
 * Runs erasures, a batch at a time. Each batch is one transaction together with its counts and the place to continue, so that
 * a worker that is killed loses at most a batch, and no row is counted twice.
 */
@Handles(ERASURE)
export class ErasureRunner extends JobProcessor<{ erasure_id: string }> implements OnApplicationBootstrap {
  readonly concurrency = 2;

  constructor(
    private readonly database: Database,
    private readonly requests: Erasures,
    private readonly erasures: ErasureRepository,
    private readonly items: ErasureItems,
    private readonly steps: ErasureSteps,
    private readonly tables: TenantTables,
    private readonly environment: Environment,
    private readonly tasks: PeriodicTasks,
    private readonly shutdown: WorkerShutdown,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    this.tasks.every('erasures', WAITING_MS, () => this.requests.enqueueWaiting());
  }

  protected async handle({ erasure_id }: { erasure_id: string }): Promise<void> {
    const token = randomUUID();
    const row = await this.erasures.claim(erasure_id, token);
    if (!row) return;
    const held: Held = { row, token, counts: { ...row.counts } };
    try {
      await runAs(row.org_id!, () => this.erase(held));
    } catch (error) {
      if (error instanceof ErasureLost) return;
      const isPaused = error instanceof JobHandedBack || error instanceof ErasureSettling;
      await this.erasures.release(erasure_id, token, isPaused ? null : failureOf(error));
      if (!(error instanceof ErasureSettling)) throw error;
    }
  }

  private async erase(held: Held): Promise<void> {
    const { row } = held;
    await this.erasePass(held);
    if (isPlace(row) && !row.dry_run) {
      // requests that were admitted before the erasure may still write; a second pass finds that
      if (Date.now() < row.created_at.getTime() + this.environment.ERASURE_SETTLE_SECONDS * 1000) {
        throw new ErasureSettling();
      }
      held.row = { ...row, progress: null };
      await this.erasePass(held);
    }
    for (let deleted = ITEMS_BATCH; deleted === ITEMS_BATCH;) {
      deleted = await this.database.transaction(async (tx) => {
        await this.advance(tx, held, held.counts, held.row.progress);
        return this.items.clear(tx, row.erasure_id, ITEMS_BATCH);
      });
    }
    await this.database.transaction(async (tx) => {
      if (isPlace(row) && !row.dry_run) await this.tables.deletePlace(tx, row.org_id!, placeOf(row));
      if (!(await this.erasures.finish(tx, row.erasure_id, held.token, held.counts))) throw new ErasureLost();
    });
  }

  private async erasePass(held: Held): Promise<void> {
    for (const workspaceId of await this.workspacesOf(held)) await this.eraseIn(held, workspaceId);
    if (held.row.subject_kind === 'org') await this.eraseOrg(held);
  }

  /** Returns the workspaces that are left, in the order of their ids. */
  private async workspacesOf({ row }: Held): Promise<string[]> {
    const { workspace_id, subject_kind, org_id } = row;
    if (workspace_id !== null) return [workspace_id];
    if (subject_kind === 'workspace') return [targetOf(row).id];
    // the rows outside of workspaces come last
    if (row.progress && row.progress.workspace_id === null) return [];
    const from = row.progress?.workspace_id ?? '';
    return (await this.tables.workspaces(org_id!)).filter((id) => id >= from);
  }

  private async eraseIn(held: Held, workspaceId: string): Promise<void> {
    const { row } = held;
    const { id, filters, isForced = false } = targetOf(row);
    // an organization is erased one workspace at a time
    const subject = row.subject_kind === 'org' ? 'workspace' : row.subject_kind;
    const run: ErasureRun = {
      erasureId: row.erasure_id,
      orgId: row.org_id!,
      workspaceId,
      subject,
      isOfOrg: row.subject_kind === 'org',
      id: subject === 'workspace' ? workspaceId : id,
      ...(filters !== undefined && { filters }),
      isForced,
      requestedAt: row.created_at,
      isDryRun: row.dry_run,
    };
    await this.runSteps(held, this.steps.of(subject), workspaceId, run);
  }

  /** Erases the rows of an organization outside of workspaces. */
  private async eraseOrg(held: Held): Promise<void> {
    const { row } = held;
    const run: ErasureRun = {
      erasureId: row.erasure_id,
      orgId: row.org_id!,
      workspaceId: '',
      subject: 'org',
      isOfOrg: true,
      id: row.org_id!,
      isForced: true,
      requestedAt: row.created_at,
      isDryRun: row.dry_run,
    };
    await this.runSteps(held, this.steps.of('org'), null, run);
  }

  /** Runs steps from the place that the erasure has reached. */
  private async runSteps(
    held: Held,
    steps: readonly ErasureStep[],
    workspaceId: string | null,
    run: ErasureRun,
  ): Promise<void> {
    const { progress } = held.row;
    const isReached = progress?.workspace_id === workspaceId;
    const reached = isReached ? steps.findIndex(({ name }) => name === progress.step) : -1;
    for (const [index, step] of steps.entries()) {
      if (index < reached || (index === reached && progress?.cursor === null)) continue;
      let cursor = index === reached ? progress!.cursor : null;
      do cursor = await this.runBatch(held, step, run, workspaceId, cursor);
      while (cursor !== null);
    }
  }

  /** Records progress. Throws `ErasureLost` if another worker has taken the erasure over. */
  private async advance(
    tx: Tx,
    { row, token }: Held,
    counts: ErasedCounts,
    progress: ErasureProgress | null,
  ): Promise<void> {
    const isHeld = await this.erasures.advance(tx, row.erasure_id, token, counts, progress);
    if (!isHeld) throw new ErasureLost();
  }

  private async runBatch(
    held: Held,
    step: ErasureStep,
    run: ErasureRun,
    workspace_id: string | null,
    cursor: string | null,
  ): Promise<string | null> {
    if (this.shutdown.stopping.aborted) throw new JobHandedBack();
    const startedAt = performance.now();
    const { next, isWaiting, counts, progress } = await this.database.transaction(async (tx) => {
      if (run.isDryRun) await this.erasures.allowLongCounts(tx);
      const batch = await step.run(tx, run, cursor);
      const counts = added(held.counts, batch.counts);
      const progress: ErasureProgress = { workspace_id, step: step.name, cursor: batch.next };
      await this.advance(tx, held, counts, progress);
      return { ...batch, counts, progress };
    });
    Object.assign(held, { counts, row: { ...held.row, progress } } satisfies Partial<Held>);
    if (next !== null) {
      const tookMs = performance.now() - startedAt;
      await delay(isWaiting ? PAUSE_MAX_MS : Math.min(Math.max(tookMs, PAUSE_MIN_MS), PAUSE_MAX_MS));
    }
    return next;
  }
}

/** Describes an error without its message, which may hold values of rows. */
function failureOf(error: unknown): string {
  if (error instanceof Problem) return `${error.code} (${error.status})`;
  const { code, name } = error as { code?: string; name?: string };
  return code === undefined ? (name ?? 'unknown error') : `${name} ${code}`;
}

/** Whether an erasure erases a whole workspace or organization. */
const isPlace = ({ subject_kind: kind }: ErasureEntity): boolean => kind === 'workspace' || kind === 'org';

/** The workspace that an erasure erases; null for the organization. */
const placeOf = (row: ErasureEntity): string | null => (row.subject_kind === 'org' ? null : targetOf(row).id);

const targetOf = ({ target }: ErasureEntity): ErasureTarget => JSON.parse(target!.text) as ErasureTarget;

const added = (counts: ErasedCounts, more: ErasedCounts): ErasedCounts => {
  const sum = { ...counts };
  for (const [kind, count] of Object.entries(more)) if (count > 0) sum[kind] = (sum[kind] ?? 0) + count;
  return sum;
};

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { FairLimiter, pause, runAs } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Database, type Tx } from '#platform/db';
import { Handles, JobHandedBack, JobProcessor, PeriodicTasks, WorkerShutdown } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { Problem } from '#platform/problem';
import { tracing } from '#platform/tracing';
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
/** Erasures that this process runs at once, and those of one organization. */
const SLOTS = 3;
const SHARE = 2;
/** Time after which an erasure lets an organization run that has none in progress, in ms. */
const SLICE_MS = 5_000;
/** Pause before a job looks again for an erasure that it can run, in ms. */
const SLOT_WAIT_MS = 1_000;
/** Time before an erasure that has failed is continued, in ms: less than until its job is retried. */
const RETRY_MS = 900;

/** An erasure that this process holds. */
interface Held {
  row: ErasureEntity;
  token: string;
  counts: ErasedCounts;
  /** When its current slice has ended, by `performance.now()`. */
  yieldsAt: number;
}

/** Thrown when the erasure of a place must wait before its second pass. The periodic task continues it. */
class ErasureSettling extends Error {
  constructor(readonly waitMs: number) {
    super();
  }
}

/** Thrown within the transaction of a batch when another worker has taken the erasure over. */
class ErasureLost extends Error {}

/**
 * Runs erasures, a batch at a time. A job only says that an erasure waits: organizations take turns, see
 * `ErasureRepository.claim`, so that one with many large erasures delays the others by seconds. Each batch is one transaction
 * together with its counts and the place to continue, so that a worker that is killed loses at most a batch, and no row is
 * counted twice.
 */
@Handles(ERASURE)
export class ErasureRunner extends JobProcessor<{ erasure_id: string }> implements OnApplicationBootstrap {
  readonly concurrency = SLOTS;
  /** The organizations of the erasures in progress in this process. */
  private readonly running: string[] = [];
  /** Claims one erasure at a time, so that an organization never exceeds its share. */
  private readonly claims = new FairLimiter({ concurrency: 1 });

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

  /**
   * Runs the next erasure, which may be another one than the job's. Throws `JobHandedBack` if this process stops, if other
   * organizations wait, or if another erasure than the job's has failed.
   */
  protected async handle({ erasure_id }: { erasure_id: string }): Promise<void> {
    for (;;) {
      if (this.shutdown.stopping.aborted) throw new JobHandedBack();
      const held = await this.claim();
      if (held === 'none') return;
      if (held !== 'full') {
        if (held.row.erasure_id === erasure_id) return this.run(held);
        return tracing().untraced(() => this.runLogged(held));
      }
      await pause(SLOT_WAIT_MS, this.shutdown.stopping).catch(() => undefined);
    }
  }

  private claim(): Promise<Held | 'none' | 'full'> {
    return this.claims.run('', undefined, async () => {
      const token = randomUUID();
      const countOf = (orgId: string): number => this.running.filter((one) => one === orgId).length;
      const full = this.running.filter((orgId) => countOf(orgId) >= SHARE);
      const row = await this.erasures.claim(token, full);
      if (typeof row === 'string') return row;
      this.running.push(row.org_id!);
      return { row, token, counts: { ...row.counts }, yieldsAt: performance.now() + SLICE_MS };
    });
  }

  /** Runs an erasure that does not belong to the current job. Logs its failure, and hands the job back. */
  private async runLogged(held: Held): Promise<void> {
    try {
      await this.run(held);
    } catch (error) {
      if (error instanceof JobHandedBack) throw error;
      const { erasure_id, org_id } = held.row;
      rootLogger.error({ err: error, erasure_id, org_id }, 'an erasure failed');
      throw new JobHandedBack();
    }
  }

  private async run(held: Held): Promise<void> {
    const { row, token } = held;
    try {
      await runAs(row.org_id!, () => this.erase(held));
    } catch (error) {
      if (error instanceof ErasureLost) return;
      if (error instanceof ErasureSettling) {
        return await this.erasures.release(row.erasure_id, token, null, error.waitMs);
      }
      const isPaused = error instanceof JobHandedBack;
      const failure = isPaused ? null : failureOf(error);
      await this.erasures.release(row.erasure_id, token, failure, isPaused ? 0 : RETRY_MS);
      throw error;
    } finally {
      this.running.splice(this.running.indexOf(row.org_id!), 1);
    }
  }

  private async erase(held: Held): Promise<void> {
    const { row } = held;
    await this.erasePass(held);
    if (isPlace(row) && !row.dry_run) {
      // requests that were admitted before the erasure may still write; a second pass finds that
      const settledAt = row.created_at.getTime() + this.environment.ERASURE_SETTLE_SECONDS * 1000;
      if (Date.now() < settledAt) throw new ErasureSettling(settledAt - Date.now());
      held.row = { ...row, progress: null };
      // finds little, and would begin again after it yields
      held.yieldsAt = Infinity;
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
    if (startedAt > held.yieldsAt) {
      if (await this.erasures.isOrgWaiting()) throw new JobHandedBack();
      held.yieldsAt = startedAt + SLOT_WAIT_MS;
    }
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

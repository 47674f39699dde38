import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { runUnjoined } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Database, type Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { duplicateOf, Problem, problem, problemOfDatabaseError } from '#platform/problem';
import {
  AuditLog,
  checkLive,
  readable,
  ReconcilePlan,
  ReconcileError,
  ReconcileSteps,
  requireRole,
  narrowScope,
  WorkspaceAccess,
} from '../../resources';
import type { AppPlanDto, ReconcileResultDto } from './app.dto';
import type { AppEntity, SyncError } from './app.entity';
import { AppDeclarations } from './app-declarations';
import { AppRepository } from './app.repository';

const INTERNAL =
  'The reconcile failed because of an internal error, which was logged. The next reconcile retries.';

/** The numbers of resources that a reconcile changed, and the number of live ones afterwards. */
interface Counts {
  created: number;
  updated: number;
  restored: number;
  archived: number;
  live: number;
}

/** Makes the registry match the declarations of apps. */
@Injectable()
export class AppReconcileService implements OnApplicationBootstrap {
  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly access: WorkspaceAccess,
    private readonly apps: AppRepository,
    private readonly declarations: AppDeclarations,
    private readonly steps: ReconcileSteps,
    private readonly audit: AuditLog,
  ) {}

  /** Fails the start of the application if the step of a kind is missing. */
  onApplicationBootstrap(): void {
    this.steps.list();
  }

  /**
   * Reconciles an app in one transaction. Idempotent. A failed reconcile changes nothing but `sync_state` and `sync_error` of
   * the app. Errors: 404, 403 without the role admin in its workspace, 409 while another reconcile of the app runs or if the app
   * or its workspace is archived, 422 for declarations that cannot be applied.
   *
   * @param idOrSlug the slug or the id
   */
  async reconcile(
    scope: OrgScope,
    idOrSlug: string,
  ): Promise<{ workspaceId: string; reconciled: ReconcileResultDto }> {
    const location = readable(scope, await this.apps.locate(scope, idOrSlug), 'app', idOrSlug);
    requireRole(scope, location.workspace_id, ['admin']);
    let started: AppEntity | undefined;
    try {
      return await this.database.transaction(async (tx) => {
        started = undefined; // The transaction may be a retry.
        const row = await this.lockForReconcile(tx, scope, location.app_id);
        started = row;
        const counts = await this.apply(tx, narrowScope(scope, row.workspace_id), row);
        await this.recordSuccess(tx, scope, row, counts);
        const reconciled = { app: row.app, live_count: counts.live };
        return { workspaceId: row.workspace_id, reconciled };
      });
    } catch (error) {
      if (started) await this.recordFailure(scope, started, error);
      throw clientError(error);
    }
  }

  /**
   * Returns what a reconcile of an app would do now: runs the same steps and rolls them back. Waits for a running reconcile of
   * the app, and does not block a new one. Errors: those of `reconcile`.
   *
   * @param idOrSlug the slug or the id
   */
  async plan(scope: OrgScope, idOrSlug: string): Promise<AppPlanDto> {
    const location = readable(scope, await this.apps.locate(scope, idOrSlug), 'app', idOrSlug);
    requireRole(scope, location.workspace_id, ['admin']);
    try {
      return await this.database.rehearse(async (tx) => {
        const row = await this.admit(tx, scope, location.app_id);
        const { create, update, archive, live } = await this.buildPlan(tx, scope, row);
        return { app: row.app, create, update, archive, live_count: live };
      });
    } catch (error) {
      throw clientError(error);
    }
  }

  private async buildPlan(
    tx: Tx,
    scope: OrgScope,
    row: AppEntity,
  ): Promise<ReconcilePlan & { live: number }> {
    const plan = new ReconcilePlan();
    const { live } = await this.apply(tx, narrowScope(scope, row.workspace_id), row, plan);
    return Object.assign(plan, { live });
  }

  private async lockForReconcile(tx: Tx, scope: OrgScope, appId: string): Promise<AppEntity> {
    if (!(await this.apps.tryLockReconcile(tx, scope, appId))) {
      throw problem.conflict('A reconcile of this app is already running.');
    }
    return this.admit(tx, scope, appId);
  }

  private async admit(tx: Tx, scope: OrgScope, appId: string): Promise<AppEntity> {
    const locked = await this.apps.lock(tx, scope, appId, 'update');
    const row = this.access.admit(scope, locked, 'app', appId, ['admin']);
    checkLive(row, 'app');
    await this.access.holdOpen(tx, scope, row.workspace_id);
    return row;
  }

  private async apply(tx: Tx, scope: Scope, row: AppEntity, plan?: ReconcilePlan): Promise<Counts> {
    const { declared, faults } = await this.declarations.read(row.resources);
    if (faults.length > 0) throw new ReconcileError(faults);
    const counts: Counts = { created: 0, updated: 0, restored: 0, archived: 0, live: 0 };
    for (const step of this.steps.list()) {
      const app = { appId: row.app_id, app: row.app };
      const done = await step.apply(tx, scope, app, declared.get(step.kind) ?? [], plan);
      counts.created += done.created.length;
      counts.updated += done.updated.length;
      counts.restored += done.restored.length;
      counts.archived += done.archived.length;
      counts.live += done.liveCount;
    }
    return counts;
  }

  private async recordSuccess(
    tx: Tx,
    scope: OrgScope,
    row: AppEntity,
    { live: _, ...counts }: Counts,
  ): Promise<void> {
    const isNew = row.sync_state !== 'synced';
    await this.recordEnd(tx, scope, row, isNew && { sync_state: 'synced', sync_error: null });
    if (Object.values(counts).every((count) => count === 0)) return;
    await this.audit.record(tx, scope, {
      action: 'reconcile',
      type: 'app',
      id: row.app_id,
      workspaceId: row.workspace_id,
      changes: Object.entries(counts).map(([member, after]) => ({ member, after })),
    });
  }

  /**
   * Records on the app why its reconcile failed, unless the app was changed or reconciled since. The same failure again does not
   * increment the generation.
   */
  private async recordFailure(scope: OrgScope, started: AppEntity, error: unknown): Promise<void> {
    const failure = syncErrorOf(error);
    try {
      const record = async (tx: Tx): Promise<void> => {
        const row = await this.apps.lock(tx, scope, started.app_id, 'update');
        if (!row || row.archived_at || !isUnchanged(row, started)) return;
        const sync_error: SyncError = { ...failure, at: new Date().toISOString() };
        const isNew = row.sync_state !== 'failed' || !isSame(row.sync_error, failure);
        await this.recordEnd(tx, scope, row, isNew && { sync_state: 'failed', sync_error });
        if (error instanceof ReconcileError) await this.markFaulty(tx, scope, row, error);
      };
      // stays although the request fails
      await runUnjoined(() => this.database.transaction(record));
    } catch (cause) {
      rootLogger.warn({ err: cause, app_id: started.app_id }, 'could not record a failed reconcile');
    }
  }

  /** Marks resources with faults as `failed`, and other resources that had failed as `pending`. */
  private async markFaulty(
    tx: Tx,
    scope: OrgScope,
    row: AppEntity,
    { faults }: ReconcileError,
  ): Promise<void> {
    const workspace = narrowScope(scope, row.workspace_id);
    for (const [kind, names] of this.declarations.faultyNames(row.resources, faults)) {
      const { rows } = this.steps.of(kind);
      await rows.resetFailed(tx, workspace, row.app_id, names);
      if (names.length > 0) await rows.mark(tx, workspace, row.app_id, names, 'failed');
    }
  }

  /** Records the end of a reconcile. @param changes the state if it differs from the previous reconcile's, or false */
  private async recordEnd(
    tx: Tx,
    scope: OrgScope,
    row: AppEntity,
    changes: Pick<AppEntity, 'sync_state' | 'sync_error'> | false,
  ): Promise<void> {
    const now = new Date();
    await this.apps.update(tx, scope, row.app_id, {
      ...(changes && { ...changes, generation: row.generation + 1, updated_at: now }),
      last_reconciled_at: now,
      next_reconcile_at: new Date(now.getTime() + this.environment.RECONCILE_INTERVAL_SECONDS * 1000),
    });
  }
}

/** Returns the `sync_error` of a failed reconcile, without internals. */
function syncErrorOf(error: unknown): Omit<SyncError, 'at'> {
  const cause = problemOf(error);
  return cause
    ? { code: cause.code, detail: cause.detail, errors: cause.errors ?? [] }
    : { code: 'internal_error', detail: INTERNAL, errors: [] };
}

/** Returns the error for the client: 422 for declarations that cannot be applied. */
const clientError = (error: unknown): unknown => problemOf(error) ?? error;

function problemOf(error: unknown): Problem | null {
  if (error instanceof ReconcileError) return problem.validationFailed([...error.faults]);
  // A name was taken after the steps had checked it. The next reconcile reports which.
  if (duplicateOf(error instanceof Problem ? error.cause : error) !== undefined) {
    return problem.validationFailed([
      {
        pointer: '/resources',
        detail:
          'contains a name that another resource took during the reconcile. Reconcile again to see which',
      },
    ]);
  }
  return error instanceof Problem ? error : problemOfDatabaseError(error);
}

const isUnchanged = (row: AppEntity, started: AppEntity): boolean =>
  row.generation === started.generation &&
  row.last_reconciled_at?.getTime() === started.last_reconciled_at?.getTime();

const isSame = (current: SyncError | null, { code, detail, errors }: Omit<SyncError, 'at'>): boolean =>
  current?.code === code &&
  current.detail === detail &&
  toJsonText(current.errors.map(sorted)) === toJsonText(errors.map(sorted));

/** Sorts members, because jsonb does not keep their order. */
const sorted = (error: object): unknown[] => Object.entries(error).sort();

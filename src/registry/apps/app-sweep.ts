import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database, type Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { problem } from '#platform/problem';
import { demandRole, readable, within, WorkspaceAccess } from '../access/workspace-access';
import { AuditLog, given } from '../audit/audit-log';
import { checkLive } from '../shared/change';
import type { ReconciledDto } from './app.dto';
import type { AppEntity, SyncError } from './app.entity';
import { AppDeclarations } from './app-declarations';
import { AppRepository } from './app.repository';
import { audited, KIND } from './app.service';
import { SweepRefused } from './reconcile-step';
import { ReconcileSteps } from './reconcile-steps';
import { answerOf, toldOf } from './sweep-failure';

/** What a sweep did, in numbers. */
interface Counts {
  created: number;
  updated: number;
  archived: number;
  live: number;
}

/** Makes the registry what apps declare. */
@Injectable()
export class AppSweep {
  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly access: WorkspaceAccess,
    private readonly apps: AppRepository,
    private readonly declarations: AppDeclarations,
    private readonly steps: ReconcileSteps,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Sweeps an app in one transaction; it can be repeated. A sweep that fails changes nothing, and the app tells why.
   * Errors: 404, 403 without admin in its workspace, 409 while another sweep of it is under way or when it or its
   * workspace is archived, 422 for declarations that cannot be applied.
   *
   * @param named the slug or the id
   */
  async sweep(scope: OrgScope, named: string): Promise<ReconciledDto> {
    const seen = readable(scope, await this.apps.placeOf(scope, named), KIND, named);
    demandRole(scope, seen.workspace_id, ['admin']);
    let begun: AppEntity | undefined;
    try {
      return await this.database.transaction(async (tx) => {
        begun = undefined; // a transaction that collided with another begins anew
        const row = await this.take(tx, scope, seen.app_id);
        begun = row;
        const counts = await this.apply(tx, within(scope, row.workspace_id), row);
        await this.succeed(tx, scope, row, counts);
        return { app: row.app, live_count: counts.live };
      });
    } catch (error) {
      if (begun) await this.tell(scope, begun, error);
      throw answerOf(error);
    }
  }

  private async take(tx: Tx, scope: OrgScope, appId: string): Promise<AppEntity> {
    if (!(await this.apps.takeSweep(tx, scope, appId))) {
      throw problem.conflict('A sweep of the app is under way.');
    }
    const row = await this.apps.lock(tx, scope, appId, 'update');
    await this.access.admit(tx, scope, row, KIND, appId, ['admin']);
    checkLive(row!, KIND);
    return row!;
  }

  private async apply(tx: Tx, scope: Scope, row: AppEntity): Promise<Counts> {
    const { declared, faults } = await this.declarations.read(row.resources);
    if (faults.length > 0) throw new SweepRefused(faults);
    const counts: Counts = { created: 0, updated: 0, archived: 0, live: 0 };
    for (const step of this.steps.inOrder()) {
      const app = { appId: row.app_id, app: row.app };
      const swept = await step.apply(tx, scope, app, declared.get(step.kind) ?? []);
      counts.created += swept.created.length;
      counts.updated += swept.updated.length;
      counts.archived += swept.archived.length;
      counts.live += swept.liveCount;
    }
    return counts;
  }

  private async succeed(
    tx: Tx,
    scope: OrgScope,
    row: AppEntity,
    { live: _, ...counts }: Counts,
  ): Promise<void> {
    const isNews = row.sync_state !== 'synced';
    await this.end(tx, scope, row, isNews && { sync_state: 'synced', sync_error: null });
    if (Object.values(counts).every((count) => count === 0)) return;
    await this.audit.record(tx, scope, { ...audited(row), action: 'reconcile', changes: given(counts) });
  }

  /**
   * Has the app tell why its sweep failed, unless it was changed or swept since. What the sweep itself met goes before.
   * A sweep that ends as the one before it makes no generation.
   */
  private async tell(scope: OrgScope, swept: AppEntity, error: unknown): Promise<void> {
    const told = toldOf(error);
    try {
      await this.database.transaction(async (tx) => {
        const row = await this.apps.lock(tx, scope, swept.app_id, 'update');
        if (!row || row.archived_at || !isAsSwept(row, swept)) return;
        const sync_error: SyncError = { ...told, at: new Date().toISOString() };
        const isNews = row.sync_state !== 'failed' || !isSame(row.sync_error, told);
        await this.end(tx, scope, row, isNews && { sync_state: 'failed', sync_error });
        if (error instanceof SweepRefused) await this.markFaulty(tx, scope, row, error);
      });
    } catch (failure) {
      rootLogger.warn(
        { err: failure, app_id: swept.app_id },
        'an app could not be told why its sweep failed',
      );
    }
  }

  /** What failed before and is not at fault now waits for a sweep that succeeds. */
  private async markFaulty(tx: Tx, scope: OrgScope, row: AppEntity, { faults }: SweepRefused): Promise<void> {
    const app = { appId: row.app_id, app: row.app };
    const workspace = within(scope, row.workspace_id);
    for (const [kind, names] of this.declarations.faulty(row.resources, faults)) {
      const step = this.steps.of(kind);
      await step.mend(tx, workspace, app, names);
      if (names.length > 0) await step.mark(tx, workspace, app, names, 'failed');
    }
  }

  /** @param news what is otherwise than after the sweep before; false where nothing is. */
  private async end(
    tx: Tx,
    scope: OrgScope,
    row: AppEntity,
    news: Pick<AppEntity, 'sync_state' | 'sync_error'> | false,
  ): Promise<void> {
    const now = new Date();
    await this.apps.update(tx, scope, row.app_id, {
      ...(news && { ...news, generation: row.generation + 1, updated_at: now }),
      last_swept_at: now,
      next_sweep_at: new Date(now.getTime() + this.environment.RECONCILE_INTERVAL_SECONDS * 1000),
    });
  }
}

const isAsSwept = (row: AppEntity, swept: AppEntity): boolean =>
  row.generation === swept.generation && row.last_swept_at?.getTime() === swept.last_swept_at?.getTime();

const isSame = (present: SyncError | null, { code, detail, errors }: Omit<SyncError, 'at'>): boolean =>
  present?.code === code &&
  present.detail === detail &&
  toJsonText(present.errors.map(inOrder)) === toJsonText(errors.map(inOrder));

/** The database keeps members in an order of its own. */
const inOrder = (one: object): unknown[] => Object.entries(one).sort();

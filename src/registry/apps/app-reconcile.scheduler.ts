import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { expandRoles, orgScope } from '#platform/auth';
import { runAs } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { PeriodicTasks, WorkerShutdown } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { Problem } from '#platform/problem';
import { WorkspaceAccessRepository } from '../../resources';
import { AppReconcileService } from './app-reconcile.service';
import { AppRepository, type DueApp } from './app.repository';

/** The longest interval at which a worker checks for apps that are due. */
const POLL_MS = 10_000;
/** Apps that a worker claims at once. Few, because the apps that a crashed worker claimed wait for their next turn. */
const BATCH = 10;

/** The roles of a scheduled reconcile, the same that a client needs to request one. */
const ROLES = expandRoles(['admin']);

/**
 * Reconciles every app about once per `RECONCILE_INTERVAL_SECONDS`, across all workers. Organizations take turns, so that
 * many or large apps delay only their own organization. An app that fails is retried at its next turn.
 */
@Injectable()
export class AppReconcileScheduler implements OnApplicationBootstrap {
  constructor(
    private readonly environment: Environment,
    private readonly apps: AppRepository,
    private readonly reconciles: AppReconcileService,
    private readonly workspaces: WorkspaceAccessRepository,
    private readonly tasks: PeriodicTasks,
    private readonly shutdown: WorkerShutdown,
  ) {}

  onApplicationBootstrap(): void {
    const half = (this.environment.RECONCILE_INTERVAL_SECONDS * 1000) / 2;
    this.tasks.every('apps', Math.min(POLL_MS, half), () => this.reconcileDue());
  }

  /** Reconciles the apps that are due and that no other worker has claimed. */
  async reconcileDue(): Promise<void> {
    for (;;) {
      const due = await this.apps.claimDue(BATCH, this.environment.RECONCILE_INTERVAL_SECONDS);
      if (due.length === 0) return;
      const liveWorkspaces = await this.workspaces.filterLive(due.map(({ workspace_id }) => workspace_id));
      for (const app of due) {
        if (this.shutdown.stopping.aborted) return;
        if (liveWorkspaces.has(app.workspace_id)) await this.reconcile(app);
      }
    }
  }

  private async reconcile({ app_id, org_id }: DueApp): Promise<void> {
    try {
      await runAs(org_id, () => this.reconciles.reconcile(orgScope(org_id, app_id, ROLES), app_id));
    } catch (error) {
      // Not logged: `sync_error` of the app shows it, or another reconcile is running.
      if (error instanceof Problem && error.status < 500) return;
      rootLogger.error({ err: error, app_id }, 'could not reconcile an app');
    }
  }
}

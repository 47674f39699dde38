import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { expandRoles, orgScope } from '#platform/auth';
import { Environment } from '#platform/config';
import { PeriodicTasks, WorkerShutdown } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { Problem } from '#platform/problem';
import { LiveWorkspaceRepository } from '../workspaces/live-workspace.repository';
import { AppRepository, type DueApp } from './app.repository';
import { AppSweep } from './app-sweep';

/** How often a worker looks for apps whose time has come, at the least. */
const LOOK_MS = 10_000;
/** Apps that are taken together: few, because those of a worker that dies wait for their next time. */
const TOGETHER = 10;

/** What a sweep of the schedule may do: what an admin may who asks for one. */
const ROLES = expandRoles(['admin']);

/**
 * Sweeps every app about once in `RECONCILE_INTERVAL_SECONDS`, over all workers together: each takes apps whose time has
 * come, by one statement that sets their next time. Organizations take turns, so that one with many apps, or large ones,
 * holds up its own. One that fails waits for its next time, and holds up no other.
 */
@Injectable()
export class AppSweeper implements OnApplicationBootstrap {
  constructor(
    private readonly environment: Environment,
    private readonly apps: AppRepository,
    private readonly sweeps: AppSweep,
    private readonly workspaces: LiveWorkspaceRepository,
    private readonly tasks: PeriodicTasks,
    private readonly shutdown: WorkerShutdown,
  ) {}

  onApplicationBootstrap(): void {
    const half = (this.environment.RECONCILE_INTERVAL_SECONDS * 1000) / 2;
    this.tasks.every('apps', Math.min(LOOK_MS, half), () => this.sweep());
  }

  /** Sweeps the apps whose time has come, until there are none that nobody has taken. */
  async sweep(): Promise<void> {
    for (;;) {
      const due = await this.apps.claimDue(TOGETHER, this.environment.RECONCILE_INTERVAL_SECONDS);
      if (due.length === 0) return;
      const live = await this.workspaces.among(due.map(({ workspace_id }) => workspace_id));
      for (const app of due) {
        if (this.shutdown.stopping.aborted) return;
        if (live.has(app.workspace_id)) await this.sweepOne(app);
      }
    }
  }

  private async sweepOne({ app_id, org_id }: DueApp): Promise<void> {
    try {
      await this.sweeps.sweep(orgScope(org_id, app_id, ROLES), app_id);
    } catch (error) {
      // what the app itself tells: declarations that cannot be applied, a sweep that somebody asked for meanwhile
      if (error instanceof Problem && error.status < 500) return;
      rootLogger.error({ err: error, app_id }, 'an app could not be swept');
    }
  }
}

import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { runAs } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { PeriodicTasks, WorkerShutdown } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { Problem } from '#platform/problem';
import { WorkspaceAccessRepository } from '../../../resources';
import { ServerFailure } from '../../connection/server-failure';
import { ServerRefresher } from './server-refresher';
import { CheckRepository, type DueServer } from './check.repository';

/** The maximum interval at which a worker looks for due servers, in milliseconds. */
const POLL_MS = 5_000;
/** The number of servers that a worker checks at once, as many as the connector admits. A check mostly waits. */
const CONCURRENCY = 12;
/** The number of those per organization, so that unresponsive servers of one do not delay the others. */
const SHARE = 4;
const CLEAN_UP_MS = 10 * 60_000;

/**
 * Checks every live server about once per `MCP_CHECK_INTERVAL_SECONDS`, across all workers, and refreshes its tools. A new
 * server is due immediately, so that its tools are listed without a request.
 */
@Injectable()
export class CheckScheduler implements OnApplicationBootstrap {
  /** The running checks, and their number per organization. */
  private readonly running = new Set<Promise<void>>();
  private readonly byOrg = new Map<string, number>();

  constructor(
    private readonly environment: Environment,
    private readonly checks: CheckRepository,
    private readonly refresher: ServerRefresher,
    private readonly workspaces: WorkspaceAccessRepository,
    private readonly tasks: PeriodicTasks,
    private readonly shutdown: WorkerShutdown,
  ) {}

  onApplicationBootstrap(): void {
    const { MCP_CHECK_INTERVAL_SECONDS: seconds, MCP_CHECK_RETENTION_DAYS: days } = this.environment;
    this.tasks.every('MCP checks to delete', CLEAN_UP_MS, () => this.checks.deleteExpired(days));
    if (seconds === 0) return;
    const half = (seconds * 1000) / 2;
    this.tasks.every('MCP servers', Math.min(POLL_MS, half), () => this.checkDue());
  }

  /**
   * Checks the due servers that no other worker has claimed. Looks for more as soon as a check ends, and periodically while
   * checks are running.
   */
  async checkDue(): Promise<void> {
    const { stopping } = this.shutdown;
    while (!stopping.aborted) {
      const hasMore = await this.startDue();
      if (!hasMore && this.running.size === 0) return;
      if (!hasMore || this.running.size >= CONCURRENCY) await this.nextChange();
    }
    await Promise.all(this.running);
  }

  /** Waits until a check ends, or until it is time to look for servers again. */
  private async nextChange(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const later = new Promise<void>((resolve) => (timer = setTimeout(resolve, POLL_MS)));
    await Promise.race([...this.running, later]);
    clearTimeout(timer);
  }

  /** Starts checks of due servers in the free slots. @returns false if no server may be checked now */
  private async startDue(): Promise<boolean> {
    const busy = [...this.byOrg].flatMap(([orgId, count]) => (count >= SHARE ? [orgId] : []));
    const free = CONCURRENCY - this.running.size;
    if (free === 0) return true;
    const { MCP_CHECK_INTERVAL_SECONDS: seconds } = this.environment;
    const due = await this.checks.claimDue(free, SHARE, busy, seconds);
    const live = await this.workspaces.filterLive(due.map(({ workspace_id }) => workspace_id));
    for (const server of due) if (live.has(server.workspace_id)) this.start(server);
    return due.length > 0;
  }

  private start(due: DueServer): void {
    const { org_id } = due;
    this.byOrg.set(org_id, (this.byOrg.get(org_id) ?? 0) + 1);
    const check = runAs(org_id, () => this.check(due)).finally(() => {
      this.running.delete(check);
      const left = this.byOrg.get(org_id)! - 1;
      if (left > 0) this.byOrg.set(org_id, left);
      else this.byOrg.delete(org_id);
    });
    this.running.add(check);
  }

  private async check({ server_id, org_id }: DueServer): Promise<void> {
    try {
      await this.refresher.check(org_id, server_id, this.shutdown.stopping);
    } catch (error) {
      // Failures are stored as checks. After a change of the server or a shutdown, the server is checked when next due.
      if (error instanceof ServerFailure || this.shutdown.stopping.aborted) return;
      if (error instanceof Problem && error.status < 500) return;
      rootLogger.error({ err: error, server_id }, 'an MCP server could not be checked');
    }
  }
}

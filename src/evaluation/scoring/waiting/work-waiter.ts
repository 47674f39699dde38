import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { runAs } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { tracing } from '#platform/tracing';
import { OpenWorkRepository, type WorkKey } from './open-work.repository';

/** Requests of one principal that may wait at once in a process. */
const WAITERS_MAX = 8;
/** The owner of the connections for polls. */
const OWNER = 'waiting';
/** Time between two looks at the work that requests wait for. */
const POLL_MS = 500;

interface Waiter extends WorkKey {
  end(): void;
}

/**
 * Lets requests wait for the end of runs and batches, which a worker process executes. While requests wait, one statement for
 * all of them runs every 500 ms. A waiting request holds neither a connection nor a transaction.
 */
@Injectable()
export class WorkWaiter implements OnModuleDestroy {
  private readonly waiters = new Set<Waiter>();
  private readonly countByPrincipal = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private isStopping = false;

  constructor(private readonly work: OpenWorkRepository) {}

  /** Answers all waiting requests. */
  onModuleDestroy(): void {
    this.isStopping = true;
    clearTimeout(this.timer);
    for (const waiter of this.waiters) waiter.end();
  }

  /**
   * Resolves when a run or a batch has ended, after a time, when the client disconnects, or when the process stops. Resolves at
   * once if 8 requests of the principal are waiting.
   */
  async wait(scope: Scope, id: string, ms: number, signal: AbortSignal): Promise<void> {
    const principal = `${scope.orgId} ${scope.principalId}`;
    const count = this.countByPrincipal.get(principal) ?? 0;
    if (count >= WAITERS_MAX || ms <= 0 || this.isStopping || signal.aborted) return;
    this.countByPrincipal.set(principal, count + 1);
    try {
      await this.untilEnd({ workspaceId: scope.workspaceId, id }, ms, signal);
    } finally {
      const left = this.countByPrincipal.get(principal)! - 1;
      if (left > 0) this.countByPrincipal.set(principal, left);
      else this.countByPrincipal.delete(principal);
    }
  }

  private untilEnd(key: WorkKey, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timeout);
        signal.removeEventListener('abort', end);
        this.waiters.delete(waiter);
        resolve();
      };
      const waiter = { ...key, end };
      const timeout = setTimeout(end, ms);
      signal.addEventListener('abort', end);
      this.waiters.add(waiter);
      // for all organizations, not as the one whose request came first
      this.timer ??= runAs(OWNER, () => this.pollLater());
    });
  }

  private async poll(): Promise<void> {
    const polled = [...this.waiters];
    try {
      const open = polled.length > 0 ? await this.work.find(distinct(polled)) : new Set<string>();
      for (const waiter of polled) if (!open.has(waiter.id)) waiter.end();
    } catch (error) {
      // the requests wait on, and read the state themselves in the end
      rootLogger.warn({ err: error }, 'the work that requests wait for could not be read');
    }
    const isNeeded = this.waiters.size > 0 && !this.isStopping;
    this.timer = isNeeded ? this.pollLater() : undefined;
  }

  private pollLater(): NodeJS.Timeout {
    return setTimeout(() => void tracing().untraced(() => this.poll()), POLL_MS);
  }
}

const distinct = (waiters: readonly Waiter[]): WorkKey[] => [
  ...new Map(waiters.map((waiter) => [waiter.id, waiter])).values(),
];

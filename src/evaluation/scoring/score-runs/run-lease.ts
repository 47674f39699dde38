import { rootLogger } from '#platform/logging';
import type { RunExecutionRepository, RunKey } from './run-execution.repository';

/** Time after the last heartbeat at which a worker loses its run. */
export const LEASE_MS = 10_000;
const HEARTBEAT_MS = 3_000;
/** Delay before a failed heartbeat is retried. */
const HEARTBEAT_RETRY_MS = 500;
/**
 * Time without a successful heartbeat after which a worker gives up its run. While the database is unavailable, no other
 * worker can take the run, so giving up earlier would only discard the work in progress.
 */
const UNAVAILABLE_MS = 60_000;

/** A worker's lease on a run. A heartbeat renews it until it ends or is lost. */
export class RunLease {
  private readonly controller = new AbortController();
  /** Aborted when the run was cancelled or taken over, or the database has been unavailable for too long. */
  readonly lostSignal = this.controller.signal;
  private timer: NodeJS.Timeout | undefined;
  private renewedAt = performance.now();
  private isEnded = false;

  constructor(
    private readonly runs: RunExecutionRepository,
    private readonly run: RunKey,
    readonly token: string,
  ) {
    this.schedule();
  }

  /** Stops the heartbeat. The caller releases the run. */
  end(): void {
    this.isEnded = true;
    clearTimeout(this.timer);
  }

  /** Checks immediately whether this worker still holds the run. */
  async verify(): Promise<void> {
    if (!(await this.runs.renew(this.run, this.token, LEASE_MS))) this.lose();
  }

  private lose(cause?: unknown): void {
    this.controller.abort(cause ?? new Error('The lease on the run was lost.'));
  }

  private schedule(afterMs = HEARTBEAT_MS): void {
    if (!this.isEnded && !this.lostSignal.aborted)
      this.timer = setTimeout(() => void this.heartbeat(), afterMs);
  }

  private async heartbeat(): Promise<void> {
    const startedAt = performance.now();
    try {
      if (await this.runs.renew(this.run, this.token, LEASE_MS)) this.renewedAt = startedAt;
      else this.lose();
    } catch (error) {
      rootLogger.warn(
        { err: error, score_run_id: this.run.score_run_id },
        'the lease of a scoring run could not be renewed',
      );
      if (performance.now() - this.renewedAt > UNAVAILABLE_MS) this.lose(error);
      this.schedule(HEARTBEAT_RETRY_MS);
      return;
    }
    this.schedule();
  }
}

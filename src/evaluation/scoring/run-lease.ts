import { rootLogger } from '#platform/logging';
import type { RunKey, RunWorkRepository } from './run-work.repository';

/** A run is taken from a worker that has given no sign of life for this long. */
export const LEASE_MS = 10_000;
const HEARTBEAT_MS = 3_000;
/** How soon a heartbeat that failed is tried again. */
const AGAIN_MS = 500;
/**
 * A worker that could not say so for this long gives its run up by itself. Nobody takes it before the database is back,
 * and then who has it is asked there; giving it up earlier would only throw away what is under way.
 */
const AWAY_MS = 60_000;

/** A worker's hold on a run, renewed by a heartbeat until it is given up or lost. */
export class RunLease {
  private readonly controller = new AbortController();
  /** Aborted when the run is the holder's no more: it was cancelled, or taken over, or the database is away too long. */
  readonly lost = this.controller.signal;
  private timer: NodeJS.Timeout | undefined;
  private renewedAt = performance.now();
  private isEnded = false;

  constructor(
    private readonly runs: RunWorkRepository,
    private readonly run: RunKey,
    readonly token: string,
  ) {
    this.schedule();
  }

  /** Ends the heartbeat; the lease itself is left to the caller. */
  end(): void {
    this.isEnded = true;
    clearTimeout(this.timer);
  }

  /** Looks at once whether the run is still held. */
  async verify(): Promise<void> {
    if (!(await this.runs.renew(this.run, this.token, LEASE_MS))) this.lose();
  }

  private lose(cause?: unknown): void {
    this.controller.abort(cause ?? new Error('The run is held no more.'));
  }

  private schedule(afterMs = HEARTBEAT_MS): void {
    if (!this.isEnded && !this.lost.aborted) this.timer = setTimeout(() => void this.beat(), afterMs);
  }

  private async beat(): Promise<void> {
    const begun = performance.now();
    try {
      if (await this.runs.renew(this.run, this.token, LEASE_MS)) this.renewedAt = begun;
      else this.lose();
    } catch (error) {
      rootLogger.warn(
        { err: error, score_run_id: this.run.score_run_id },
        'the hold on a scoring run was not renewed',
      );
      if (performance.now() - this.renewedAt > AWAY_MS) this.lose(error);
      this.schedule(AGAIN_MS);
      return;
    }
    this.schedule();
  }
}

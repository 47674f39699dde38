import { setMaxListeners } from 'node:events';
import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { finishingMs } from '#platform/process';

/** Signals the shutdown of the process to the work of a worker. */
@Injectable()
export class WorkerShutdown {
  private readonly stop = new AbortController();
  private readonly timeout = new AbortController();
  /** Aborted as soon as the process must stop. Start no new work, and finish running work. */
  readonly stopping = this.stop.signal;
  /** Aborted when the time to finish is up. Give up running work. */
  readonly outOfTime = this.timeout.signal;
  private timer: NodeJS.Timeout | undefined;
  private readonly work = new Set<Promise<unknown>>();

  constructor(private readonly environment: Environment) {
    setMaxListeners(0, this.stopping, this.outOfTime); // one for each running job
  }

  begin(): void {
    if (this.stopping.aborted) return;
    this.stop.abort();
    this.timer = setTimeout(() => this.timeout.abort(), finishingMs(this.environment.SHUTDOWN_SECONDS));
  }

  /** Makes the shutdown wait for work outside of jobs. The work should observe the signals. Returns its promise. */
  finish<Value>(work: Promise<Value>): Promise<Value> {
    const ended = work.finally(() => this.work.delete(ended));
    this.work.add(ended);
    return ended;
  }

  /** Waits for the work outside of jobs. */
  async finished(): Promise<void> {
    while (this.work.size > 0) await Promise.allSettled(this.work);
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

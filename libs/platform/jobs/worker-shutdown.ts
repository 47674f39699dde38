import { setMaxListeners } from 'node:events';
import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { finishingMs } from '#platform/process';

/** How what runs in a worker learns that the process is to stop. */
@Injectable()
export class WorkerShutdown {
  private readonly begun = new AbortController();
  private readonly over = new AbortController();
  /** Aborted as soon as the process is told to stop: nothing new is begun, what is under way is finished. */
  readonly stopping = this.begun.signal;
  /** Aborted when there is no more time to finish: what is under way is given up. */
  readonly outOfTime = this.over.signal;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly environment: Environment) {
    setMaxListeners(0, this.stopping, this.outOfTime); // one for each job under way
  }

  begin(): void {
    if (this.stopping.aborted) return;
    this.begun.abort();
    this.timer = setTimeout(() => this.over.abort(), finishingMs(this.environment.SHUTDOWN_SECONDS));
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

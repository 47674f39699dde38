import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';

/** A count of what may go on at once, shared by all runs of a process. Who waits longest is first. */
export class Slots {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(size: number) {
    this.free = size;
  }

  /** Waits for a slot; the caller gives it back with `release`. Throws the signal's reason when it is aborted. */
  async acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.free > 0) {
      this.free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const take = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.waiting.splice(this.waiting.indexOf(take), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.push(take);
    });
  }

  release(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.free += 1;
  }
}

/** Targets that this process scores at once: `WORKER_CONCURRENCY`. */
@Injectable()
export class WorkerSlots extends Slots {
  constructor(environment: Environment) {
    super(environment.WORKER_CONCURRENCY);
  }
}

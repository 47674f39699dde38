import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { linkedSignal } from './linked-signal';

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

/** A slot in use, which can be lent while what it is used for only waits. */
export class Slot {
  private isHeld = false;

  /** @param stopping aborted when nothing is to be waited for any more. */
  constructor(
    private readonly slots: Slots,
    private readonly stopping: AbortSignal,
  ) {}

  /** Throws the reason of `stopping` when it is aborted. */
  async take(): Promise<void> {
    await this.slots.acquire(this.stopping);
    this.isHeld = true;
  }

  /**
   * Waits for something while others use the slot. What is waited for is given up when `signal` is aborted, or when
   * nothing is to be begun any more; the reason is thrown then.
   */
  async lend<Result>(
    signal: AbortSignal,
    waiting: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const either = linkedSignal(signal, this.stopping);
    this.giveBack();
    try {
      const result = await waiting(either.signal);
      await this.slots.acquire(either.signal);
      this.isHeld = true;
      return result;
    } finally {
      either.unlink();
    }
  }

  giveBack(): void {
    if (this.isHeld) this.slots.release();
    this.isHeld = false;
  }
}

/** Targets that this process scores at once: `WORKER_CONCURRENCY`. */
@Injectable()
export class WorkerSlots extends Slots {
  constructor(environment: Environment) {
    super(environment.WORKER_CONCURRENCY);
  }
}

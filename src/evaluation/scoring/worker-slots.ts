import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import type { ScorerKind } from '../scorers/scorer.entity';
import { FairQueue, type Owners } from '#platform/turns';
import { linkedSignal } from './linked-signal';

/**
 * A count of what may go on at once, shared by all runs of a process. Organizations take turns, and workspaces within
 * them; of one owner, who waits longest is first.
 */
export class Slots {
  private free: number;
  private readonly waiting = new FairQueue<() => void>();

  constructor(size: number) {
    this.free = size;
  }

  /** Waits for a slot; the caller gives it back with `release`. Throws the signal's reason when it is aborted. */
  async acquire(signal: AbortSignal, owners: Owners = []): Promise<void> {
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
        this.waiting.remove(owners, take);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.push(owners, take);
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

  /**
   * @param stopping aborted when nothing is to be waited for any more.
   * @param owners whose turn is waited for, the first time and after it was lent.
   */
  constructor(
    private readonly slots: Slots,
    private readonly stopping: AbortSignal,
    private readonly owners: Owners = [],
  ) {}

  /** Throws the reason of `stopping` when it is aborted. */
  async take(): Promise<void> {
    await this.slots.acquire(this.stopping, this.owners);
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
      await this.slots.acquire(either.signal, this.owners);
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

/**
 * Targets that this process scores at once: `WORKER_CONCURRENCY` by code, which computes, and as many by judges, which
 * are waited for. They are counted apart, so that a judge that does not answer holds up no code.
 */
@Injectable()
export class WorkerSlots {
  private readonly code: Slots;
  private readonly judges: Slots;

  constructor({ WORKER_CONCURRENCY }: Environment) {
    this.code = new Slots(WORKER_CONCURRENCY);
    this.judges = new Slots(WORKER_CONCURRENCY);
  }

  /** The slots of scorers of a kind. */
  of(kind: ScorerKind): Slots {
    return kind === 'llm_judge' ? this.judges : this.code;
  }
}

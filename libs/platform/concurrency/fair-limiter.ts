import { problem } from '#platform/problem';
import { FairQueue, type OwnerPath } from './fair-queue';

/** Whoever takes turns with others: a workspace within its organization, or a single name. */
export type Owner = string | { readonly orgId: string; readonly workspaceId: string };

/** Returns the path of an owner in a `FairQueue`. */
export const pathOf = (owner: Owner): OwnerPath =>
  typeof owner === 'string' ? [owner] : [owner.orgId, owner.workspaceId];

export interface FairLimiterOptions {
  /** Pieces of work that run at once. */
  concurrency: number;
  /** Pieces of work that may wait besides, over all owners. Unlimited by default. */
  maxWaiting?: number;
}

/** A slot of the limiter, held by running work. */
export interface Permit {
  /**
   * Gives the slot to others during `waiting`, and waits for a slot again before it returns. Lend once at a time.
   *
   * @throws what `waiting` throws, or the signal's reason when it is aborted before a slot is free again. The work
   *   then goes on without a slot, so it should only clean up.
   */
  lend<Result>(signal: AbortSignal, waiting: () => Promise<Result>): Promise<Result>;
}

interface Waiter {
  begin: () => void;
  refuse: (reason: Error) => void;
}

/**
 * Limits how many pieces of work run at once, so that a burst takes no more memory and connections than a few requests.
 * Organizations take turns, and so do the workspaces of an organization.
 */
export class FairLimiter {
  /** Pieces of work that run at once. */
  readonly concurrency: number;
  private readonly maxWaiting: number;
  private running = 0;
  private readonly waiting = new FairQueue<Waiter>();

  constructor({ concurrency, maxWaiting = Infinity }: FairLimiterOptions) {
    this.concurrency = concurrency;
    this.maxWaiting = maxWaiting;
  }

  /**
   * Runs `work` as soon as its owner's turn comes, and returns its result. The slot is held until `work` ends, so `work`
   * should observe the signal too.
   *
   * @throws the signal's reason, at once, when it is aborted before the turn comes. 503 `service_overloaded` if too many
   *   wait: the newest work of the organization that waits for most is refused, which may be this one.
   */
  async run<Result>(
    owner: Owner,
    signal: AbortSignal | undefined,
    work: (permit: Permit) => Promise<Result>,
  ): Promise<Result> {
    const path = pathOf(owner);
    signal?.throwIfAborted();
    if (this.running >= this.concurrency && this.waiting.size >= this.maxWaiting) this.shed(path);
    const turn = this.acquire(path, signal);
    if (turn) await turn;
    let isHeld = true;
    const release = (): void => {
      if (isHeld) this.release();
      isHeld = false;
    };
    try {
      return await work({
        lend: async (until, waiting) => {
          release();
          const result = await waiting();
          until.throwIfAborted();
          await this.acquire(path, until);
          isHeld = true;
          return result;
        },
      });
    } finally {
      release();
    }
  }

  /** Takes a free slot, and returns nothing; else returns a promise that resolves when a slot is handed over. */
  private acquire(path: OwnerPath, signal: AbortSignal | undefined): Promise<void> | undefined {
    if (this.running < this.concurrency) {
      this.running++;
      return undefined;
    }
    return new Promise<void>((resolve, reject) => {
      const stay = (): void => signal?.removeEventListener('abort', leave);
      const waiter: Waiter = {
        begin: () => {
          stay();
          resolve();
        },
        refuse: (reason) => {
          stay();
          reject(reason);
        },
      };
      const leave = (): void => {
        this.waiting.remove(path, waiter);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.waiting.push(path, waiter);
    });
  }

  /** Refuses the newest waiter of the organization that waits for most, or throws if that is the caller's own. */
  private shed(path: OwnerPath): void {
    const refused = this.waiting.shed(path);
    const reason = problem.overloaded('Too many requests of this kind are waiting. Try again shortly.');
    if (!refused) throw reason;
    refused.refuse(reason);
  }

  /** Hands the slot to the next waiter, or frees it. */
  private release(): void {
    const next = this.waiting.shift();
    if (next) next.begin();
    else this.running--;
  }
}

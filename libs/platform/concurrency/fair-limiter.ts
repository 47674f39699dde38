import { problem } from '#platform/problem';
import { FairQueue, type OwnerPath } from './fair-queue';

/** An owner of work that takes turns with other owners: a workspace within its organization, or a single name. */
export type Owner = string | { readonly orgId: string; readonly workspaceId: string };

/** Returns the path of an owner in a `FairQueue`. */
export const pathOf = (owner: Owner): OwnerPath =>
  typeof owner === 'string' ? [owner] : [owner.orgId, owner.workspaceId];

export interface FairLimiterOptions {
  /** Pieces of work that may run at once. Default: one more than the share, so that others always find a slot. */
  concurrency?: number;
  /** Pieces of work of one organization that may run at once. The rest is left to others. Unlimited by default. */
  share?: number;
  /** Pieces of work that may wait, over all owners. Unlimited by default. */
  maxWaiting?: number;
  /** Milliseconds after which work that still waits fails with `WaitTimeout`. Unlimited by default. */
  maxWaitMs?: number | undefined;
}

/** Work waited too long for its turn, and did not begin. */
export class WaitTimeout extends Error {
  override readonly name = 'WaitTimeout';

  constructor(ms: number) {
    super(`The work did not get its turn within ${ms} ms.`);
  }
}

/** A slot of the limiter, held by running work. */
export interface Permit {
  /**
   * Gives the slot to others during `waiting`, and waits for a slot again before it returns. Do not nest calls.
   *
   * @throws the error of `waiting`, or the signal's reason when it is aborted before a slot is free again. The work
   *   then continues without a slot, so it should only clean up.
   */
  lend<Result>(signal: AbortSignal, waiting: () => Promise<Result>): Promise<Result>;
}

interface Waiter {
  owner: string;
  begin: () => void;
  refuse: (reason: Error) => void;
}

/**
 * Limits how many pieces of work run at once, so that a burst takes no more memory and connections than a few requests.
 * Organizations take turns, and so do the workspaces of an organization. An organization that has half of the slots gets no
 * further one while others wait that have less, so that long work of one cannot fill the slots turn by turn.
 */
export class FairLimiter {
  /** Pieces of work that run at once. */
  readonly concurrency: number;
  private readonly maxWaiting: number;
  private readonly maxWaitMs: number | undefined;
  private readonly share: number;
  private readonly half: number;
  private running = 0;
  private readonly runningByOwner = new Map<string, number>();
  private readonly waiting = new FairQueue<Waiter>();

  constructor(options: FairLimiterOptions) {
    const { share = Infinity, concurrency = share + 1, maxWaiting = Infinity, maxWaitMs } = options;
    this.concurrency = concurrency;
    this.share = share;
    this.half = Math.max(1, Math.floor(concurrency / 2));
    this.maxWaiting = maxWaiting;
    this.maxWaitMs = maxWaitMs;
  }

  /** Pieces of work that wait for their turn. */
  get waitingCount(): number {
    return this.waiting.size;
  }

  /**
   * Runs `work` as soon as its owner's turn comes, and returns its result. The slot is held until `work` ends, so `work`
   * should observe the signal too.
   *
   * @throws the signal's reason, at once, when it is aborted before the turn comes; `WaitTimeout` after `maxWaitMs`; 503
   *   `service_overloaded` if too many wait: the newest work of the organization with the most waiting work is refused,
   *   which may be this one
   */
  async run<Result>(
    owner: Owner,
    signal: AbortSignal | undefined,
    work: (permit: Permit) => Promise<Result>,
  ): Promise<Result> {
    const path = pathOf(owner);
    signal?.throwIfAborted();
    if (!this.hasSlot(path[0]!) && this.waiting.size >= this.maxWaiting) this.shed(path);
    const turn = this.acquire(path, signal);
    if (turn) await turn;
    let isHeld = true;
    const release = (): void => {
      if (isHeld) this.release(path[0]!);
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

  /**
   * Takes a free slot without queueing. Cheaper than `run`; the caller must release it.
   *
   * @returns the function that releases it, to be called once; undefined if no slot is free
   */
  tryEnter(orgId: string): (() => void) | undefined {
    if (!this.hasSlot(orgId)) return undefined;
    this.take(orgId);
    return () => this.release(orgId);
  }

  /** Takes a free slot and returns undefined, or returns a promise that resolves when a slot is handed over. */
  private acquire(path: OwnerPath, signal: AbortSignal | undefined): Promise<void> | undefined {
    const owner = path[0]!;
    if (this.hasSlot(owner)) {
      this.take(owner);
      return undefined;
    }
    return new Promise<void>((resolve, reject) => {
      const { maxWaitMs } = this;
      const timer =
        maxWaitMs === undefined ? undefined : setTimeout(() => leave(new WaitTimeout(maxWaitMs)), maxWaitMs);
      const stay = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const waiter: Waiter = {
        owner,
        begin: () => {
          stay();
          resolve();
        },
        refuse: (reason) => {
          stay();
          reject(reason);
        },
      };
      const leave = (reason: Error): void => {
        stay();
        this.waiting.remove(path, waiter);
        reject(reason);
      };
      const abort = (): void => leave(signal?.reason as Error);
      signal?.addEventListener('abort', abort, { once: true });
      this.waiting.push(path, waiter);
    });
  }

  /** Refuses the newest waiter of the organization with the most waiting work, or throws to refuse the caller. */
  private shed(path: OwnerPath): void {
    const refused = this.waiting.shed(path);
    const reason = problem.overloaded('Too many requests of this kind are waiting. Try again shortly.');
    if (!refused) throw reason;
    refused.refuse(reason);
  }

  /** Frees the slot, and hands it to the next waiter whose organization has less than half, or else is below its share. */
  private release(owner: string): void {
    this.running--;
    const left = this.countOf(owner) - 1;
    if (left > 0) this.runningByOwner.set(owner, left);
    else this.runningByOwner.delete(owner);
    const next =
      this.waiting.shift((one) => this.hasSlot(one) && this.countOf(one) < this.half) ??
      this.waiting.shift((one) => this.hasSlot(one));
    if (!next) return;
    this.take(next.owner);
    next.begin();
  }

  private hasSlot(owner: string): boolean {
    return this.running < this.concurrency && this.countOf(owner) < this.share;
  }

  private countOf(owner: string): number {
    return this.runningByOwner.get(owner) ?? 0;
  }

  private take(owner: string): void {
    this.running++;
    this.runningByOwner.set(owner, this.countOf(owner) + 1);
  }
}

import { problem } from '#platform/problem';
import { FairQueue } from '../scorers/engine/pool/fair.queue';

interface Waiter {
  begin: () => void;
  refuse: (reason: Error) => void;
}

/**
 * Has pieces of work wait for each other, so that many of them at once take no more memory and time than a few. Owners
 * take turns: one who asks for a thousand holds up another by one at a time.
 */
export class FairTurns {
  private underWay = 0;
  private waitingCount = 0;
  private readonly waiting = new FairQueue<Waiter>();

  /**
   * @param atOnce pieces of work that are done at once
   * @param maximumWaiting those that wait besides, of all owners together
   */
  constructor(
    private readonly atOnce: number,
    private readonly maximumWaiting: number,
  ) {}

  /**
   * Does `work` when its turn comes, and answers what it does. A turn that has begun lasts until `work` ends, which is
   * therefore to heed the signal too.
   *
   * @throws the signal's reason, at once, when it is aborted before the turn comes; 503 `service_overloaded` where too
   *   many wait already. The place of one who waits for more than others goes to an owner who waits for less.
   */
  async take<Result>(owner: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    if (this.underWay >= this.atOnce) await this.turn(owner, signal);
    else this.underWay++;
    try {
      return await work();
    } finally {
      this.pass();
    }
  }

  /** Waits until another's turn is passed on. */
  private async turn(owner: string, signal: AbortSignal): Promise<void> {
    if (this.waitingCount >= this.maximumWaiting) this.makeRoom(owner);
    this.waitingCount++;
    await new Promise<void>((resolve, reject) => {
      const stay = (): void => signal.removeEventListener('abort', leave);
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
        this.waiting.remove(owner, waiter);
        this.waitingCount--;
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.push(owner, waiter);
    });
  }

  /** Refuses the newest of those who wait for the most, or throws, where that is the owner itself or one like it. */
  private makeRoom(owner: string): void {
    const refused = this.waiting.shed(owner);
    const reason = problem.overloaded(
      'Too many requests of this kind wait for their turn; try again shortly.',
    );
    if (!refused) throw reason;
    this.waitingCount--;
    refused.refuse(reason);
  }

  private pass(): void {
    const next = this.waiting.shift();
    if (!next) {
      this.underWay--;
      return;
    }
    this.waitingCount--;
    next.begin();
  }
}

import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';
import { FairQueue, type Owners } from './fair-queue';

interface Waiter {
  begin: () => void;
  refuse: (reason: Error) => void;
}

/**
 * Has pieces of work wait for each other, so that many of them at once take no more memory and time than a few. Organizations
 * take turns, and workspaces within them: who asks for a thousand holds up another by one at a time.
 */
export class FairTurns {
  private underWay = 0;
  private readonly waiting = new FairQueue<Waiter>();

  /**
   * @param atOnce pieces of work that are done at once
   * @param maximumWaiting those that wait besides, of all organizations together
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
   *   many wait already. The place of an organization that waits for more than others goes to one that waits for less.
   */
  async take<Result>(
    scope: Pick<Scope, 'orgId' | 'workspaceId'>,
    signal: AbortSignal,
    work: () => Promise<Result>,
  ): Promise<Result> {
    signal.throwIfAborted();
    if (this.underWay >= this.atOnce) await this.turn([scope.orgId, scope.workspaceId], signal);
    else this.underWay++;
    try {
      return await work();
    } finally {
      this.pass();
    }
  }

  /** Waits until another's turn is passed on. */
  private async turn(owners: Owners, signal: AbortSignal): Promise<void> {
    if (this.waiting.size >= this.maximumWaiting) this.makeRoom(owners);
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
        this.waiting.remove(owners, waiter);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.push(owners, waiter);
    });
  }

  /** Refuses the newest of those who wait for the most, or throws, where that is the owner itself or one like it. */
  private makeRoom(owners: Owners): void {
    const refused = this.waiting.shed(owners);
    const reason = problem.overloaded(
      'Too many requests of this kind wait for their turn; try again shortly.',
    );
    if (!refused) throw reason;
    refused.refuse(reason);
  }

  private pass(): void {
    const next = this.waiting.shift();
    if (!next) {
      this.underWay--;
      return;
    }
    next.begin();
  }
}

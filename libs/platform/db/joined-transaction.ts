import type { PoolClient } from 'pg';
import type { QueryRunner } from 'typeorm';
import { joinedTransaction } from '#platform/concurrency';

/** A transaction on a connection of the pool. */
export interface OpenTransaction {
  readonly runner: QueryRunner;
  readonly client: PoolClient;
  readonly afterCommit: (() => void)[];
}

/**
 * One transaction for all that a piece of work writes. The first transaction of the work opens it, and later ones are
 * savepoints of it. It commits after the work.
 */
export class JoinedTransaction {
  open: OpenTransaction | undefined;
  /** Settles when the savepoints so far have ended. Concurrent ones on the same connection take turns. */
  private last: Promise<unknown> = Promise.resolve();
  private savepoints = 0;

  get isOpen(): boolean {
    return this.open !== undefined;
  }

  /** Runs `work` in its turn. Within the work of a savepoint, run it at once. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.last.then(work);
    this.last = result.catch(() => undefined);
    return result;
  }

  nextSavepoint(): string {
    return `s${++this.savepoints}`;
  }
}

/** Returns the transaction that the current work joins, if there is one. */
export const currentJoined = (): JoinedTransaction | undefined =>
  joinedTransaction() as JoinedTransaction | undefined;

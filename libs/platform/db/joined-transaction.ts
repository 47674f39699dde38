import type { DataSource } from 'typeorm';
import { type Joined, joinedTransaction, runJoined, type SharedWrites } from '#platform/concurrency';
import type { SqlExecutor, Tx } from './executor';
import { OpenTransaction } from './open-transaction';

/** Thrown to work whose transaction was rolled back together with that of other work. It has written nothing, and can run again. */
export class RolledBack extends Error {}

/** Writes the last row of each piece of work that commits together. Returns false if one of them cannot be written. */
export type LastWrite<Row> = (rows: readonly Row[], on: SqlExecutor) => Promise<boolean>;

/** Transactions that take turns, because they are on one connection. */
interface Turns {
  /** Settles when those so far have ended. */
  last: Promise<unknown>;
}

/** A transaction that commits when all work in it has ended, and rolls back if some of it has failed. */
class SharedTransaction implements Turns {
  private readonly rows: unknown[] = [];
  private hasFailed = false;
  private settle!: (outcome: Promise<void>) => void;
  private readonly outcome = new Promise<void>((resolve) => (this.settle = resolve));

  constructor(
    readonly open: OpenTransaction,
    private readonly lastWrite: LastWrite<unknown>,
    public last: Promise<unknown>,
    /** How many pieces of work have not ended. */
    public members = 1,
  ) {
    this.outcome.catch(() => undefined);
  }

  /** Resolves after the commit or the rollback. */
  get ended(): Promise<void> {
    return this.outcome.catch(() => undefined);
  }

  /** See `JoinedTransaction.end`. */
  end(row: unknown): Promise<void> {
    if (row === undefined) this.hasFailed = true;
    else this.rows.push(row);
    if (--this.members === 0) this.settle(this.finish());
    return this.outcome;
  }

  private async finish(): Promise<void> {
    await this.last;
    const { open, rows } = this;
    try {
      if (this.hasFailed || !(await open.run((tx) => this.lastWrite(rows, tx)))) throw new RolledBack();
    } catch (error) {
      await open.rollBack();
      throw error;
    }
    await open.commit();
  }
}

/**
 * One transaction for all that a piece of work writes. The first transaction of the work opens it, and later ones are
 * savepoints of it. The small writes of several pieces of work can share one.
 */
export class JoinedTransaction implements Joined, Turns {
  private shared: SharedTransaction | undefined;
  last: Promise<unknown> = Promise.resolve();
  isEnded = false;

  constructor(
    private readonly database: SqlExecutor & { readonly dataSource: DataSource },
    private readonly lastWrite: LastWrite<unknown>,
  ) {}

  get open(): OpenTransaction | undefined {
    return this.shared?.open;
  }

  get isOpen(): boolean {
    return this.shared !== undefined;
  }

  /** Runs `work` in its turn. Within the work of a transaction, run it at once. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turns: Turns = this.shared ?? this;
    const result = turns.last.then(work);
    turns.last = result.catch(() => undefined);
    return result;
  }

  /** Runs a transaction as the first part of this one, or as a savepoint of it. */
  async run<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    if (this.open) return this.open.runInSavepoint(work);
    const open = await OpenTransaction.begin(this.database.dataSource);
    this.shared = new SharedTransaction(open, this.lastWrite, this.last);
    try {
      return await open.run(work);
    } catch (error) {
      this.shared = undefined;
      await open.rollBack();
      throw error;
    }
  }

  /**
   * Runs writes for several pieces of work, whose transactions are not open, in one transaction. It becomes that of all work that
   * has written something, and commits when they have ended. A write that rejects or resolves with null has written nothing.
   */
  async share<Result>(
    members: readonly JoinedTransaction[],
    write: () => Promise<readonly (Result | Promise<Result>)[]>,
  ): Promise<SharedWrites<Result>> {
    const own = new JoinedTransaction(this.database, this.lastWrite);
    try {
      const results = await runJoined(own, async () =>
        (await write()).map((result) => Promise.resolve(result)),
      );
      const outcomes = await Promise.allSettled(results);
      const { shared } = own;
      const joining = members.filter((member, index) => {
        const outcome = outcomes[index]!;
        return outcome.status === 'fulfilled' && outcome.value !== null && !member.isEnded;
      });
      if (shared && joining.length > 0) {
        shared.members = joining.length;
        for (const member of joining) member.shared = shared;
        return { results, ended: shared.ended };
      }
      await shared?.open.rollBack();
      return { results, ended: Promise.resolve() };
    } catch (error) {
      await own.open?.rollBack();
      throw error;
    }
  }

  /**
   * Ends the work, without a row if it has failed. Resolves when all that it has written is committed. Statements of work that
   * goes on after this no longer join.
   *
   * @throws RolledBack if work in the same transaction has failed, or if the row cannot be written; the error of the commit
   */
  async end(row?: unknown): Promise<void> {
    this.isEnded = true;
    if (this.shared) return this.shared.end(row);
    if (row !== undefined && !(await this.lastWrite([row], this.database))) throw new RolledBack();
  }
}

/** Returns the transaction that the current work joins, if there is one. */
export const currentJoined = (): JoinedTransaction | undefined =>
  joinedTransaction() as JoinedTransaction | undefined;

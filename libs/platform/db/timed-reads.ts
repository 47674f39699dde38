import { Problem } from '#platform/problem';
import type { Database } from './database';
import type { SqlExecutor, Statement, Tx } from './executor';

/** Minimum change of the remaining time, in milliseconds, after which the statement timeout is set again. */
const TIMEOUT_TOLERANCE_MS = 50;

/**
 * Runs read-only statements within a deadline, after which PostgreSQL itself ends them and the connection is free. They
 * run one after the other on one connection and see the same snapshot (REPEATABLE READ).
 *
 * @param deadline in the time of `performance.now()`
 * @param signal prevents further statements when it is aborted
 * @throws Problem `request_timeout` for a statement after the deadline; the signal's reason after an abort
 */
export function readWithin<Result>(
  database: Database,
  deadline: number,
  work: (on: SqlExecutor) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  // a transaction that writes cannot become read-only
  return database.transactionAhead(async (tx) => {
    const reads = new TimedReads(tx, deadline, signal);
    try {
      return await work(reads);
    } finally {
      await reads.end();
    }
  });
}

class TimedReads implements SqlExecutor {
  /** Settles when all reads so far are done, because a connection runs one statement at a time. */
  private done: Promise<void> = Promise.resolve();
  private timeoutMs: number | undefined;
  private isOver = false;

  constructor(
    private readonly tx: Tx,
    readonly deadline: number,
    private readonly signal: AbortSignal | undefined,
  ) {}

  get manager(): SqlExecutor['manager'] {
    return this.tx.manager;
  }

  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    const rows = this.done.then(() => this.run<Row>(statement, values));
    this.done = rows.then(
      () => undefined,
      () => this.close(),
    );
    return rows;
  }

  /** Refuses further reads and waits for the running one, because the connection is then used by others. */
  end(): Promise<void> {
    this.close();
    return this.done;
  }

  private close(): void {
    this.isOver = true;
  }

  private async run<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    this.signal?.throwIfAborted();
    const leftMs = Math.floor(this.deadline - performance.now());
    if (this.isOver || leftMs <= 0)
      throw new Problem('request_timeout', 'The request ran out of time before all its data was read.');
    await this.applyTimeout(leftMs);
    return this.tx.query<Row>(statement, values);
  }

  private async applyTimeout(leftMs: number): Promise<void> {
    const isFirst = this.timeoutMs === undefined;
    if (this.timeoutMs !== undefined && this.timeoutMs - leftMs < TIMEOUT_TOLERANCE_MS) return;
    this.timeoutMs = leftMs;
    const mode = isFirst ? 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; ' : '';
    await this.tx.query(`${mode}SET LOCAL statement_timeout = ${leftMs}`);
  }
}

import { Problem } from '#platform/problem';
import type { Database } from './database';
import type { SqlExecutor, Statement, Tx } from './executor';

/** Differences in the time left that are too small to tell the database of them, in milliseconds. */
const UNTOLD_MS = 50;

/**
 * Does reading that is over by a certain time, and its connection free: what runs longer is ended by PostgreSQL itself.
 * All statements see the same rows (REPEATABLE READ), one after the other on one connection, and write none.
 *
 * @param deadline when it is over, by `performance.now()`
 * @param signal when it is aborted, no further statement begins
 * @throws Problem `request_timeout` for a statement that would begin after that; the signal's reason likewise
 */
export function readWithin<Result>(
  database: Database,
  deadline: number,
  work: (on: SqlExecutor) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  return database.transaction(async (tx) => {
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
  private toldMs: number | undefined;
  private isOver = false;

  constructor(
    private readonly tx: Tx,
    private readonly deadline: number,
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
    if (this.isOver || leftMs <= 0) throw new Problem('request_timeout', 'There is no time left to read.');
    await this.tellTime(leftMs);
    return this.tx.query<Row>(statement, values);
  }

  private async tellTime(leftMs: number): Promise<void> {
    const isFirst = this.toldMs === undefined;
    if (this.toldMs !== undefined && this.toldMs - leftMs < UNTOLD_MS) return;
    this.toldMs = leftMs;
    const mode = isFirst ? 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; ' : '';
    await this.tx.query(`${mode}SET LOCAL statement_timeout = ${leftMs}`);
  }
}

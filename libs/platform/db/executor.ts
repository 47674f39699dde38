import type { Sql } from 'sql-template-tag';
import type { EntityManager } from 'typeorm';

/**
 * A statement sent by name, so that PostgreSQL parses and plans it once per connection. For hot paths. Its text must
 * never vary, because PostgreSQL rejects a name that is used for another text.
 */
export interface PreparedStatement {
  name: string;
  text: string;
  values?: readonly unknown[];
}

/** A statement that reads tables in index order, see `indexOrdered`. */
export interface IndexOrderedStatement {
  text: string;
  values?: readonly unknown[];
  isIndexOrdered: true;
  /** Whether a connection prepares the statement when it first runs it. */
  isPrepared: boolean;
}

/** A statement: a template with its values, a statement prepared by name or in index order, or plain text. */
export type Statement = Sql | PreparedStatement | IndexOrderedStatement | string;

/** Runs statements: the pool, or one transaction. */
export interface SqlExecutor {
  /** Runs one statement and returns its rows. */
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /** The time after which statements are rejected, on the clock of `performance.now()`. Absent without a deadline. */
  readonly deadline?: number;
  /** TypeORM's manager on the same connection, for access by entity. */
  readonly manager: EntityManager;
}

/** An open transaction. A function that takes one leaves the commit to its caller. */
export interface Tx extends SqlExecutor {
  readonly isTransaction: true;
  /**
   * Runs a `COPY … FROM STDIN` that reads `source` with backpressure. For many or large rows, which then need not all be
   * in memory at once. An error of `source` ends the COPY and is thrown.
   */
  copyIn(statement: string, source: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void>;
  /**
   * Runs `work` as the last part of the transaction, or of its part in `joinTransactions`. For rows that many transactions
   * change, such as counters, so that they are locked as briefly as possible, and after all other rows. An error rolls the
   * transaction back.
   */
  beforeCommit(work: () => Promise<void>): void;
  /** Calls `work` after the commit and before the caller of the transaction continues. Never calls it after a rollback. */
  afterCommit(work: () => void): void;
}

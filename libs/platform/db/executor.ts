import type { Sql } from 'sql-template-tag';
import type { EntityManager } from 'typeorm';

/**
 * A statement that is sent by name, so that PostgreSQL parses and plans it once per connection. For hot paths;
 * its text must never vary, or PostgreSQL refuses the name.
 */
export interface PreparedStatement {
  name: string;
  text: string;
  values?: readonly unknown[];
}

/** A statement: a template with its values, one that is prepared by name, or a text without any. */
export type Statement = Sql | PreparedStatement | string;

/** Whatever statements can be run on: the pool, or one transaction. */
export interface SqlExecutor {
  /** Runs one statement and returns its rows. */
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /** TypeORM's manager on the same connection, for access by entity. */
  readonly manager: EntityManager;
}

/** An open transaction. Taking it as a parameter says that the caller decides when it commits. */
export interface Tx extends SqlExecutor {
  readonly isTransaction: true;
  /**
   * Runs a `COPY … FROM STDIN`, which reads what `source` yields, at the server's pace. For the writing of many rows or
   * large ones: nothing is kept of them in this process. What `source` throws ends the COPY, and is thrown.
   */
  copyIn(statement: string, source: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void>;
  /** Has `work` called once the transaction has committed, before its caller goes on; never if it does not commit. */
  afterCommit(work: () => void): void;
}

import { Injectable } from '@nestjs/common';
import type { Pool, PoolClient } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import type { SqlExecutor, Statement, Tx } from './executor';
import { currentJoined, JoinedTransaction, type LastWrite } from './joined-transaction';
import { IndexOrderedQuery, StatementNames } from './index-order';
import { OpenTransaction, runStatement } from './open-transaction';
import { isInTransaction, retry, runJoined, runUnjoined } from '#platform/concurrency';
import type { WatchedClient } from './watched-client';

/** SQLSTATEs of a collision: serialization failure and deadlock. */
const COLLISIONS = new Set<unknown>(['40001', '40P01']);

const isCollision = (error: unknown): boolean => COLLISIONS.has((error as { code?: unknown } | null)?.code);

/** The retry policy of a transaction that collides with another. */
const COLLISION_RETRY = { attempts: 3, isRetryable: isCollision, firstDelayMs: 0 };

interface PostgresPool {
  master: Pool;
}

/** Thrown to roll back a transaction whose work succeeded. */
class EndOfRehearsal extends Error {}

/** Runs statements on the pool, and transactions. All access to PostgreSQL goes through it. */
@Injectable()
export class Database implements SqlExecutor {
  private readonly names = new StatementNames();

  constructor(readonly dataSource: DataSource) {}

  /**
   * Runs one statement on any connection of the pool, in its own implicit transaction. Within `joinTransactions`, it becomes
   * part of the open transaction.
   */
  async query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    const joined = currentJoined();
    if (joined?.open) {
      const { client } = joined.open;
      const run = () => runStatement<Row>(client, statement, values);
      return isInTransaction() ? run() : joined.inTurn(run);
    }
    if (typeof statement === 'string' || !('isIndexOrdered' in statement)) {
      return runStatement<Row>(this.pool, statement, values);
    }
    // the type declarations are wrong for a pool: they declare that it returns the query itself, as a client does
    const query = new IndexOrderedQuery(
      statement,
      statement.isPrepared ? this.names.of(statement.text) : undefined,
    );
    const result = this.pool.query(query) as unknown as Promise<{ rows: Row[] }>;
    return (await result).rows;
  }

  /** Runs one statement that writes, in its own implicit transaction, and again after a deadlock. */
  write<Row>(statement: Statement): Promise<Row[]> {
    if (currentJoined()) return this.transaction((tx) => tx.query<Row>(statement));
    return retry(() => this.query<Row>(statement), COLLISION_RETRY);
  }

  /**
   * Runs one statement outside of a transaction and without a timeout, such as the creation of an index. It holds a
   * connection of the pool meanwhile. An abort closes the connection, and throws.
   */
  async runWithoutTimeout(statement: string, signal?: AbortSignal): Promise<void> {
    const client = (await this.pool.connect()) as PoolClient & WatchedClient;
    const close = () => void client.end();
    signal?.addEventListener('abort', close);
    try {
      signal?.throwIfAborted();
      await client.query('SET statement_timeout = 0');
      client.mayBeSilent = true;
      await client.query(statement);
      client.mayBeSilent = false;
      await client.query('RESET statement_timeout');
      client.release();
    } catch (error) {
      // closes the connection, because its timeout may still be off
      client.release(true);
      throw error;
    } finally {
      signal?.removeEventListener('abort', close);
    }
  }

  /** Throws if the database does not respond. */
  async ping(): Promise<void> {
    await this.query('SELECT 1');
  }

  get manager(): EntityManager {
    return currentJoined()?.open?.runner.manager ?? this.dataSource.manager;
  }

  /**
   * Runs `work` in one transaction (READ COMMITTED): commits when it resolves, rolls back when it throws. After a
   * deadlock `work` runs again from the start, so its effects outside the database must be safe to repeat. Within
   * `joinTransactions`, the commit comes later.
   */
  async transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const joined = currentJoined();
    if (!joined) return retry(() => this.attempt(work), COLLISION_RETRY);
    const join = (): Promise<Result> => retry(() => joined.run(work), COLLISION_RETRY);
    return isInTransaction() ? join() : joined.inTurn(join);
  }

  /**
   * Runs `work` in a transaction of its own, even within `joinTransactions`. For the checks ahead of long work, such as an
   * upload, because a joined transaction would hold its connection and its locks meanwhile.
   */
  transactionAhead<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    return runUnjoined(() => this.transaction(work));
  }

  /**
   * Makes all transactions and single statements of `work` one transaction, from the first transaction on. It rolls back when
   * `work` throws, and ends with `lastWrite`. Small writes share it with those of other work, see `Batcher`; `lastWrite` gets the
   * rows of all work in the transaction. The connection is held from the first transaction on.
   *
   * @throws RolledBack if other work in the transaction has failed, or if `lastWrite` returns false
   */
  joinTransactions<Work extends { row: unknown }>(
    work: () => Promise<Work>,
    lastWrite: LastWrite<Work['row']>,
  ): Promise<Work> {
    const joined = new JoinedTransaction(this, lastWrite as LastWrite<unknown>);
    return runJoined(joined, async () => {
      let done: Work;
      try {
        done = await work();
      } catch (error) {
        await joined.end().catch(() => undefined);
        throw error;
      }
      await joined.end(done.row);
      return done;
    });
  }

  /** Runs `work` as `transaction` does, rolls it back, and returns its result. */
  async rehearse<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    let rehearsal: { result: Result } | undefined;
    try {
      await this.transaction(async (tx) => {
        rehearsal = { result: await work(tx) };
        throw new EndOfRehearsal();
      });
    } catch (error) {
      if (!(error instanceof EndOfRehearsal)) throw error;
    }
    return rehearsal!.result;
  }

  private async attempt<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const open = await OpenTransaction.begin(this.dataSource);
    let result: Result;
    try {
      result = await open.run(work);
    } catch (error) {
      await open.rollBack();
      throw error;
    }
    await open.commit();
    return result;
  }

  private get pool(): Pool {
    return (this.dataSource.driver as unknown as PostgresPool).master;
  }
}

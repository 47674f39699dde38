import { pipeline } from 'node:stream/promises';
import { Injectable } from '@nestjs/common';
import { from as copyFrom } from 'pg-copy-streams';
import type { Pool, PoolClient } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import type { SqlExecutor, Statement, Tx } from './executor';
import { currentJoined, JoinedTransaction, type OpenTransaction } from './joined-transaction';
import { IndexOrderedQuery, StatementNames } from './index-order';
import { isInTransaction, retry, runJoined, runTransaction, runUnjoined } from '#platform/concurrency';
import type { WatchedClient } from './watched-client';

/** SQLSTATEs of a collision: serialization failure and deadlock. */
const COLLISIONS = new Set<unknown>(['40001', '40P01']);

const isCollision = (error: unknown): boolean => COLLISIONS.has((error as { code?: unknown } | null)?.code);

/** The retry policy of a transaction that collides with another. */
const COLLISION_RETRY = { attempts: 3, isRetryable: isCollision, firstDelayMs: 0 };

interface PostgresPool {
  master: Pool;
}

const run = async <Row>(
  on: Pool | PoolClient,
  statement: Statement,
  values?: readonly unknown[],
): Promise<Row[]> => {
  if (typeof statement === 'string') return (await on.query(statement, values as unknown[])).rows as Row[];
  const name = 'name' in statement ? statement.name : undefined;
  const { text, values: own = [] } = statement;
  return (await on.query({ name, text, values: (values ?? own) as unknown[] })).rows as Row[];
};

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
    const joined = currentJoined()?.open;
    if (joined) return run<Row>(joined.client, statement, values);
    if (typeof statement === 'string' || !('isIndexOrdered' in statement)) {
      return run<Row>(this.pool, statement, values);
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
    const join = (): Promise<Result> => retry(() => this.join(joined, work), COLLISION_RETRY);
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
   * Makes all transactions and single statements of `work` one transaction, from the first transaction on. It commits when
   * `work` resolves, and rolls back when it throws. The connection is held from the first transaction to the end of `work`.
   */
  joinTransactions<Result>(work: () => Promise<Result>): Promise<Result> {
    const joined = new JoinedTransaction();
    return runJoined(joined, async () => {
      try {
        const result = await work();
        await joined.inTurn(async () => {
          if (joined.open) await this.commit(joined.open);
        });
        return result;
      } catch (error) {
        await joined.inTurn(async () => {
          if (joined.open) await rollBack(joined.open);
        });
        throw error;
      } finally {
        const { open } = joined;
        joined.open = undefined;
        await open?.runner.release();
      }
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
    const open = await this.begin();
    try {
      const result = await runIn(open, work);
      await this.commit(open);
      return result;
    } catch (error) {
      await rollBack(open);
      throw error;
    } finally {
      await open.runner.release();
    }
  }

  /** Runs `work` as the first part of a joined transaction, or as a savepoint of it. */
  private async join<Result>(joined: JoinedTransaction, work: (tx: Tx) => Promise<Result>): Promise<Result> {
    if (joined.open) return runInSavepoint(joined.open, joined.nextSavepoint(), work);
    const open = (joined.open = await this.begin());
    try {
      return await runIn(open, work);
    } catch (error) {
      joined.open = undefined;
      await rollBack(open);
      await open.runner.release();
      throw error;
    }
  }

  private async begin(): Promise<OpenTransaction> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as PoolClient;
      await runner.startTransaction();
      return { runner, client, afterCommit: [] };
    } catch (error) {
      await runner.release();
      throw error;
    }
  }

  private async commit({ runner, afterCommit }: OpenTransaction): Promise<void> {
    await runner.commitTransaction();
    for (const then of afterCommit) then();
  }

  private get pool(): Pool {
    return (this.dataSource.driver as unknown as PostgresPool).master;
  }
}

async function runIn<Result>(
  { runner, client, afterCommit }: OpenTransaction,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const beforeCommit: (() => Promise<void>)[] = [];
  const tx: Tx = {
    isTransaction: true,
    manager: runner.manager,
    query: (statement, values) => run(client, statement, values),
    copyIn: (statement, source) => pipeline(source, client.query(copyFrom(statement))),
    beforeCommit: (last) => beforeCommit.push(last),
    afterCommit: (then) => afterCommit.push(then),
  };
  return runTransaction(async () => {
    const value = await work(tx);
    for (const last of beforeCommit) await last();
    return value;
  });
}

async function runInSavepoint<Result>(
  open: OpenTransaction,
  name: string,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const { client, afterCommit } = open;
  const count = afterCommit.length;
  await client.query(`SAVEPOINT ${name}`);
  try {
    const result = await runIn(open, work);
    await client.query(`RELEASE SAVEPOINT ${name}`);
    return result;
  } catch (error) {
    afterCommit.length = count;
    await client.query(`ROLLBACK TO SAVEPOINT ${name}; RELEASE SAVEPOINT ${name}`).catch(() => undefined);
    throw error;
  }
}

async function rollBack({ runner }: OpenTransaction): Promise<void> {
  if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
}

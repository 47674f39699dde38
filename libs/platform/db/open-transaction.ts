import { pipeline } from 'node:stream/promises';
import type { Pool, PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { DataSource, QueryRunner } from 'typeorm';
import { runTransaction } from '#platform/concurrency';
import type { Statement, Tx } from './executor';

/** Runs one statement on the pool, or on a connection of it. */
export async function runStatement<Row>(
  on: Pool | PoolClient,
  statement: Statement,
  values?: readonly unknown[],
): Promise<Row[]> {
  if (typeof statement === 'string') return (await on.query(statement, values as unknown[])).rows as Row[];
  const name = 'name' in statement ? statement.name : undefined;
  const { text, values: own = [] } = statement;
  return (await on.query({ name, text, values: (values ?? own) as unknown[] })).rows as Row[];
}

/** A transaction on a connection of the pool (READ COMMITTED), from its start to its commit or rollback. */
export class OpenTransaction {
  private readonly afterCommit: (() => void)[] = [];
  private savepoints = 0;

  private constructor(
    readonly runner: QueryRunner,
    readonly client: PoolClient,
  ) {}

  static async begin(dataSource: DataSource): Promise<OpenTransaction> {
    const runner = dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as PoolClient;
      await runner.startTransaction();
      return new OpenTransaction(runner, client);
    } catch (error) {
      await runner.release();
      throw error;
    }
  }

  run<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const { runner, client, afterCommit } = this;
    const beforeCommit: (() => Promise<void>)[] = [];
    const tx: Tx = {
      isTransaction: true,
      manager: runner.manager,
      query: (statement, values) => runStatement(client, statement, values),
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

  /** Undoes what `work` has written if it throws. */
  async runInSavepoint<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const { client, afterCommit } = this;
    const name = `s${++this.savepoints}`;
    const count = afterCommit.length;
    await client.query(`SAVEPOINT ${name}`);
    try {
      const result = await this.run(work);
      await client.query(`RELEASE SAVEPOINT ${name}`);
      return result;
    } catch (error) {
      afterCommit.length = count;
      await client.query(`ROLLBACK TO SAVEPOINT ${name}; RELEASE SAVEPOINT ${name}`).catch(() => undefined);
      throw error;
    }
  }

  /** Commits, and releases the connection. */
  async commit(): Promise<void> {
    try {
      await this.runner.commitTransaction();
    } catch (error) {
      await this.rollBack();
      throw error;
    }
    await this.runner.release();
    for (const then of this.afterCommit) then();
  }

  /** Rolls back, and releases the connection. */
  async rollBack(): Promise<void> {
    if (this.runner.isTransactionActive) await this.runner.rollbackTransaction().catch(() => undefined);
    await this.runner.release();
  }
}

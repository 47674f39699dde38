import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Pool, type PoolClient, types } from 'pg';
import { type CopyStreamQuery, type CopyToStreamQuery, from as copyFrom } from 'pg-copy-streams';
import type { Scope } from '#platform/auth';
import { expandRoles, workspaceScope } from '#platform/auth';
import type { Database, Statement, Tx } from '#platform/db';
import { RawJson } from '#platform/json';

const JSON_TEXT = 114;
const INT8 = 20;

/** The type parsers of the service's own pool, with which both sides do the same work. */
const getTypeParser = (oid: number, format?: string): ((text: string) => unknown) => {
  if (oid === JSON_TEXT) return (text) => new RawJson(text);
  if (oid === INT8) return Number;
  return types.getTypeParser(oid, format as 'text') as (text: string) => unknown;
};

const run = async <Row>(on: Pool | PoolClient, statement: Statement, values?: readonly unknown[]) => {
  if (typeof statement === 'string') return (await on.query(statement, values as unknown[])).rows as Row[];
  const name = 'name' in statement ? statement.name : undefined;
  const { text, values: bound = [] } = statement;
  return (await on.query({ name, text, values: (values ?? bound) as unknown[] })).rows as Row[];
};

/**
 * The baseline of the service: the same statements run with only pg, without Nest, TypeORM and HTTP. It replaces the
 * service's `Database`, so that the service's own repositories send the statements.
 */
export class Direct {
  private readonly pool: Pool;

  constructor(url: string, connections: number) {
    this.pool = new Pool({ connectionString: url, max: connections, types: { getTypeParser } as never });
  }

  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    return run<Row>(this.pool, statement, values);
  }

  async transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const client = await this.pool.connect();
    const afterCommit: (() => void)[] = [];
    try {
      await client.query('BEGIN');
      const tx = {
        isTransaction: true,
        query: (statement: Statement, values?: readonly unknown[]) => run(client, statement, values),
        copyIn: (statement: string, source: Iterable<Buffer>) =>
          pipeline(source, client.query(copyFrom(statement))),
        afterCommit: (then: () => void) => afterCommit.push(then),
      };
      const result = await work(tx as unknown as Tx);
      await client.query('COMMIT');
      for (const then of afterCommit) then();
      return result;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  write<Row>(statement: Statement): Promise<Row[]> {
    return this.query<Row>(statement);
  }

  /** Sends bytes as the input of a COPY. */
  async copy(statement: CopyStreamQuery, bytes: Buffer): Promise<void> {
    const client = await this.pool.connect();
    try {
      await pipeline(Readable.from([bytes]), client.query(statement));
    } finally {
      client.release();
    }
  }

  /** Returns the output of a COPY. */
  async copyOut(statement: CopyToStreamQuery): Promise<Buffer> {
    const client = await this.pool.connect();
    try {
      const pieces: Buffer[] = [];
      for await (const piece of client.query(statement)) pieces.push(piece as Buffer);
      return Buffer.concat(pieces);
    } finally {
      client.release();
    }
  }

  /** This object, as the type that the repositories expect. */
  get database(): Database {
    return this as unknown as Database;
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}

export const scopeOf = (orgId: string, workspaceId: string): Scope =>
  workspaceScope(orgId, workspaceId, 'bench', expandRoles(['owner']));

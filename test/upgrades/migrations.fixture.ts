import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase, until } from '#testing';
import { migrate } from '../../src/database/migrate';
import { INSERT_SCORES } from './next-release.fixture';

/** Lock modes in pg_locks, weakest first, from the weakest of writes. */
const MODES = [
  'RowExclusiveLock',
  'ShareUpdateExclusiveLock',
  'ShareLock',
  'ShareRowExclusiveLock',
  'ExclusiveLock',
  'AccessExclusiveLock',
];

/** A migrated database with scores, and two connections: one for queries, one for a transaction that holds locks. */
export class UpgradedDatabase {
  private constructor(
    private readonly database: TestDatabase,
    private readonly session: Client,
    private readonly holder: Client,
  ) {}

  /** @param isBaseline whether the database has only the baselines, and none of the changes since */
  static async create(scores: number, { isBaseline = false } = {}): Promise<UpgradedDatabase> {
    const database = await createTestDatabase();
    if (isBaseline) await returnToBaseline(database.url);
    const session = new Client({ connectionString: database.url });
    const holder = new Client({ connectionString: database.url, application_name: 'weekly report' });
    await Promise.all([session.connect(), holder.connect()]);
    await session.query(INSERT_SCORES(scores));
    await session.query('ANALYZE scores');
    return new UpgradedDatabase(database, session, holder);
  }

  get url(): string {
    return this.database.url;
  }

  async query<Row>(statement: string): Promise<Row[]> {
    return (await this.session.query(statement)).rows as Row[];
  }

  /** Returns the value of a statement with one column and one row. */
  async value(statement: string): Promise<unknown> {
    const { rows } = await this.session.query({ text: statement, rowMode: 'array' });
    return (rows as unknown[][])[0]![0];
  }

  /** Runs `work` while a transaction that has run this statement is open. */
  async whileHeld<Result>(statement: string, work: () => Promise<Result>): Promise<Result> {
    await this.holder.query('BEGIN');
    await this.holder.query(statement);
    try {
      return await work();
    } finally {
      await this.holder.query('ROLLBACK');
    }
  }

  /**
   * Runs a phase of `migrate.child.ts` until it waits for the transaction that has run this statement, and kills it there.
   *
   * @returns the locks that it held: `[table, mode]`, without those of reads
   */
  killWhileHeld(phase: string, statement: string): Promise<[string, string][]> {
    return this.whileHeld(statement, async () => {
      const child = spawn(process.execPath, [path.resolve('dist/test/upgrades/migrate.child.js'), phase], {
        env: { PATH: process.env.PATH, DATABASE_URL: this.url, LOG_LEVEL: 'warn' },
        stdio: 'inherit',
      });
      try {
        await until(async () => (await this.waiting()) !== undefined || child.exitCode !== null);
        const pid = await this.waiting();
        const locks = await this.locksOf(pid!);
        await kill(child);
        // a server notices the lost connection only when it answers
        await this.value(`SELECT pg_terminate_backend(${pid}, 10000)`);
        return locks;
      } finally {
        await kill(child);
      }
    });
  }

  /** Returns the strongest lock that a connection holds on each table: `[table, mode]`. Leaves out locks of reads. */
  async locksOf(pid: number | string): Promise<[string, string][]> {
    const rows = await this.query<{ name: string; mode: string }>(`
      SELECT c.relname AS name, l.mode FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
      WHERE l.pid = ${pid} AND l.granted AND l.locktype = 'relation' AND c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
      ORDER BY c.relname`);
    const strongest = new Map<string, string>();
    for (const { name, mode } of rows) {
      if (MODES.indexOf(mode) > MODES.indexOf(strongest.get(name) ?? '')) strongest.set(name, mode);
    }
    return [...strongest];
  }

  /**
   * Runs statements in a transaction and commits it.
   *
   * @returns the strongest lock that they took on each table that existed before, and the tables that they rewrote
   */
  async effectsOf(statements: string): Promise<{ locks: [string, string][]; rewritten: string[] }> {
    const files = () =>
      this.query<{ name: string; file: number }>(`
        SELECT relname AS name, relfilenode AS file FROM pg_class
        WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace ORDER BY relname`);
    const before = await files();
    await this.holder.query('BEGIN');
    await this.holder.query(statements);
    const pid = (await this.holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid;
    const locks = new Map(
      (await this.locksOf(pid)).filter(([name]) => before.some((one) => one.name === name)),
    );
    await this.holder.query('COMMIT');
    const after = new Map((await files()).map(({ name, file }) => [name, file]));
    const rewritten = before.filter(({ name, file }) => after.has(name) && after.get(name) !== file);
    return { locks: [...locks], rewritten: rewritten.map(({ name }) => name) };
  }

  async drop(): Promise<void> {
    await Promise.all([this.session.end(), this.holder.end()]);
    await this.database.drop();
  }

  private async waiting(): Promise<number | undefined> {
    const [row] = await this.query<{ pid: number }>(`
      SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND application_name IN ('agent-registry-service migrate', 'backfill')`);
    return row?.pid;
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Replaces the schema of a database by the baselines. */
async function returnToBaseline(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  await client.end();
  await migrate(url, { migrations: [] });
}

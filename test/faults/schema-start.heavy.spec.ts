import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { createTestDatabase, type TestDatabase } from '#testing';
import { migrate } from '../../src/database/migrate';
import { BASELINES, MIGRATIONS } from '../../src/database/migrations';
import { stepsOf } from '../../src/database/migrations/migration';
import { closedDirectory, query, withServer } from './embedded-postgres.harness';

// each process loads the whole application
jest.setTimeout(120_000);

/** A database of other software: its recorded migrations, and a row. */
const OTHER = `
  CREATE TABLE migrations (id serial PRIMARY KEY, "timestamp" bigint NOT NULL, name varchar NOT NULL);
  INSERT INTO migrations ("timestamp", name)
    VALUES (1795132800100, 'Users1795132800100'), (1795132801610, 'Orders1795132801610');
  CREATE TABLE orders (order_id text PRIMARY KEY);
  INSERT INTO orders VALUES ('order_kept');
`;

/** Selects the contents of the database. */
const CONTENT = `
  SELECT (SELECT json_agg(tablename ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public') AS tables,
         (SELECT json_agg(name ORDER BY id) FROM migrations) AS migrations,
         (SELECT json_agg(order_id) FROM orders) AS orders`;

const UNCHANGED = [
  {
    tables: ['migrations', 'orders'],
    migrations: ['Users1795132800100', 'Orders1795132801610'],
    orders: ['order_kept'],
  },
];

const clear = async (database: TestDatabase): Promise<void> => {
  await query(
    database.url,
    'DROP SCHEMA public CASCADE; DROP SCHEMA IF EXISTS bullmq CASCADE; CREATE SCHEMA public',
  );
};

/** Runs a process of the service until it ends. @returns its exit code and its output */
const run = (entry: string, env: Record<string, string>): Promise<{ code: number | null; output: string }> =>
  new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [path.resolve(`dist/src/${entry}.js`)],
      { env: { PATH: process.env.PATH, PORT: '0', SECRETS_KEY: randomBytes(32).toString('base64'), ...env } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, output: stdout + stderr }),
    );
  });

describe('a start on a database of other software', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    await clear(database);
    await query(database.url, OTHER);
  });
  afterAll(() => database.drop());

  it.each(['main', 'worker', 'migrate', 'bootstrap'])(
    'is rejected by %s with one sentence, and changes nothing',
    async (entry) => {
      const { code, output } = await run(entry, { DATABASE_URL: database.url });
      expect(code).toBe(1);
      expect(output.trim().split('\n')).toHaveLength(1);
      expect(JSON.parse(output)).toEqual({
        level: 'fatal',
        time: expect.any(String) as string,
        pid: expect.any(Number) as number,
        msg: 'The database has migrations of an earlier version or of other software, so it cannot be migrated: set DATABASE_URL to an empty database.',
      });
      expect(await query(database.url, CONTENT)).toEqual(UNCHANGED);
    },
  );

  it('is rejected by the standalone process, which explains how to move the data directory away', async () => {
    const directory = closedDirectory();
    const postgres = path.join(directory, 'postgres');
    await withServer(postgres, (url) => query(url, OTHER));
    const { code, output } = await run('standalone', { DATA_DIR: directory });
    expect(code).toBe(1);
    expect(output).toContain(
      `move the data directory ${directory} away, for example to ${directory}.old, and start again.`,
    );
    expect(output).not.toContain('stack');
    expect(await withServer(postgres, (url) => query(url, CONTENT))).toEqual(UNCHANGED);
    rmSync(directory, { recursive: true });
  });
});

describe('a start after an interrupted migration', () => {
  it('resumes after the last committed migration', async () => {
    const database = await createTestDatabase();
    await clear(database);
    await query(database.url, 'CREATE TABLE session_messages ()');
    await expect(migrate(database.url)).rejects.toThrow('relation "session_messages" already exists');
    expect(
      await query(database.url, `SELECT to_regclass('skills') AS skills, to_regclass('agents') AS agents`),
    ).toEqual([{ skills: 'skills', agents: null }]);

    await query(database.url, 'DROP TABLE session_messages');
    await migrate(database.url);
    const names = [...BASELINES.map(({ name }) => name), ...stepsOf(MIGRATIONS).map(({ name }) => name)];
    expect(await query(database.url, 'SELECT name FROM migrations ORDER BY applied_at')).toEqual(
      names.map((name) => ({ name })),
    );
    await database.drop();
  });
});

import { Client } from 'pg';
import { createTestDatabase, startTestDatabaseServer } from './test-database';

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

describe('test database', () => {
  it('isolates test files from each other', async () => {
    const one = await createTestDatabase();
    const other = await createTestDatabase();
    await query(one.url, 'CREATE TABLE mine (id int)');
    expect(await query(other.url, `SELECT to_regclass('mine') AS relation`)).toEqual([{ relation: null }]);
    await Promise.all([one.drop(), other.drop()]);
  });

  it('is removed by drop(), even while a connection is open', async () => {
    const database = await createTestDatabase();
    const forgotten = new Client({ connectionString: database.url });
    const ended = new Promise((resolve) => forgotten.on('error', resolve));
    await forgotten.connect();
    await database.drop();
    await ended;
    await expect(query(database.url, 'SELECT 1')).rejects.toMatchObject({ code: '3D000' });
  });
});

describe('the server at TEST_DATABASE_URL', () => {
  const environment = { ...process.env };
  afterEach(() => {
    process.env = { ...environment };
  });

  it('provides prepared copies, and drops only the databases of killed runs', async () => {
    const database = await createTestDatabase();
    process.env.TEST_DATABASE_URL = database.url;
    await query(database.url, 'CREATE DATABASE registry_test_0dead0ff_left_over');
    await query(database.url, 'CREATE DATABASE registry_test_of_another_kind');

    const server = await startTestDatabaseServer(async (url) => {
      await query(url, 'CREATE TABLE prepared (id int)');
    });
    const copy = await createTestDatabase();

    expect(await query(copy.url, 'SELECT * FROM prepared')).toEqual([]);
    const names = await query(database.url, 'SELECT datname FROM pg_database');
    expect(names).not.toContainEqual({ datname: 'registry_test_0dead0ff_left_over' });
    expect(names).toContainEqual({ datname: 'registry_test_of_another_kind' });
    expect(names).toContainEqual({ datname: new URL(database.url).pathname.slice(1) });

    await server.stop();
    await expect(query(copy.url, 'SELECT 1')).rejects.toMatchObject({ code: '3D000' });
    await query(environment.TEST_RUN_DATABASE_SERVER ?? '', 'DROP DATABASE registry_test_of_another_kind');
    process.env = { ...environment };
    await database.drop();
  });

  it('drops the template and reports the reason if preparing it fails', async () => {
    const database = await createTestDatabase();
    process.env.TEST_DATABASE_URL = database.url;
    const seen: string[] = [];
    const failing = startTestDatabaseServer((url) => {
      seen.push(new URL(url).pathname.slice(1));
      return Promise.reject(new Error('migration 7 failed'));
    });
    await expect(failing).rejects.toThrow('migration 7 failed');
    expect(seen).toHaveLength(1);
    expect(await query(database.url, `SELECT FROM pg_database WHERE datname = '${seen[0]}'`)).toEqual([]);
    await database.drop();
  });
});

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { StartError } from '#platform/process';
import { createTestApp, createTestDatabase, dropDatabase, type TestDatabase } from '#testing';
import { migrate } from '../../../src/database/migrate';
import { BASELINES, MIGRATIONS } from '../../../src/database/migrations';
import { stepsOf } from '../../../src/database/migrations/migration';
import { bootstrap } from '../../../src/registry';

// each run loads the whole application, and a test has several runs
jest.setTimeout(180_000);

interface Ended {
  code: number;
  /** Standard output, line by line. */
  lines: string[];
}

interface Bootstrapped {
  org_id: string;
  workspace_id: string;
  service_account_id: string;
  api_key: string | null;
}

/** Runs a process of the service with only this environment, until it ends. */
const run = (entry: string, env: Record<string, string>, ...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const node = [`dist/src/${entry}.js`, ...args];
    const child = execFile(process.execPath, node, { env }, (_error, stdout) =>
      resolve({ code: child.exitCode ?? -1, lines: stdout.split('\n').filter((line) => line !== '') }),
    );
  });

describe('the migrate and bootstrap processes', () => {
  let database: TestDatabase;
  let session: Client;
  let empty: { name: string; url: string };

  beforeAll(async () => {
    database = await createTestDatabase();
    session = new Client({ connectionString: database.url });
    await session.connect();
    const name = `${new URL(database.url).pathname.slice(1)}_empty`;
    await session.query(`CREATE DATABASE ${name}`);
    const url = new URL(database.url);
    url.pathname = `/${name}`;
    empty = { name, url: url.toString() };
  });
  afterAll(async () => {
    await dropDatabase(session, empty.name);
    await session.end();
    await database.drop();
  });

  it('migrate an empty database, and do not change a migrated one', async () => {
    expect((await run('migrate', { DATABASE_URL: empty.url })).code).toBe(0);
    await migrate(empty.url);
    const migrated = new Client({ connectionString: empty.url });
    await migrated.connect();
    const { rows } = await migrated.query('SELECT 1 FROM migrations');
    await migrated.end();
    expect(rows.length).toBe(BASELINES.length + stepsOf(MIGRATIONS).length);
  });

  it('report failure by exit code and log line', async () => {
    const unset = await run('migrate', {});
    expect(unset.code).toBe(1);
    expect(JSON.parse(unset.lines.at(-1)!)).toMatchObject({
      level: 'fatal',
      msg: 'DATABASE_URL is required; set it to a PostgreSQL database, such as postgres://user:password@localhost/registry.',
    });
  });

  it('say what is wrong with the database or its role', async () => {
    const messageFor = (url: URL): Promise<string | void> =>
      migrate(url.toString()).catch((error: unknown) => {
        if (!(error instanceof StartError)) throw error;
        return error.message;
      });
    const denied = new URL(empty.url);
    denied.pathname += '_denied';
    const name = denied.pathname.slice(1);
    expect(await messageFor(denied)).toBe(
      `The database refuses the connection (database "${name}" does not exist); check DATABASE_URL.`,
    );
    await session.query(`CREATE DATABASE ${name}`);
    const owner = new Client({ connectionString: denied.toString() });
    await owner.connect();
    const refusal = (reason: string) =>
      `The role in DATABASE_URL may not migrate the database (${reason}); use the role that owns the database and its tables, or allow this one to create tables and schemas.`;
    try {
      await owner.query('REVOKE CREATE ON SCHEMA public FROM pg_database_owner');
      expect(await messageFor(denied)).toBe(refusal('permission denied for schema public'));
      await owner.query('GRANT CREATE ON SCHEMA public TO pg_database_owner');
      await owner.query(`REVOKE CREATE ON DATABASE ${name} FROM CURRENT_USER`);
      expect(await messageFor(denied)).toMatch(
        /^The PostgreSQL extension pg_trgm, which search needs, could not be created \(permission denied.*; if necessary, .* run: CREATE EXTENSION pg_trgm;$/,
      );
      await owner.query(`GRANT CREATE ON DATABASE ${name} TO CURRENT_USER`);
      for (const extension of ['pg_trgm', 'btree_gin', 'cube'])
        await owner.query(`CREATE EXTENSION ${extension}`);
      await owner.query(`REVOKE CREATE ON DATABASE ${name} FROM CURRENT_USER`);
      expect(await messageFor(denied)).toBe(refusal(`permission denied for database ${name}`));
    } finally {
      await owner.end();
      await dropDatabase(session, name);
    }
  });

  describe('for the first organization', () => {
    let env: Record<string, string>;
    let first: Bootstrapped;

    const createOrganization = async (...args: string[]): Promise<Bootstrapped> => {
      const { code, lines } = await run('bootstrap', env, ...args);
      expect([code, lines.length]).toEqual([0, 1]);
      return JSON.parse(lines[0]!) as Bootstrapped;
    };

    beforeAll(async () => {
      env = { DATABASE_URL: database.url, SECRETS_KEY: randomBytes(32).toString('base64') };
      first = await createOrganization();
    });

    it('create it once, print its key once, and create another key on request, with the same rights', async () => {
      expect(first.api_key).toMatch(/^rsk_/);
      const again = await createOrganization('--new-key');
      expect({ ...again, api_key: first.api_key }).toEqual(first);
      expect(again.api_key).toMatch(/^rsk_/);
      expect(again.api_key).not.toBe(first.api_key);
      const app = await createTestApp({ databaseUrl: database.url, env });
      try {
        expect(await bootstrap(app.app)).toEqual({ ...first, api_key: null });
        for (const key of [first.api_key!, again.api_key!]) {
          const me = await app.api(key).get('/registry/v1/me');
          expect(me.status).toBe(200);
          expect(me.body).toMatchObject({ organization: { org_id: first.org_id }, roles: ['owner'] });
        }
      } finally {
        await app.close();
      }
    });
  });
});

import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { retry } from '#platform/concurrency';
import { startEmbeddedPostgres } from '#platform/embedded-postgres';

/** Variables with which the setup of the run passes the server to the workers. */
const SERVER_VARIABLE = 'TEST_RUN_DATABASE_SERVER';
const TEMPLATE_VARIABLE = 'TEST_RUN_DATABASE_TEMPLATE';

const DROP_ATTEMPTS = 100;
const DROP_DELAY_MS = 400;

const RUN_PREFIX = /^registry_test_[0-9a-f]{8}/;

/** The database of a test file. */
export interface TestDatabase {
  readonly url: string;
  /** Ends its connections and removes it. */
  drop(): Promise<void>;
}

/** The server of a test run. */
export interface TestDatabaseServer {
  /** Removes all databases of the run, and the server if the run started it. */
  stop(): Promise<void>;
}

/**
 * Provides the PostgreSQL server of a test run: the server at `TEST_DATABASE_URL`, whose role must be allowed to create
 * databases, or else an ephemeral server, which disappears after the run even if the run is killed. At `TEST_DATABASE_URL`,
 * it removes the databases of killed runs. Call it once, before the workers start.
 *
 * @param prepareTemplate prepares an empty database as the template of all test files, and leaves no connection open
 */
export async function startTestDatabaseServer(
  prepareTemplate: (databaseUrl: string) => Promise<void>,
): Promise<TestDatabaseServer> {
  const configured = process.env.TEST_DATABASE_URL;
  const own = configured
    ? undefined
    : await startEmbeddedPostgres({
        dataDir: mkdtempSync(path.join(os.tmpdir(), 'registry-test-')),
        ephemeral: true,
      });
  const server = configured ?? own?.url ?? '';
  const run = `registry_test_${randomBytes(4).toString('hex')}`;
  // The name of this connection shows other runs that this one is alive.
  const session = new Client({ connectionString: server, application_name: run });
  session.on('error', () => undefined); // The tests report a lost server.
  const stop = async () => {
    await dropDatabases(session, (name) => name.startsWith(run));
    await session.end();
    await own?.stop();
  };
  try {
    await session.connect();
    const alive = await runsAlive(session);
    await dropDatabases(session, (name) => !alive.has(RUN_PREFIX.exec(name)?.[0] ?? ''));
    const template = `${run}_template`;
    await session.query(`CREATE DATABASE ${template}`);
    await prepareTemplate(urlOf(server, template));
    // A test that used the template itself would change the database of all later ones.
    await session.query(`ALTER DATABASE ${template} ALLOW_CONNECTIONS false`);
    process.env[SERVER_VARIABLE] = server;
    process.env[TEMPLATE_VARIABLE] = template;
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  return { stop };
}

/**
 * Creates a migrated database, copied from the run's template in about 50 ms. Use one for each test file. Call `drop()` in
 * `afterAll`; the end of the run drops the rest.
 *
 * @throws Error outside of a test run
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = process.env[SERVER_VARIABLE];
  const template = process.env[TEMPLATE_VARIABLE];
  if (!server || !template) {
    throw new Error('There is no test database server. Run jest with the project’s jest.config.cjs.');
  }
  const name = template.replace(/template$/, randomBytes(6).toString('hex'));
  // The other strategy, WAL_LOG, takes twice as long, because it writes every page to the log too.
  const create = `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`;
  await withClient(server, (client) => client.query(create));
  return {
    url: urlOf(server, name),
    drop: async () => {
      await withClient(server, (client) => dropDatabase(client, name));
    },
  };
}

async function runsAlive(client: Client): Promise<Set<string>> {
  const { rows } = await client.query<{ application_name: string }>(
    'SELECT DISTINCT application_name FROM pg_stat_activity WHERE application_name IS NOT NULL',
  );
  return new Set(rows.map((row) => row.application_name));
}

async function dropDatabases(client: Client, isUnused: (name: string) => boolean): Promise<void> {
  const { rows } = await client.query<{ datname: string }>('SELECT datname FROM pg_database');
  for (const { datname } of rows) {
    if (RUN_PREFIX.test(datname) && isUnused(datname)) {
      await dropDatabase(client, datname);
    }
  }
}

/** Drops a database. After a test with many writes it waits for autovacuum, which only a superuser may end. */
export async function dropDatabase(client: Client, name: string): Promise<void> {
  const drop = () => client.query(`DROP DATABASE IF EXISTS ${client.escapeIdentifier(name)} WITH (FORCE)`);
  const isBeingVacuumed = (error: unknown): boolean => (error as { code?: unknown }).code === '42501';
  await retry(drop, {
    attempts: DROP_ATTEMPTS,
    isRetryable: isBeingVacuumed,
    firstDelayMs: DROP_DELAY_MS,
    maxDelayMs: DROP_DELAY_MS,
  });
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.toString();
}

async function withClient(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

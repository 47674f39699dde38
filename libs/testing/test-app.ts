import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Pool } from 'pg';
import { readEnvironment } from '#platform/config';
import { Database } from '#platform/db';
import { setLogLevel } from '#platform/logging';
import { createApi } from '../../src/create-api';
import { ApiClient } from './api-client';
import { Contract } from './contract';
import { afterFile } from './leftovers';
import { createTestDatabase } from './test-database';
import { TestIssuer } from './test-issuer';

export interface TestAppOptions {
  /** Variables that override the defaults. */
  env?: Record<string, string>;
  /** More entries of `AUTH_ISSUERS`, in addition to the test's own issuer. */
  issuers?: Record<string, unknown>[];
  /** An existing database, which `close` does not drop. For a second process on the same data. */
  databaseUrl?: string;
  /** The issuer of another app, to share it. */
  issuer?: TestIssuer;
  /** Modules with more controllers. */
  areas?: readonly Type[];
  /**
   * If false, neither autovacuum nor the service analyzes the tables that exist at the start, so that plans do not change
   * while a test runs. Partitions that are created later are not included.
   */
  autovacuum?: boolean;
}

/** The real API on a database, listening on a free port. Start one with {@link sharedApp} or {@link ownApp}. */
export class TestApp {
  constructor(
    readonly app: NestExpressApplication,
    readonly url: string,
    readonly databaseUrl: string,
    /** Trusted for all organizations and roles. */
    readonly issuer: TestIssuer,
    readonly env: Readonly<Record<string, string>>,
    private readonly drop: () => Promise<void>,
  ) {}

  get database(): Database {
    return this.app.get(Database, { strict: false });
  }

  /** Returns a provider of the application. */
  get<Type>(type: abstract new (...args: never[]) => Type): Type {
    return this.app.get<Type>(type as never, { strict: false });
  }

  /** Checks every response against the OpenAPI document (written by `npm run openapi`). */
  get contract(): Contract {
    this.builtContract ??= new Contract();
    return this.builtContract;
  }
  private builtContract: Contract | null = null;

  /** Returns a client with an access token, an API key, or neither. It throws for undocumented responses. */
  api(token?: string): ApiClient {
    return new ApiClient(this.url, token, undefined, (answer) => this.contract.check(answer));
  }

  /**
   * Starts another instance on the same data, with some variables changed. A test of a short deadline prepares its data with
   * the first instance and sends only the late request to this one, because on a slow machine other requests may be late too.
   */
  async another(env: Record<string, string> = {}): Promise<TestApp> {
    const { databaseUrl, issuer } = this;
    const other = await createTestApp({ databaseUrl, issuer, env: { ...this.env, ...env } });
    afterFile(() => other.close()); // also if the test fails before it closes it
    return other;
  }

  /** Stops the service as a signal would, and drops its database. */
  close(): Promise<void> {
    this.closed ??= this.app.close().then(() => this.drop());
    return this.closed;
  }
  private closed: Promise<void> | null = null;
}

/** Keeps idle connections open, because each new one must read the catalog of the database first. */
function keepConnections({ dataSource }: Database): void {
  (dataSource.driver as unknown as { master: Pool }).master.options.idleTimeoutMillis = 0;
}

const DISABLE_AUTOVACUUM = `DO $$ DECLARE name regclass; BEGIN
  FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
    EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', name);
  END LOOP; END $$`;

/** The storage directories of this process, by the name of their database. */
const storages = new Map<string, string>();

/** Boots the API as its process does: `ApiModule` on a fresh, migrated database. Call `close()` in `afterAll`. */
export async function createTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const database = options.databaseUrl
    ? { url: options.databaseUrl, drop: () => Promise.resolve() }
    : await createTestDatabase();
  // instances on the same database share its storage, which has the marker of the installation
  const { pathname } = new URL(database.url);
  const shared = storages.get(pathname);
  const storage = shared ?? (await mkdtemp(path.join(os.tmpdir(), 'storage-')));
  storages.set(pathname, storage);
  const removeStorage = (): Promise<void> => {
    storages.delete(pathname);
    return rm(storage, { recursive: true, force: true });
  };
  // later instances on an existing database need it too
  if (options.databaseUrl && shared === undefined) afterFile(removeStorage);
  const drop = async (): Promise<void> => {
    if (!options.databaseUrl) await removeStorage();
    await database.drop();
  };
  try {
    const issuer = options.issuer ?? (await TestIssuer.create());
    const env = {
      HOST: '127.0.0.1',
      PORT: '0',
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '5',
      DATABASE_CONNECTION_TIMEOUT_MS: '60000', // for tests with hundreds of concurrent requests on a slow machine
      LOCK_TIMEOUT_MS: '30000', // for tests that hold a lock while a slow machine prepares the next step
      EVENT_LOOP_DELAY_LIMIT_MS: '60000', // the clients of a test delay the same event loop
      STORAGE_URL: pathToFileURL(storage).href,
      SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'), // the same for all processes on one database
      LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
      AUTH_ISSUERS: JSON.stringify([issuer.entry(), ...(options.issuers ?? [])]),
      ...options.env,
    };
    const environment = readEnvironment(env);
    setLogLevel(environment.LOG_LEVEL);
    const app = await createApi(environment, { areas: options.areas });
    keepConnections(app.get(Database, { strict: false }));
    await app.listen(environment.PORT, environment.HOST);
    if (options.autovacuum === false) await app.get(Database, { strict: false }).query(DISABLE_AUTOVACUUM);
    const { port } = app.getHttpServer().address() as AddressInfo;
    return new TestApp(app, `http://127.0.0.1:${port}`, database.url, issuer, env, drop);
  } catch (error) {
    await drop();
    throw error;
  }
}

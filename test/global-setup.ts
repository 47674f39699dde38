import { existsSync } from 'node:fs';
import path from 'node:path';
import { provideRedis } from '../libs/testing/redis';
import { startTestDatabaseServer } from '../libs/testing/test-database';
import type { TestRun } from './test-run';

/** Once before all tests: the servers that they share, and the template of their databases. */
export default async function setUp(): Promise<void> {
  const database = await startTestDatabaseServer(migrate);
  const redis = await provideRedis();
  (globalThis as TestRun).testServers = [database, ...(redis ? [redis] : [])];
}

/** Loaded by path, because it is there only once the application is built; an empty template serves the libraries. */
async function migrate(databaseUrl: string): Promise<void> {
  const file = path.join(__dirname, '../src/database/migrate.js');
  if (!existsSync(file)) return;
  const migrations = (await import(file)) as { migrate(url: string): Promise<void> };
  await migrations.migrate(databaseUrl);
}

import { migrate } from '../src/database/migrate';
// one by one, because `#testing` loads the whole application, which takes two seconds
import { provideRedis } from '../libs/testing/redis';
import { provideS3 } from '../libs/testing/test-bucket';
import { startTestDatabaseServer } from '../libs/testing/test-database';
import type { TestRun } from './test-run';

/** Runs once before all tests. Starts the servers that they share, and creates the template of their databases. */
export default async function setUp(): Promise<void> {
  const servers = await Promise.all([
    startTestDatabaseServer((url) => migrate(url)),
    provideRedis(),
    provideS3(),
  ]);
  (globalThis as TestRun).testServers = servers.filter((server) => server !== null);
}

import { provideRedis, provideS3, startTestDatabaseServer } from '#testing';
import { migrate } from '../src/database/migrate';
import type { TestRun } from './test-run';

/** Runs once before all tests. Starts the servers that they share, and creates the template of their databases. */
export default async function setUp(): Promise<void> {
  const database = await startTestDatabaseServer((url) => migrate(url));
  const redis = await provideRedis();
  const s3 = await provideS3();
  (globalThis as TestRun).testServers = [database, ...(redis ? [redis] : []), ...(s3 ? [s3] : [])];
}

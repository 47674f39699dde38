import type { TestRun } from './test-run';

/** Runs once after all tests. The servers of a killed run end with it. */
export default async function tearDown(): Promise<void> {
  await Promise.all(((globalThis as TestRun).testServers ?? []).map((server) => server.stop()));
}

import type { TestRun } from './test-run';

/** Once after all tests. A run that is killed does not get here; its servers then end with it. */
export default async function tearDown(): Promise<void> {
  await Promise.all(((globalThis as TestRun).testServers ?? []).map((server) => server.stop()));
}

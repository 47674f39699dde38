import { closeSharedApps } from '#testing';
import type { TestRun } from './test-run';

/** Runs once after all tests. The servers of a killed run end with it. */
export default async function tearDown(): Promise<void> {
  await closeSharedApps(); // of tests that ran in this process
  await Promise.all(((globalThis as TestRun).testServers ?? []).map((server) => server.stop()));
}

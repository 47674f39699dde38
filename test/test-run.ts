/** What jest's global setup leaves for its global teardown, which runs in the same process. */
export interface TestRun {
  testServers?: { stop(): Promise<void> }[];
}

/** Values that jest's global setup passes to its global teardown, which runs in the same process. */
export interface TestRun {
  testServers?: { stop(): Promise<void> }[];
}

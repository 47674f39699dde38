import type { Migration } from './migration';

/** Lets scores wait for their traces. */
export const AWAITED_TRACES: Migration = {
  name: '1796050000000-awaited-traces',
  release: '0.1.0',
  steps: [
    {
      kind: 'expand',
      locks: { scores: 'ACCESS EXCLUSIVE' },
      sql: `
        -- when a worker looks for the trace of a score that named it before it arrived; null for all other scores
        ALTER TABLE scores ADD COLUMN trace_check_at timestamptz;
      `,
    },
    {
      // the scores whose traces a worker looks for next, of all workspaces
      kind: 'index',
      table: 'scores',
      name: 'scores_awaiting_trace',
      definition: '(trace_check_at) WHERE trace_check_at IS NOT NULL',
    },
  ],
};

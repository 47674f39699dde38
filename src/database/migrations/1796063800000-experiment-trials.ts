import type { Migration } from './migration';

/** How often an experiment runs each case. */
export const EXPERIMENT_TRIALS: Migration = {
  name: '1796063800000-experiment-trials',
  release: '0.1.0',
  steps: [
    {
      kind: 'expand',
      locks: { experiments: 'ACCESS EXCLUSIVE' },
      sql: 'ALTER TABLE experiments ADD COLUMN trials integer NOT NULL DEFAULT 1',
    },
  ],
};

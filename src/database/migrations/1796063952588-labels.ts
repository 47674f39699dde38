import type { Migration } from './migration';

/** Labels of the versions of agents and skills, and the labels that only admins may change. */
export const LABELS: Migration = {
  name: '1796063952588-labels',
  release: '0.1.0',
  steps: [
    {
      kind: 'expand',
      locks: { agents: 'ACCESS EXCLUSIVE' },
      sql: `ALTER TABLE agents ADD COLUMN labels jsonb NOT NULL DEFAULT '{}'`,
    },
    {
      kind: 'expand',
      locks: { skills: 'ACCESS EXCLUSIVE' },
      sql: `ALTER TABLE skills ADD COLUMN labels jsonb NOT NULL DEFAULT '{}'`,
    },
    {
      kind: 'expand',
      locks: { organizations: 'ACCESS EXCLUSIVE' },
      sql: `ALTER TABLE organizations ADD COLUMN protected_labels text[] NOT NULL DEFAULT '{}'`,
    },
  ],
};

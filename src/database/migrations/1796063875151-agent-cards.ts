import type { Migration } from './migration';

/** Adds the members of agents' A2A cards. */
export const AGENT_CARDS: Migration = {
  name: '1796063875151-agent-cards',
  release: '0.1.0',
  steps: [
    {
      kind: 'expand',
      locks: { agents: 'ACCESS EXCLUSIVE' },
      sql: `ALTER TABLE agents ADD COLUMN card json NOT NULL DEFAULT '{}'`,
    },
    {
      kind: 'expand',
      locks: { agent_versions: 'ACCESS EXCLUSIVE' },
      sql: `ALTER TABLE agent_versions ADD COLUMN card json NOT NULL DEFAULT '{}'`,
    },
  ],
};

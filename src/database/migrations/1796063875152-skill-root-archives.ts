import type { Migration } from './migration';

/** Adds the digest of the archive of a skill's version that has SKILL.md at its root. */
export const SKILL_ROOT_ARCHIVES: Migration = {
  name: '1796063875152-skill-root-archives',
  release: '0.1.0',
  steps: [
    {
      kind: 'expand',
      locks: { skill_versions: 'ACCESS EXCLUSIVE' },
      sql: `
        -- null until the archive or an index of skills is first read
        ALTER TABLE skill_versions ADD COLUMN root_archive_sha256 text COLLATE "C", ADD COLUMN root_archive_bytes integer
      `,
    },
  ],
};

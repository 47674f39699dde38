import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Repositories that a team's agents, skills and servers come from. */
export class RegistryRepos1795132801520 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE repos (
        repo_id text COLLATE "C" PRIMARY KEY,
        org_id text COLLATE "C" NOT NULL REFERENCES organizations,
        workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
        -- one for all forms of the same repository, see repo-url.ts
        url text COLLATE "C" NOT NULL,
        name text NOT NULL,
        description text,
        default_branch text,
        visibility text CONSTRAINT repos_visibility CHECK (visibility IN ('public', 'internal', 'private')),
        metadata json NOT NULL DEFAULT '{}',
        generation integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        created_by text COLLATE "C" NOT NULL,
        archived_at timestamptz,
        search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || url || ' ' || coalesce(description, ''))) STORED
      );
      CREATE UNIQUE INDEX repos_url ON repos (workspace_id, url) WHERE archived_at IS NULL;
      CREATE INDEX repos_search ON repos USING gin (search);
      CREATE INDEX repos_by_creation ON repos (org_id, repo_id) INCLUDE (archived_at);
      CREATE INDEX repos_by_update ON repos (org_id, updated_at, repo_id) INCLUDE (archived_at);
      CREATE INDEX repos_by_name ON repos (org_id, (name COLLATE "C"), repo_id) INCLUDE (archived_at);
      CREATE INDEX repos_of_workspace_by_creation ON repos (org_id, workspace_id, repo_id) INCLUDE (archived_at);
      CREATE INDEX repos_of_workspace_by_update ON repos (org_id, workspace_id, updated_at, repo_id) INCLUDE (archived_at);
      CREATE INDEX repos_of_workspace_by_name ON repos (org_id, workspace_id, (name COLLATE "C"), repo_id) INCLUDE (archived_at);
      CREATE INDEX repos_by_url ON repos (org_id, url, repo_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE repos');
  }
}

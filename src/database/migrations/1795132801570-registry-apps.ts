import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Apps: what each declares, and how its last sweep ended. */
export class RegistryApps1795132801570 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE apps (
        app_id text COLLATE "C" PRIMARY KEY,
        org_id text COLLATE "C" NOT NULL REFERENCES organizations,
        workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
        app text COLLATE "C" NOT NULL,
        display_name text,
        description text,
        metadata json NOT NULL DEFAULT '{}',
        resources json NOT NULL,
        resource_count integer NOT NULL,
        sync_state text COLLATE "C" NOT NULL DEFAULT 'pending'
          CONSTRAINT apps_sync_state CHECK (sync_state IN ('pending', 'synced', 'failed')),
        -- {"code", "detail", "errors", "at"} while its last sweep is one that failed
        sync_error jsonb,
        last_swept_at timestamptz,
        -- when a worker is to sweep it next; moved on by the one that takes it
        next_sweep_at timestamptz NOT NULL,
        generation integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        created_by text COLLATE "C" NOT NULL,
        archived_at timestamptz,
        bytes integer NOT NULL GENERATED ALWAYS AS (
          coalesce(octet_length(description), 0) + octet_length(metadata::text) + octet_length(resources::text)
        ) STORED,
        search tsvector GENERATED ALWAYS AS (
          search_words(app || ' ' || coalesce(display_name, '') || ' ' || coalesce(description, ''))
        ) STORED
      );
      CREATE UNIQUE INDEX apps_app ON apps (org_id, app) WHERE archived_at IS NULL;
      CREATE INDEX apps_search ON apps USING gin (search);
      CREATE INDEX apps_by_creation ON apps (org_id, app_id);
      CREATE INDEX apps_by_update ON apps (org_id, updated_at, app_id);
      CREATE INDEX apps_by_app ON apps (org_id, app, app_id);
      CREATE INDEX apps_by_state ON apps (org_id, sync_state, app_id);
      CREATE INDEX apps_of_workspace_by_creation ON apps (workspace_id, app_id);
      CREATE INDEX apps_of_workspace_by_update ON apps (workspace_id, updated_at, app_id);
      CREATE INDEX apps_of_workspace_by_app ON apps (workspace_id, app, app_id);
      CREATE INDEX apps_due ON apps (next_sweep_at) WHERE archived_at IS NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE apps');
  }
}

import { SqlMigration } from './sql-migration';

/** Files and their versions. */
export class Files1795824000004 extends SqlMigration {
  protected readonly sql = `
    -- Files by name. The bytes are in blobs.
    CREATE TABLE files (
      file_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      name text COLLATE "C" NOT NULL,
      metadata json NOT NULL,
      -- media_type to version_id describe the newest version
      media_type text COLLATE "C" NOT NULL,
      size_bytes bigint NOT NULL,
      sha256 text COLLATE "C" NOT NULL,
      version_ordinal integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      -- the app that declares the file, and the app's slug; null for an unmanaged file
      app_id text COLLATE "C",
      app text COLLATE "C",
      sync_state text COLLATE "C" NOT NULL
        CONSTRAINT files_sync_state CHECK (sync_state IN ('unmanaged', 'pending', 'synced', 'drifted', 'failed')),
      -- the store item, the release and the publisher's version that a copy was installed from; null for other resources
      acquired_from jsonb,
      generation integer NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(name) + octet_length(metadata::text)) STORED,
      search tsvector GENERATED ALWAYS AS (search_words(name)) STORED,
      FOREIGN KEY (org_id, sha256) REFERENCES blobs
    );
    CREATE UNIQUE INDEX files_name ON files (workspace_id, name) WHERE archived_at IS NULL;
    -- GET /file/v1/files: sorts created_at, updated_at and name, in the organization and in one workspace, and filters
    -- media_type, sync_state, app (a slug or an id) and q
    CREATE INDEX files_by_creation ON files (org_id, file_id);
    CREATE INDEX files_by_update ON files (org_id, updated_at, file_id);
    CREATE INDEX files_by_name ON files (org_id, name, file_id);
    CREATE INDEX files_of_workspace_by_creation ON files (workspace_id, file_id);
    CREATE INDEX files_of_workspace_by_update ON files (workspace_id, updated_at, file_id);
    CREATE INDEX files_of_workspace_by_name ON files (workspace_id, name, file_id);
    CREATE INDEX files_by_type ON files (org_id, media_type, file_id);
    CREATE INDEX files_by_state ON files (org_id, sync_state, file_id);
    CREATE INDEX files_by_app ON files (org_id, app, file_id);
    CREATE INDEX files_search ON files USING gin (search);
    -- whether bytes are still needed
    CREATE INDEX files_by_content ON files (org_id, sha256);
    -- the reconcile of an app, and the filter app with an id
    CREATE INDEX files_of_app ON files (app_id, file_id) WHERE app_id IS NOT NULL;
    -- the copies of a published resource
    CREATE INDEX files_acquired ON files (workspace_id, (acquired_from ->> 'artifact_id'))
      WHERE acquired_from IS NOT NULL AND archived_at IS NULL;

    -- Every state of a file.
    CREATE TABLE file_versions (
      file_id text COLLATE "C" NOT NULL REFERENCES files ON DELETE CASCADE,
      version_ordinal integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      media_type text COLLATE "C" NOT NULL,
      size_bytes bigint NOT NULL,
      sha256 text COLLATE "C" NOT NULL,
      created_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(name)) STORED,
      PRIMARY KEY (file_id, version_ordinal),
      FOREIGN KEY (org_id, sha256) REFERENCES blobs
    );
    -- whether bytes are still needed
    CREATE INDEX file_versions_by_content ON file_versions (org_id, sha256);
  `;
}

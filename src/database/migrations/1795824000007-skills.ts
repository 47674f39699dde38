import { SqlMigration } from './sql-migration';

/** Skills, their versions, and the files of each version. */
export class Skills1795824000007 extends SqlMigration {
  protected readonly sql = `
    -- Skills, with the content of their newest version.
    CREATE TABLE skills (
      skill_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      -- name to metadata come from the frontmatter of SKILL.md, instructions from its body
      name text COLLATE "C" NOT NULL,
      description text NOT NULL,
      license text,
      compatibility text,
      allowed_tools json,
      metadata json NOT NULL,
      instructions text NOT NULL,
      -- version_ordinal to size_bytes describe the newest version
      version_ordinal integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      source_digest text COLLATE "C" NOT NULL,
      file_count integer NOT NULL,
      size_bytes integer NOT NULL,
      -- the app that declares the skill, and the app's slug, which never changes; null for an unmanaged skill
      app_id text COLLATE "C",
      app text COLLATE "C",
      sync_state text COLLATE "C" NOT NULL
        CONSTRAINT skills_sync_state CHECK (sync_state IN ('unmanaged', 'pending', 'synced', 'drifted', 'failed')),
      -- the store item, the release and the publisher's version that a copy was installed from; null for other resources
      acquired_from jsonb,
      generation integer NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS (
        octet_length(instructions) + octet_length(description) + octet_length(metadata::text)
        + octet_length(coalesce(allowed_tools::text, ''))
      ) STORED,
      search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || description)) STORED
    );
    CREATE UNIQUE INDEX skills_name ON skills (workspace_id, name) WHERE archived_at IS NULL;
    -- GET /skill/v1/skills: sorts created_at, updated_at and name, in the organization and in one workspace, and filters
    -- sync_state, app (a slug or an id) and q
    CREATE INDEX skills_by_creation ON skills (org_id, skill_id);
    CREATE INDEX skills_by_update ON skills (org_id, updated_at, skill_id);
    CREATE INDEX skills_by_name ON skills (org_id, name, skill_id);
    CREATE INDEX skills_of_workspace_by_creation ON skills (workspace_id, skill_id);
    CREATE INDEX skills_of_workspace_by_update ON skills (workspace_id, updated_at, skill_id);
    CREATE INDEX skills_of_workspace_by_name ON skills (workspace_id, name, skill_id);
    CREATE INDEX skills_by_state ON skills (org_id, sync_state, skill_id);
    CREATE INDEX skills_by_app ON skills (org_id, app, skill_id);
    CREATE INDEX skills_search ON skills USING gin (search);
    -- the reconcile of an app, and the filter app with an id
    CREATE INDEX skills_of_app ON skills (app_id, skill_id) WHERE app_id IS NOT NULL;
    -- the copies of a published resource
    CREATE INDEX skills_acquired ON skills (workspace_id, (acquired_from ->> 'artifact_id'))
      WHERE acquired_from IS NOT NULL AND archived_at IS NULL;

    -- Every state of a skill.
    CREATE TABLE skill_versions (
      skill_id text COLLATE "C" NOT NULL REFERENCES skills ON DELETE CASCADE,
      version_ordinal integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      description text NOT NULL,
      license text,
      compatibility text,
      allowed_tools json,
      metadata json NOT NULL,
      instructions text NOT NULL,
      source_digest text COLLATE "C" NOT NULL,
      file_count integer NOT NULL,
      size_bytes integer NOT NULL,
      -- checksum and size of the zip archive, which each download builds from the files, with identical bytes
      archive_sha256 text COLLATE "C" NOT NULL,
      archive_bytes integer NOT NULL,
      created_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (
        octet_length(instructions) + octet_length(description) + octet_length(metadata::text)
        + octet_length(coalesce(allowed_tools::text, ''))
      ) STORED,
      PRIMARY KEY (skill_id, version_ordinal)
    );

    -- The contents of files. Equal contents are stored once per organization.
    CREATE TABLE skill_blobs (
      org_id text COLLATE "C" NOT NULL,
      sha256 text COLLATE "C" NOT NULL,
      data bytea NOT NULL,
      PRIMARY KEY (org_id, sha256)
    );
    -- Uncompressed, because reading a part of a compressed value decompresses everything before it. PostgreSQL 15 cannot set
    -- this in CREATE TABLE.
    ALTER TABLE skill_blobs ALTER COLUMN data SET STORAGE EXTERNAL;

    -- The files of each version. SKILL.md is one of them.
    CREATE TABLE skill_files (
      skill_id text COLLATE "C" NOT NULL,
      version_ordinal integer NOT NULL,
      path text COLLATE "C" NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      sha256 text COLLATE "C" NOT NULL,
      -- the unsigned CRC-32 that zip archives contain
      crc32 bigint NOT NULL,
      size_bytes integer NOT NULL,
      PRIMARY KEY (skill_id, version_ordinal, path),
      FOREIGN KEY (skill_id, version_ordinal) REFERENCES skill_versions ON DELETE CASCADE,
      FOREIGN KEY (org_id, sha256) REFERENCES skill_blobs
    );
    -- whether a content is still needed
    CREATE INDEX skill_files_by_content ON skill_files (org_id, sha256);
  `;
}

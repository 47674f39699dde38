import { bytesOf, SqlMigration } from './sql-migration';

/** Registered HTTP APIs and their versions. */
export class Apis1795457000000 extends SqlMigration {
  protected readonly sql = `
    CREATE TABLE apis (
      api_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      name text NOT NULL,
      description text,
      -- without a query and without a trailing slash
      base_url text NOT NULL,
      auth_type text COLLATE "C" NOT NULL
        CONSTRAINT apis_auth_type CHECK (auth_type IN ('none', 'bearer', 'header', 'basic', 'query')),
      -- the name of the header or of the parameter that carries the secret
      auth_name text,
      -- encrypted, and bound to this API
      auth_secret text,
      allowed_methods text[] NOT NULL CONSTRAINT apis_allowed_methods CHECK (cardinality(allowed_methods) > 0),
      timeout_ms integer NOT NULL,
      headers json NOT NULL,
      allow_encoded_slash boolean NOT NULL,
      -- null without a limit
      requests_per_minute integer,
      max_in_flight integer,
      metadata json NOT NULL,
      -- the app that declares the API, the app's slug, and the declared name, which may differ after a rename
      app_id text COLLATE "C",
      app text COLLATE "C",
      declared_name text,
      sync_state text COLLATE "C" NOT NULL
        CONSTRAINT apis_sync_state CHECK (sync_state IN ('unmanaged', 'pending', 'synced', 'drifted', 'failed')),
      acquired_from jsonb,
      version_ordinal integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      generation integer NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      bytes integer NOT NULL GENERATED ALWAYS AS
        (${bytesOf('description', 'base_url', 'headers', 'metadata')}) STORED,
      search tsvector GENERATED ALWAYS AS
        (search_words(name || ' ' || base_url || ' ' || coalesce(description, ''))) STORED,
      CONSTRAINT apis_app CHECK ((app_id IS NULL) = (app IS NULL) AND (app_id IS NULL) = (declared_name IS NULL)),
      CONSTRAINT apis_auth_name CHECK ((auth_type IN ('header', 'query')) = (auth_name IS NOT NULL)),
      CONSTRAINT apis_auth_secret CHECK (auth_type <> 'none' OR auth_secret IS NULL)
    );
    CREATE UNIQUE INDEX apis_name ON apis (workspace_id, name) WHERE archived_at IS NULL;
    -- an app declares a name once; also used by the reconcile of an app
    CREATE UNIQUE INDEX apis_declared ON apis (app_id, declared_name) WHERE archived_at IS NULL;
    -- GET /registry/v1/apis: sorts created_at, updated_at and name, in the organization and in one workspace, and filters
    -- name, sync_state, app (a slug or an id) and q
    CREATE INDEX apis_by_creation ON apis (org_id, api_id);
    CREATE INDEX apis_by_update ON apis (org_id, updated_at, api_id);
    CREATE INDEX apis_by_name ON apis (org_id, (name COLLATE "C"), api_id);
    CREATE INDEX apis_of_workspace_by_creation ON apis (workspace_id, api_id);
    CREATE INDEX apis_of_workspace_by_update ON apis (workspace_id, updated_at, api_id);
    CREATE INDEX apis_of_workspace_by_name ON apis (workspace_id, (name COLLATE "C"), api_id);
    CREATE INDEX apis_by_state ON apis (org_id, sync_state, api_id);
    CREATE INDEX apis_by_app ON apis (org_id, app, api_id);
    CREATE INDEX apis_by_app_id ON apis (org_id, app_id, api_id);
    CREATE INDEX apis_search ON apis USING gin (search);

    CREATE TABLE api_versions (
      api_id text COLLATE "C" NOT NULL REFERENCES apis,
      version_ordinal integer NOT NULL,
      version_id text COLLATE "C" NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      name text NOT NULL,
      description text,
      base_url text NOT NULL,
      auth_type text COLLATE "C" NOT NULL,
      auth_name text,
      allowed_methods text[] NOT NULL,
      timeout_ms integer NOT NULL,
      headers json NOT NULL,
      allow_encoded_slash boolean NOT NULL,
      requests_per_minute integer,
      max_in_flight integer,
      created_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      bytes integer NOT NULL GENERATED ALWAYS AS (${bytesOf('description', 'base_url', 'headers')}) STORED,
      PRIMARY KEY (api_id, version_ordinal)
    );
  `;
}

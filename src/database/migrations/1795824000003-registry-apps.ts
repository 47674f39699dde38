import { bytesOf, sealedByColumn, SqlMigration } from './sql-migration';

/** Repositories, external APIs and their versions, and apps. */
export class RegistryApps1795824000003 extends SqlMigration {
  protected readonly sql = `
    -- Source repositories of a team's agents, skills and MCP servers.
    CREATE TABLE repos (
      repo_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      -- normalized, so that all spellings of a repository's URL are equal
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
    -- GET /registry/v1/repos: sorts created_at, updated_at and name, in the organization and in one workspace, and
    -- filters url and q. archived_at is included, so that totals are counted from the index alone.
    CREATE INDEX repos_by_creation ON repos (org_id, repo_id) INCLUDE (archived_at);
    CREATE INDEX repos_by_update ON repos (org_id, updated_at, repo_id) INCLUDE (archived_at);
    CREATE INDEX repos_by_name ON repos (org_id, (name COLLATE "C"), repo_id) INCLUDE (archived_at);
    CREATE INDEX repos_of_workspace_by_creation ON repos (workspace_id, org_id, repo_id) INCLUDE (archived_at);
    CREATE INDEX repos_of_workspace_by_update ON repos (org_id, workspace_id, updated_at, repo_id) INCLUDE (archived_at);
    CREATE INDEX repos_of_workspace_by_name ON repos (org_id, workspace_id, (name COLLATE "C"), repo_id) INCLUDE (archived_at);
    CREATE INDEX repos_by_url ON repos (org_id, url, repo_id);
    CREATE INDEX repos_search ON repos USING gin (search);

    -- External HTTP APIs, to which the API proxy forwards requests.
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
      ${sealedByColumn('auth_secret')},
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
      -- the store item, the release and the publisher's version that a copy was installed from; null for other resources
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
    -- rotate-secrets
    CREATE INDEX apis_sealed_by ON apis (auth_secret_sealed_by, api_id) WHERE auth_secret_sealed_by IS NOT NULL;

    -- Every state of an API, without its secret.
    CREATE TABLE api_versions (
      api_id text COLLATE "C" NOT NULL REFERENCES apis ON DELETE CASCADE,
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

    -- Apps, the resources that each declares, and the outcome of its last reconcile.
    CREATE TABLE apps (
      app_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      -- the slug of the app
      app text COLLATE "C" NOT NULL,
      display_name text,
      description text,
      metadata json NOT NULL DEFAULT '{}',
      resources json NOT NULL,
      resource_count integer NOT NULL,
      sync_state text COLLATE "C" NOT NULL DEFAULT 'pending'
        CONSTRAINT apps_sync_state CHECK (sync_state IN ('pending', 'synced', 'failed')),
      -- {"code", "detail", "errors", "at"} if the last reconcile failed
      sync_error jsonb,
      last_reconciled_at timestamptz,
      -- time of the next reconcile; the worker that claims it sets the following one
      next_reconcile_at timestamptz NOT NULL,
      -- [{"kind", "id", "name"}]: the resources that archiving the app released, and that restoring it claims again
      released jsonb,
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
    -- GET /registry/v1/apps: sorts created_at, updated_at and app, in the organization and in one workspace, and filters
    -- app, sync_state and q
    CREATE INDEX apps_by_creation ON apps (org_id, app_id);
    CREATE INDEX apps_by_update ON apps (org_id, updated_at, app_id);
    CREATE INDEX apps_by_app ON apps (org_id, app, app_id);
    CREATE INDEX apps_by_state ON apps (org_id, sync_state, app_id);
    CREATE INDEX apps_of_workspace_by_creation ON apps (workspace_id, app_id);
    CREATE INDEX apps_of_workspace_by_update ON apps (workspace_id, updated_at, app_id);
    CREATE INDEX apps_of_workspace_by_app ON apps (workspace_id, app, app_id);
    CREATE INDEX apps_search ON apps USING gin (search);
    -- workers: the apps whose reconcile is due
    CREATE INDEX apps_due ON apps (next_reconcile_at) WHERE archived_at IS NULL;
  `;
}

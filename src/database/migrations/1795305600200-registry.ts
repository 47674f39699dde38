import { SqlMigration } from './sql-migration';

/** Organizations, workspaces and members, accounts and their keys, tokens, repositories and apps. */
export class Registry1795305600200 extends SqlMigration {
  protected readonly sql = `
    CREATE TABLE organizations (
      org_id text COLLATE "C" PRIMARY KEY,
      name text NOT NULL,
      status text NOT NULL DEFAULT 'active' CONSTRAINT organizations_status CHECK (status IN ('active', 'suspended')),
      metadata json NOT NULL DEFAULT '{}',
      generation integer NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz
    );
    -- GET /registry/v1/orgs: sort updated_at, filter status
    CREATE INDEX organizations_by_update ON organizations (updated_at, org_id);
    CREATE INDEX organizations_by_status ON organizations (status, org_id);
    -- bootstrap: the organization that the first start created
    CREATE INDEX organizations_created_by ON organizations (created_by, org_id);

    CREATE TABLE workspaces (
      workspace_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      name text NOT NULL,
      description text,
      metadata json NOT NULL DEFAULT '{}',
      generation integer NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(description, ''))) STORED
    );
    CREATE UNIQUE INDEX workspaces_name ON workspaces (org_id, name) WHERE archived_at IS NULL;
    -- GET /registry/v1/workspaces: sorts created_at, updated_at and name, filter q
    CREATE INDEX workspaces_by_creation ON workspaces (org_id, workspace_id);
    CREATE INDEX workspaces_by_update ON workspaces (org_id, updated_at, workspace_id);
    CREATE INDEX workspaces_by_name ON workspaces (org_id, (name COLLATE "C"), workspace_id);
    CREATE INDEX workspaces_search ON workspaces USING gin (search);
    -- search: archived workspaces, whose resources it omits
    CREATE INDEX workspaces_archived ON workspaces (org_id, workspace_id) WHERE archived_at IS NOT NULL;

    CREATE TABLE workspace_members (
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      principal_id text COLLATE "C" NOT NULL,
      principal_type text NOT NULL
        CONSTRAINT workspace_members_type CHECK (principal_type IN ('user', 'service_account')),
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      roles text[] NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text COLLATE "C" NOT NULL,
      PRIMARY KEY (workspace_id, principal_id)
    );
    -- authentication: workspaces and roles of a principal
    CREATE INDEX workspace_members_principal ON workspace_members (org_id, principal_id);

    CREATE TABLE users (
      -- internal id that sorts users by creation; clients see user_id, which the issuer assigns
      user_ref text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      user_id text COLLATE "C" NOT NULL,
      display_name text,
      email text,
      status text NOT NULL DEFAULT 'active' CONSTRAINT users_status CHECK (status IN ('active', 'suspended')),
      roles text[] NOT NULL DEFAULT '{}',
      metadata json NOT NULL DEFAULT '{}',
      generation integer NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      search tsvector GENERATED ALWAYS AS (
        search_words(user_id || ' ' || coalesce(display_name, '') || ' ' || coalesce(email, ''))
      ) STORED,
      CONSTRAINT users_user_id UNIQUE (org_id, user_id)
    );
    -- GET /registry/v1/users: sorts created_at and updated_at, filters status and q
    CREATE INDEX users_by_creation ON users (org_id, user_ref);
    CREATE INDEX users_by_update ON users (org_id, updated_at, user_ref);
    CREATE INDEX users_by_status ON users (org_id, status, user_ref);
    CREATE INDEX users_search ON users USING gin (search);

    CREATE TABLE service_accounts (
      service_account_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      name text NOT NULL,
      description text,
      status text NOT NULL DEFAULT 'active'
        CONSTRAINT service_accounts_status CHECK (status IN ('active', 'suspended')),
      roles text[] NOT NULL DEFAULT '{}',
      -- "*" stands for every workspace; workspaces are never deleted, so these ids stay valid
      workspace_ids text[] COLLATE "C" NOT NULL DEFAULT '{}',
      metadata json NOT NULL DEFAULT '{}',
      generation integer NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(description, ''))) STORED
    );
    CREATE UNIQUE INDEX service_accounts_name ON service_accounts (org_id, name) WHERE archived_at IS NULL;
    -- GET /registry/v1/service-accounts: sorts created_at, updated_at and name, filters status, workspace_id and q
    CREATE INDEX service_accounts_by_creation ON service_accounts (org_id, service_account_id);
    CREATE INDEX service_accounts_by_update ON service_accounts (org_id, updated_at, service_account_id);
    CREATE INDEX service_accounts_by_name ON service_accounts (org_id, (name COLLATE "C"), service_account_id);
    CREATE INDEX service_accounts_by_status ON service_accounts (org_id, status, service_account_id);
    CREATE INDEX service_accounts_workspace_ids ON service_accounts USING gin (workspace_ids);
    CREATE INDEX service_accounts_search ON service_accounts USING gin (search);

    CREATE TABLE api_keys (
      key_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      service_account_id text COLLATE "C" NOT NULL REFERENCES service_accounts,
      name text NOT NULL,
      -- the first characters, by which people recognize a key
      prefix text NOT NULL,
      -- HMAC-SHA-256, so that the key can neither be read nor guessed without SECRETS_KEY; authentication looks it up
      hash bytea NOT NULL CONSTRAINT api_keys_hash UNIQUE,
      expires_at timestamptz,
      revoked_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text COLLATE "C" NOT NULL
    );
    -- GET /registry/v1/service-accounts/{id}/keys: sorts created_at, updated_at and name
    CREATE INDEX api_keys_by_creation ON api_keys (service_account_id, key_id);
    CREATE INDEX api_keys_by_update ON api_keys (service_account_id, updated_at, key_id);
    CREATE INDEX api_keys_by_name ON api_keys (service_account_id, (name COLLATE "C"), key_id);

    -- The keys that sign the access tokens of the service. The table has few rows.
    CREATE TABLE signing_keys (
      kid text COLLATE "C" PRIMARY KEY,
      public_jwk jsonb NOT NULL,
      -- encrypted, with the id of the encryption key
      private_jwk text NOT NULL,
      signs_from timestamptz NOT NULL,
      -- null for the newest key
      signs_until timestamptz,
      created_at timestamptz NOT NULL DEFAULT now()
    );

    CREATE TABLE revoked_tokens (
      issuer text COLLATE "C" NOT NULL,
      jti text COLLATE "C" NOT NULL,
      -- empty for a platform principal
      org_id text COLLATE "C" NOT NULL,
      -- when the token expires; null if unknown
      expires_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      created_by text COLLATE "C" NOT NULL,
      PRIMARY KEY (issuer, jti, org_id)
    );
    -- each revocation deletes the expired rows
    CREATE INDEX revoked_tokens_expires_at ON revoked_tokens (expires_at);

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
    CREATE INDEX repos_of_workspace_by_creation ON repos (org_id, workspace_id, repo_id) INCLUDE (archived_at);
    CREATE INDEX repos_of_workspace_by_update ON repos (org_id, workspace_id, updated_at, repo_id) INCLUDE (archived_at);
    CREATE INDEX repos_of_workspace_by_name ON repos (org_id, workspace_id, (name COLLATE "C"), repo_id) INCLUDE (archived_at);
    CREATE INDEX repos_by_url ON repos (org_id, url, repo_id);
    CREATE INDEX repos_search ON repos USING gin (search);

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
      last_swept_at timestamptz,
      -- time of the next reconcile; the worker that claims it sets the following one
      next_sweep_at timestamptz NOT NULL,
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
    CREATE INDEX apps_due ON apps (next_sweep_at) WHERE archived_at IS NULL;
  `;
}

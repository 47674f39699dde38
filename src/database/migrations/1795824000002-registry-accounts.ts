import { sealedByColumn, SqlMigration } from './sql-migration';

/** Organizations, workspaces and members, accounts and their keys, tokens, and the keys that sign. */
export class RegistryAccounts1795824000002 extends SqlMigration {
  protected readonly sql = `
    -- The tenants of the service.
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
    -- GET /registry/v1/orgs: sort updated_at, filters name and status
    CREATE INDEX organizations_by_update ON organizations (updated_at, org_id);
    CREATE INDEX organizations_by_name ON organizations ((name COLLATE "C"), org_id);
    CREATE INDEX organizations_by_status ON organizations (status, org_id);
    -- bootstrap: the organization that the first start created
    CREATE INDEX organizations_created_by ON organizations (created_by, org_id);

    -- The spans that each organization sent on the last day (UTC) on which it sent any. Empty without a quota of spans.
    CREATE TABLE span_usage (
      org_id text COLLATE "C" PRIMARY KEY,
      day date NOT NULL,
      spans bigint NOT NULL
    ) WITH (fillfactor = 50);

    -- The units of access within an organization.
    CREATE TABLE workspaces (
      workspace_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      name text NOT NULL,
      description text,
      metadata json NOT NULL DEFAULT '{}',
      -- for how many days it keeps its data: the members of the API that are set
      retention json NOT NULL DEFAULT '{}',
      -- rules by which the texts of traces, results and messages are masked before they are stored
      masking json NOT NULL DEFAULT '[]',
      generation integer NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(description, ''))) STORED
    );
    -- retention: the workspaces that have their own
    CREATE INDEX workspaces_with_retention ON workspaces (workspace_id) WHERE retention::text <> '{}';
    CREATE UNIQUE INDEX workspaces_name ON workspaces (org_id, name) WHERE archived_at IS NULL;
    -- GET /registry/v1/workspaces: sorts created_at, updated_at and name, filter q
    CREATE INDEX workspaces_by_creation ON workspaces (org_id, workspace_id);
    CREATE INDEX workspaces_by_update ON workspaces (org_id, updated_at, workspace_id);
    CREATE INDEX workspaces_by_name ON workspaces (org_id, (name COLLATE "C"), workspace_id);
    CREATE INDEX workspaces_search ON workspaces USING gin (search);
    -- search: archived workspaces, whose resources it omits
    CREATE INDEX workspaces_archived ON workspaces (org_id, workspace_id) WHERE archived_at IS NOT NULL;

    -- The roles of users and service accounts in a workspace.
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

    -- People who use the service.
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

    -- The principals of programs.
    CREATE TABLE service_accounts (
      service_account_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      name text NOT NULL,
      description text,
      status text NOT NULL DEFAULT 'active'
        CONSTRAINT service_accounts_status CHECK (status IN ('active', 'suspended')),
      roles text[] NOT NULL DEFAULT '{}',
      -- "*" stands for every workspace
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

    -- The keys of service accounts. Rows stay when a key is revoked.
    CREATE TABLE api_keys (
      key_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      service_account_id text COLLATE "C" NOT NULL REFERENCES service_accounts ON DELETE CASCADE,
      name text NOT NULL,
      -- the first characters, by which people recognize a key
      prefix text NOT NULL,
      -- HMAC-SHA-256, so that the key can neither be read nor guessed without SECRETS_KEYS; authentication looks it up
      hash bytea NOT NULL CONSTRAINT api_keys_hash UNIQUE,
      -- areas and ids of what the key allows; null for all that its account may do
      allow jsonb,
      -- limits of calls to models, of gateway keys
      monthly_budget_usd double precision,
      requests_per_minute integer,
      tokens_per_minute integer,
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
      -- encrypted
      private_jwk text NOT NULL,
      ${sealedByColumn('private_jwk')},
      signs_from timestamptz NOT NULL,
      -- null for the newest key
      signs_until timestamptz,
      created_at timestamptz NOT NULL DEFAULT now()
    );

    -- rotate-secrets
    CREATE INDEX signing_keys_sealed_by ON signing_keys (private_jwk_sealed_by, kid);

    -- Access tokens that are rejected before they expire.
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
    CREATE INDEX revoked_tokens_of_org ON revoked_tokens (org_id);
    -- each revocation deletes the expired rows
    CREATE INDEX revoked_tokens_expires_at ON revoked_tokens (expires_at);

    -- The keys with which organizations sign.
    CREATE TABLE org_signing_keys (
      kid text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL,
      name text,
      -- the public key in base64url
      x text NOT NULL,
      -- encrypted; null once the key is revoked
      private_jwk text,
      ${sealedByColumn('private_jwk')},
      revoked_at timestamptz,
      -- the order of creation, independent of the clocks of processes
      position bigint GENERATED ALWAYS AS IDENTITY,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text COLLATE "C" NOT NULL,
      CONSTRAINT org_signing_keys_private CHECK ((revoked_at IS NULL) = (private_jwk IS NOT NULL))
    );
    -- GET /registry/v1/org/signing-keys: the whole list, filter name
    CREATE INDEX org_signing_keys_by_creation ON org_signing_keys (org_id, kid);
    CREATE INDEX org_signing_keys_by_name ON org_signing_keys (org_id, (name COLLATE "C"), kid);
    -- the key that signs
    CREATE INDEX org_signing_keys_current ON org_signing_keys (org_id, position) WHERE revoked_at IS NULL;
    -- /.well-known/jwks.json
    CREATE INDEX org_signing_keys_published ON org_signing_keys (position) WHERE revoked_at IS NULL;

    -- rotate-secrets
    CREATE INDEX org_signing_keys_sealed_by ON org_signing_keys (private_jwk_sealed_by, kid)
      WHERE private_jwk_sealed_by IS NOT NULL;

    -- One row about the published keys of all organizations.
    CREATE TABLE org_signing_key_set (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      -- incremented by each change
      generation bigint NOT NULL,
      key_count integer NOT NULL
    );
    INSERT INTO org_signing_key_set (generation, key_count) VALUES (0, 0);
  `;
}

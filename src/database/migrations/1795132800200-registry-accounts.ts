import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Organizations and who acts in them: workspaces and their members, users, service accounts and their keys; the
 * service's own signing keys, and the tokens that were revoked.
 */
export class RegistryAccounts1795132800200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
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
      CREATE INDEX organizations_by_status ON organizations (status, org_id);
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
      CREATE INDEX workspaces_search ON workspaces USING gin (search);
      CREATE UNIQUE INDEX workspaces_name ON workspaces (org_id, name) WHERE archived_at IS NULL;
      CREATE INDEX workspaces_by_creation ON workspaces (org_id, workspace_id);
      CREATE INDEX workspaces_by_name ON workspaces (org_id, (name COLLATE "C"), workspace_id);
      CREATE INDEX workspaces_by_update ON workspaces (org_id, updated_at, workspace_id);

      CREATE TABLE users (
        -- orders users by creation; the id they go by is their issuer's
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
      CREATE INDEX users_search ON users USING gin (search);
      CREATE INDEX users_by_creation ON users (org_id, user_ref);
      CREATE INDEX users_by_update ON users (org_id, updated_at, user_ref);
      CREATE INDEX users_by_status ON users (org_id, status, user_ref);

      CREATE TABLE service_accounts (
        service_account_id text COLLATE "C" PRIMARY KEY,
        org_id text COLLATE "C" NOT NULL REFERENCES organizations,
        name text NOT NULL,
        description text,
        status text NOT NULL DEFAULT 'active'
          CONSTRAINT service_accounts_status CHECK (status IN ('active', 'suspended')),
        roles text[] NOT NULL DEFAULT '{}',
        -- workspaces are never deleted, so what is written here once stays true
        workspace_ids text[] COLLATE "C" NOT NULL DEFAULT '{}',
        metadata json NOT NULL DEFAULT '{}',
        generation integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        created_by text COLLATE "C" NOT NULL,
        archived_at timestamptz,
        search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(description, ''))) STORED
      );
      CREATE INDEX service_accounts_search ON service_accounts USING gin (search);
      CREATE UNIQUE INDEX service_accounts_name ON service_accounts (org_id, name) WHERE archived_at IS NULL;
      CREATE INDEX service_accounts_by_creation ON service_accounts (org_id, service_account_id);
      CREATE INDEX service_accounts_by_name ON service_accounts (org_id, (name COLLATE "C"), service_account_id);
      CREATE INDEX service_accounts_by_update ON service_accounts (org_id, updated_at, service_account_id);
      CREATE INDEX service_accounts_by_status ON service_accounts (org_id, status, service_account_id);
      CREATE INDEX service_accounts_workspace_ids ON service_accounts USING gin (workspace_ids);

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
      CREATE INDEX workspace_members_principal ON workspace_members (org_id, principal_id);

      CREATE TABLE api_keys (
        key_id text COLLATE "C" PRIMARY KEY,
        org_id text COLLATE "C" NOT NULL REFERENCES organizations,
        service_account_id text COLLATE "C" NOT NULL REFERENCES service_accounts,
        name text NOT NULL,
        -- the first characters, by which people tell keys apart
        prefix text NOT NULL,
        -- HMAC-SHA-256: a key cannot be had back from it, nor tried against it without SECRETS_KEY
        hash bytea NOT NULL CONSTRAINT api_keys_hash UNIQUE,
        expires_at timestamptz,
        revoked_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        created_by text COLLATE "C" NOT NULL
      );
      CREATE INDEX api_keys_by_creation ON api_keys (service_account_id, key_id);

      CREATE TABLE signing_keys (
        kid text COLLATE "C" PRIMARY KEY,
        public_jwk jsonb NOT NULL,
        -- sealed, with the id of the key it was sealed under
        private_jwk text NOT NULL,
        signs_from timestamptz NOT NULL,
        -- null while no later key follows it
        signs_until timestamptz,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX signing_keys_signs_until ON signing_keys (signs_until);

      CREATE TABLE revoked_tokens (
        issuer text COLLATE "C" NOT NULL,
        jti text COLLATE "C" NOT NULL,
        -- empty for a platform principal
        org_id text COLLATE "C" NOT NULL,
        -- when the token has expired anyway; null where that is not known
        expires_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        created_by text COLLATE "C" NOT NULL,
        PRIMARY KEY (issuer, jti, org_id)
      );
      CREATE INDEX revoked_tokens_expires_at ON revoked_tokens (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE revoked_tokens, signing_keys, api_keys, workspace_members, service_accounts, users, workspaces,
        organizations
    `);
  }
}

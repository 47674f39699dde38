import { SqlMigration } from './sql-migration';

/** The keys with which organizations sign. */
export class OrgSigningKeys1795455000400 extends SqlMigration {
  protected readonly sql = `
    CREATE TABLE org_signing_keys (
      kid text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL,
      name text,
      -- the public key in base64url
      x text NOT NULL,
      -- encrypted, with the id of the encryption key; null once the key is revoked
      private_jwk text,
      revoked_at timestamptz,
      -- the order of creation, independent of the clocks of processes
      position bigint GENERATED ALWAYS AS IDENTITY,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      created_by text COLLATE "C" NOT NULL,
      CONSTRAINT org_signing_keys_private CHECK ((revoked_at IS NULL) = (private_jwk IS NOT NULL))
    );
    -- GET /registry/v1/org/signing-keys
    CREATE INDEX org_signing_keys_by_creation ON org_signing_keys (org_id, kid);
    -- the key that signs
    CREATE INDEX org_signing_keys_current ON org_signing_keys (org_id, position) WHERE revoked_at IS NULL;
    -- /.well-known/jwks.json
    CREATE INDEX org_signing_keys_published ON org_signing_keys (position) WHERE revoked_at IS NULL;

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

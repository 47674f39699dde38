import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * First answers by the digest of who asked what, with the request that holds a key, and as bytes. The answers kept so
 * far are forgotten, because what their requests were is not in them.
 */
export class PlatformIdempotencyHolders1795132800800 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE idempotency_keys;
      CREATE TABLE idempotency_keys (
        request_id bytea PRIMARY KEY,
        digest bytea NOT NULL,
        status integer,
        headers jsonb,
        body bytea,
        holder uuid NOT NULL,
        locked_until timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE idempotency_keys;
      CREATE TABLE idempotency_keys (
        principal_id text COLLATE "C" NOT NULL,
        route text COLLATE "C" NOT NULL,
        key text COLLATE "C" NOT NULL,
        digest bytea NOT NULL,
        status integer,
        headers jsonb,
        body text,
        locked_until timestamptz NOT NULL,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (principal_id, route, key)
      );
      CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);
    `);
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';

/** First answers to requests with an `Idempotency-Key`, kept for 24 hours. */
export class PlatformIdempotency1795132800100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
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

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotency_keys');
  }
}

import { SqlMigration } from './sql-migration';

/** What every area uses: kept answers of `Idempotency-Key`, jobs on their way to the queue, and the words of a text. */
export class Platform1795305600000 extends SqlMigration {
  protected readonly sql = `
    -- The first answer to each request with an Idempotency-Key, kept for 24 hours.
    CREATE TABLE idempotency_keys (
      -- SHA-256 of principal, route and key
      request_id bytea PRIMARY KEY,
      -- SHA-256 of the request: another request under the same key is a conflict
      digest bytea NOT NULL,
      -- the answer; null until there is one
      status integer,
      headers jsonb,
      body bytea,
      -- the request that works on the answer, and until when other requests wait for it
      holder uuid NOT NULL,
      locked_until timestamptz NOT NULL,
      expires_at timestamptz NOT NULL
    );
    -- the sweep of expired keys
    CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);

    -- Jobs on their way to a queue outside PostgreSQL, written in the transaction that orders them. The queue inside
    -- PostgreSQL has a schema and migrations of its own.
    CREATE TABLE job_outbox (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind text NOT NULL,
      ids jsonb NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    );

    -- The words that the list filter q finds. ASCII punctuation separates them, so that a file name, a path or a URL is
    -- found by its parts, which PostgreSQL's parser would keep together. The ranges name code points, because character
    -- classes depend on the locale; translate() would take three times as long.
    CREATE FUNCTION search_words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT pg_catalog.to_tsvector('pg_catalog.simple'::pg_catalog.regconfig,
        pg_catalog.regexp_replace($1, '[!-/:-@[-\`{-~]+', ' ', 'g'))
    $$;
  `;
}

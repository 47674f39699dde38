import { SqlMigration } from './sql-migration';

/** Tables and functions that every area uses: idempotency keys, the job outbox, and the words for list search. */
export class Platform1795305600000 extends SqlMigration {
  protected readonly sql = `
    -- The first response to each request with an Idempotency-Key, kept for 24 hours.
    CREATE TABLE idempotency_keys (
      -- SHA-256 of principal, route and key
      request_id bytea PRIMARY KEY,
      -- SHA-256 of the request: a different request with the same key is a conflict
      digest bytea NOT NULL,
      -- the response; null until the first request ends
      status integer,
      headers jsonb,
      body bytea,
      -- the request that is being processed, and until when others wait for it
      holder uuid NOT NULL,
      locked_until timestamptz NOT NULL,
      expires_at timestamptz NOT NULL
    );
    -- the periodic deletion of expired keys
    CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);

    -- The outbox of jobs for a queue outside PostgreSQL, written in the transaction that enqueues them. The queue inside
    -- PostgreSQL has its own schema and migrations.
    CREATE TABLE job_outbox (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind text NOT NULL,
      ids jsonb NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    );

    -- The words that the list filter q matches. ASCII punctuation separates words, so that a file name, a path or a URL is
    -- found by its parts, which PostgreSQL's parser would keep together. The regular expression uses ranges of code points,
    -- because character classes depend on the locale; translate() would take three times as long.
    CREATE FUNCTION search_words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT pg_catalog.to_tsvector('pg_catalog.simple'::pg_catalog.regconfig,
        pg_catalog.regexp_replace($1, '[!-/:-@[-\`{-~]+', ' ', 'g'))
    $$;
  `;
}

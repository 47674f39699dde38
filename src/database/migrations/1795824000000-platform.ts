import { SqlMigration } from './sql-migration';

/** What every area uses: idempotency keys, the job outbox, rate limits, objects in storage, and functions for searches. */
export class Platform1795824000000 extends SqlMigration {
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
      -- the workspace of the response, in which a replay checks the caller's roles; null if it has none
      workspace_id text,
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

    -- Counters of rate limits, shared by API processes without Redis. Unlogged, because a counter matters only for a minute:
    -- a crash or a failover empties the table. Most writes change only the points, and the free space in each page then
    -- avoids new index entries.
    CREATE UNLOGGED TABLE rate_limits (
      -- the name of the limit, and the principal or address that is counted
      key text PRIMARY KEY,
      points integer NOT NULL,
      -- end of the window, in ms since 1970
      expire bigint NOT NULL
    ) WITH (fillfactor = 70);
    -- the periodic deletion of ended windows
    CREATE INDEX rate_limits_expire ON rate_limits (expire);

    -- Objects that are being written, or that nothing refers to. Deleted in the transaction that keeps the object.
    CREATE TABLE blob_writes (
      storage_key text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL,
      -- the last heartbeat of the writer; null for an object to delete
      heartbeat_at timestamptz
    );
    -- the periodic deletion of the remains of interrupted writes
    CREATE INDEX blob_writes_by_heartbeat ON blob_writes (heartbeat_at);

    -- Complete objects. Equal bytes are stored once per organization.
    CREATE TABLE blobs (
      org_id text COLLATE "C" NOT NULL,
      sha256 text COLLATE "C" NOT NULL,
      size_bytes bigint NOT NULL,
      -- the unsigned CRC-32 of the bytes, which is checked when all of them are read
      crc32 bigint NOT NULL,
      storage_key text COLLATE "C" NOT NULL,
      PRIMARY KEY (org_id, sha256)
    );

    -- The words that the list filter q matches. ASCII punctuation separates words, so that a file name, a path or a URL is
    -- found by its parts, which PostgreSQL's parser would keep together. The regular expression uses ranges of code points,
    -- because character classes depend on the locale; translate() would take three times as long.
    CREATE FUNCTION search_words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT pg_catalog.to_tsvector('pg_catalog.simple'::pg_catalog.regconfig,
        pg_catalog.regexp_replace($1, '[!-/:-@[-\`{-~]+', ' ', 'g'))
    $$;

    -- Returns free-form JSON for a search. Metadata may contain any number, but jsonb rejects numbers with more than 16,383
    -- digits after the decimal point. Numbers with exponents of four digits or more therefore count as 0, which they are as
    -- doubles. Such a text inside a string changes too, but in the same way in the value and in the filter.
    CREATE FUNCTION searchable_json(json) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT CASE WHEN $1::text ~ '[eE][-+]?[0-9]{4}'
        THEN regexp_replace($1::text, '([:,[])-?[0-9]+([.][0-9]+)?[eE][-+]?[0-9]{4,}', '\\10', 'g')::jsonb
        ELSE $1::jsonb END
    $$;
  `;
}

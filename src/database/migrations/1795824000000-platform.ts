import { sealedByColumn, SqlMigration } from './sql-migration';

/** Letters of scripts that do not separate words by blanks: Chinese, Japanese, Thai, Lao, Burmese and Khmer. */
const UNSPACED =
  '\\u0e01-\\u0e30\\u0e32\\u0e33\\u0e40-\\u0e46\\u0e4f-\\u0e5b\\u0e81-\\u0eb0\\u0eb2\\u0eb3\\u0ebd-\\u0ec7\\u0ecf-\\u0edf' +
  '\\u1000-\\u109f\\u1780-\\u17ff\\u2e80-\\u2fdf\\u3005-\\u3007\\u3041-\\u3096\\u309d-\\u309f\\u30a1-\\u30fa\\u30fc-\\u30ff' +
  '\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\uff66-\\uff9d\\U00020000-\\U0003ffff';

/** Marks that belong to the letter before. */
const MARKS =
  '\\u0e31\\u0e34-\\u0e3a\\u0e47-\\u0e4e\\u0eb1\\u0eb4-\\u0ebc\\u0ec8-\\u0ece\\u3099\\u309a\\uff9e\\uff9f';

const LETTER = `[${UNSPACED}][${MARKS}]*`;

/** Maximum number of such letters that a list's search covers, so that the words fit into a tsvector (1 MiB). */
const UNSPACED_MAX = 70_000;

/** Maximum number of words of a list's search, because each is searched for separately. Further ones are ignored. */
const SEARCHED_MAX = 64;

/** What every area uses: the installation and its processes, idempotency keys, the job outbox, rate limits, objects in storage, and functions for searches. */
export class Platform1795824000000 extends SqlMigration {
  protected readonly sql = `
    -- The keys of SECRETS_KEYS with which any stored secret may be sealed, by their ids. Deleted by rotate-secrets.
    CREATE TABLE secrets_keys (
      key_id text COLLATE "C" PRIMARY KEY
    );

    -- One row about this installation.
    CREATE TABLE installation (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      installation_id uuid NOT NULL DEFAULT gen_random_uuid(),
      -- the newest release that has migrated the database, and the oldest that can run on it
      schema_release text NOT NULL DEFAULT '0.0.0',
      oldest_release text NOT NULL DEFAULT '0.0.0',
      -- The secret from which the keys of hashes are derived. Null before the first start. All processes seal with the key that
      -- seals this secret.
      secret text,
      ${sealedByColumn('secret')},
      -- when the storage of files got its marker; null before
      storage_marked_at timestamptz
    );
    INSERT INTO installation DEFAULT VALUES;

    -- The processes that use the database. Each renews its row every few seconds.
    CREATE TABLE live_processes (
      process_id uuid PRIMARY KEY,
      kind text NOT NULL,
      release text NOT NULL,
      started_at timestamptz NOT NULL,
      seen_at timestamptz NOT NULL,
      host text NOT NULL DEFAULT '',
      pid integer NOT NULL DEFAULT 0,
      -- the ids of the keys that it holds, and of the one that it seals with
      secrets_keys text[] NOT NULL DEFAULT '{}',
      sealing_key text NOT NULL DEFAULT ''
    ) WITH (fillfactor = 50);

    -- The progress of the backfills of migrations.
    CREATE TABLE backfills (
      -- the step of the migration
      name text PRIMARY KEY,
      -- the key of the last row of the last batch, as texts
      position jsonb,
      rows_done bigint NOT NULL DEFAULT 0,
      rows_estimated bigint NOT NULL,
      started_at timestamptz NOT NULL DEFAULT now(),
      finished_at timestamptz
    ) WITH (fillfactor = 50);

    -- The first response to each request with an Idempotency-Key, kept for 24 hours. Written in the transaction of the
    -- request, so its primary key makes sure that a request takes effect once.
    CREATE TABLE idempotency_keys (
      -- SHA-256 of principal, route and key
      request_id bytea PRIMARY KEY,
      -- SHA-256 of the request: a different request with the same key is a conflict
      digest bytea NOT NULL,
      -- the organization of the caller; null for platform principals
      org_id text COLLATE "C",
      status integer NOT NULL,
      -- headers and body are null once data in them is erased
      headers jsonb,
      body bytea,
      -- the workspace of the response, in which a replay checks the caller's roles; null if it has none
      workspace_id text,
      expires_at timestamptz NOT NULL
    );
    -- the periodic deletion of expired keys
    CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);
    -- erasures
    CREATE INDEX idempotency_keys_by_org ON idempotency_keys (org_id, request_id) WHERE org_id IS NOT NULL;

    -- The requests with an Idempotency-Key that are being processed, so that a repeat does not start the same work. Unlogged,
    -- because a claim matters only for seconds, and a lost one does no harm.
    CREATE UNLOGGED TABLE idempotency_claims (
      request_id bytea PRIMARY KEY,
      digest bytea NOT NULL,
      -- the request that is being processed, and until when others wait for it
      holder uuid NOT NULL,
      locked_until timestamptz NOT NULL
    );

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
    -- the comparison with the storage, in the order of the keys
    CREATE UNIQUE INDEX blobs_by_key ON blobs (storage_key);

    -- The bytes of the distinct files, packages and skill contents of each organization. Changed as the last part of the
    -- transaction that stores them.
    CREATE TABLE storage_usage (
      org_id text COLLATE "C" PRIMARY KEY,
      bytes bigint NOT NULL
    ) WITH (fillfactor = 50);

    -- Returns a text that is not ASCII as to_tsvector needs it: without accents and compatible characters such as full-width letters, and with the letters of UNSPACED in
    -- overlapping pairs, so that each word of two letters is found wherever it stands. The last letter of a sequence also
    -- stands alone, so that every single letter is the beginning of a pair or alone. Covers unspaced_max such letters. The functions of pg_catalog are
    -- qualified, because the search path is empty while a dump is restored.
    CREATE FUNCTION search_text(given text, unspaced_max integer) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
    DECLARE
      plain text := given;
      unspaced text;
    BEGIN
      IF pg_catalog.octet_length(given) = pg_catalog.length(given) THEN RETURN given; END IF;
      plain := pg_catalog.normalize(pg_catalog.regexp_replace(
        pg_catalog.normalize(given, 'NFKD'), '[\\u0300-\\u036f]+', '', 'g'), 'NFKC');
      plain := pg_catalog.translate(plain, 'øØłŁđĐħĦı', 'oOlLdDhHi');
      plain := pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(plain, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');
      plain := pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(plain, 'ẞ', 'SS'), 'Æ', 'AE'), 'Œ', 'OE');
      IF plain !~ '[${UNSPACED}]' THEN RETURN plain; END IF;
      unspaced := pg_catalog.substr(pg_catalog.regexp_replace(plain, '[^${UNSPACED}${MARKS}]+', ' ', 'g'), 1, unspaced_max);
      RETURN pg_catalog.concat_ws(' ', pg_catalog.regexp_replace(plain, '(?:${LETTER})+', ' ', 'g'),
        pg_catalog.regexp_replace(unspaced, '(${LETTER})(${LETTER})', '\\1\\2 ', 'g'),
        pg_catalog.regexp_replace(pg_catalog.regexp_replace(unspaced, '(^| )(${LETTER})', '\\1\\2 ', 'g'),
          '(${LETTER})(${LETTER})', '\\1\\2 ', 'g'));
    END $$;

    -- The words that the list filter q matches. ASCII punctuation separates words, so that a file name, a path or a URL is
    -- found by its parts, which PostgreSQL's parser would keep together. The regular expression uses ranges of code points,
    -- because character classes depend on the locale; translate() would take three times as long.
    CREATE FUNCTION search_words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
      RETURN pg_catalog.to_tsvector('pg_catalog.simple'::pg_catalog.regconfig,
        pg_catalog.regexp_replace(search_text($1, ${UNSPACED_MAX}), '[!-/:-@[-\`{-~]+', ' ', 'g'));

    -- Returns the query for texts with all of these words, the last letters of which may be missing; null without words. A
    -- word that the parser splits must occur with its parts in order; one in a script without blanks, with all its pairs.
    CREATE FUNCTION search_prefixes(words text) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT pg_catalog.string_agg(query::text, ' & ')::pg_catalog.tsquery FROM (
        SELECT pg_catalog.to_tsquery('pg_catalog.simple'::pg_catalog.regconfig, '''' || part || ''':*') AS query
        FROM (
          SELECT DISTINCT pg_catalog.unnest(pg_catalog.string_to_array(
            pg_catalog.regexp_replace(search_text(words, ${UNSPACED_MAX}), '[!-/:-@[-\`{-~]+', ' ', 'g'), ' ')) AS part
        ) parts WHERE part <> '' LIMIT ${SEARCHED_MAX}
      ) searched WHERE pg_catalog.numnode(query) > 0
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

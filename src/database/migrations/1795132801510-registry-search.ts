import type { MigrationInterface, QueryRunner } from 'typeorm';

/** All of them are trusted: whoever may create objects in the database may create them, where the server has them. */
const EXTENSIONS = ['pg_trgm', 'btree_gin', 'cube'];

/**
 * What `POST /registry/v1/search` looks through: a document for each resource that is not archived, and what the
 * backends of embeddings make of it.
 */
export class RegistrySearch1795132801510 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const name of EXTENSIONS) await createExtension(runner, name);
    await runner.query(FUNCTIONS);
    await runner.query(TABLES);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE search_embeddings, search_backends, search_documents;
      DROP FUNCTION search_document_words(text, text, text, text);
      DROP FUNCTION search_query(text, text[], text);
      DROP FUNCTION search_spelling(text);
    `);
  }
}

async function createExtension(runner: QueryRunner, name: string): Promise<void> {
  try {
    await runner.query(`CREATE EXTENSION IF NOT EXISTS ${name}`);
  } catch (error) {
    throw new Error(
      `Search needs PostgreSQL's extension ${name}, which could not be created. Install the contrib package of the ` +
        `server, and have a role that may do so run: CREATE EXTENSION ${name};`,
      { cause: error },
    );
  }
}

/**
 * Each word is kept as it is, for its beginnings, and by its English stem. A mark of the organization stands before it,
 * so that the beginning of a word finds nothing of other organizations that would have to be passed over; another mark
 * stands before the words of names. A lexeme may have 2,046 bytes with its mark.
 *
 * `search_spelling` is a name in lower case, with one blank between its words: in place of punctuation, and where
 * `createInvoice` begins another. Names are held against it that are the query but for punctuation, or written alike.
 *
 * `search_query` makes the query for words that hold no punctuation: each by its beginning or its stem, joined by `&` or
 * `|`. Words without meaning (the, of) count only where there are no others. Null where nothing is left.
 */
const FUNCTIONS = `
  CREATE FUNCTION search_spelling(name text)
  RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT pg_catalog.btrim(pg_catalog.regexp_replace(pg_catalog.lower(pg_catalog.translate(
      pg_catalog.regexp_replace(name, '([a-z0-9])([A-Z])', '\\1 \\2', 'g'),
      $p$!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~$p$, pg_catalog.repeat(' ', 32))), '\\s+', ' ', 'g'))
  $$;
  CREATE FUNCTION search_document_words(mark text, name text, description text, body text)
  RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    WITH given AS MATERIALIZED (
      SELECT pg_catalog.translate(text, $p$!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~$p$, pg_catalog.repeat(' ', 32)) AS text, weight
      FROM (VALUES
        (name || ' ' || pg_catalog.regexp_replace(name, '([a-z0-9])([A-Z])', '\\1 \\2', 'g'), 'A'::"char"),
        (description, 'B'), (body, 'C')) of_document (text, weight)
    ), read AS MATERIALIZED (
      SELECT weight, pg_catalog.setweight(
        pg_catalog.to_tsvector('pg_catalog.simple'::pg_catalog.regconfig, text)
          OPERATOR(pg_catalog.||) pg_catalog.to_tsvector('pg_catalog.english'::pg_catalog.regconfig, text), weight) AS words
      FROM given WHERE text IS NOT NULL
    ), short AS MATERIALIZED (
      SELECT weight, ' ' || (CASE
        WHEN EXISTS (SELECT FROM pg_catalog.unnest(pg_catalog.tsvector_to_array(words)) lexeme
          WHERE pg_catalog.octet_length(lexeme) > 2000)
        THEN pg_catalog.ts_delete(words, ARRAY(
          SELECT lexeme FROM pg_catalog.unnest(pg_catalog.tsvector_to_array(words)) lexeme
          WHERE pg_catalog.octet_length(lexeme) > 2000))
        ELSE words END)::text AS words
      FROM read
    )
    SELECT coalesce(pg_catalog.string_agg(marked, ''), '')::pg_catalog.tsvector FROM (
      SELECT pg_catalog.replace(words, ' ''', ' ''' || mark) FROM short WHERE words <> ' '
      UNION ALL
      SELECT pg_catalog.replace(words, ' ''', ' ''!' || mark) FROM short WHERE words <> ' ' AND weight = 'A'
    ) both_marks (marked)
  $$;
  CREATE FUNCTION search_query(mark text, words text[], joined text)
  RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    WITH read AS (
      SELECT place,
        pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple'::pg_catalog.regconfig, word)) AS plain,
        pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.english'::pg_catalog.regconfig, word)) AS stems
      FROM pg_catalog.unnest(words) WITH ORDINALITY given (word, place)
    ), meant AS (
      SELECT place, plain, stems, pg_catalog.bool_or(stems <> '{}') OVER () AS any_means FROM read WHERE plain <> '{}'
    )
    SELECT pg_catalog.string_agg(
      '((' || (SELECT pg_catalog.string_agg('''' || mark || lexeme || ''':*', ' & ') FROM pg_catalog.unnest(plain) lexeme) || ')'
        || coalesce(' | (' || (SELECT pg_catalog.string_agg('''' || mark || lexeme || '''', ' & ')
          FROM pg_catalog.unnest(stems) lexeme) || ')', '') || ')',
      ' ' || joined || ' ' ORDER BY place)::pg_catalog.tsquery
    FROM meant WHERE stems <> '{}' OR NOT any_means
  $$;
`;

const TABLES = `
  CREATE TABLE search_documents (
    document_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    org_id text COLLATE "C" NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    -- see search_spelling
    spelling text NOT NULL GENERATED ALWAYS AS (search_spelling(name)) STORED,
    description text,
    body text NOT NULL,
    -- raised when the texts change: what was made of earlier ones is told by it
    revision integer NOT NULL DEFAULT 1,
    updated_at timestamptz NOT NULL,
    -- see search_document_words
    words tsvector NOT NULL
  );
  CREATE UNIQUE INDEX search_documents_of_resources ON search_documents (resource_type, resource_id);
  CREATE INDEX search_documents_by_words ON search_documents USING gin (workspace_id, words);
  CREATE INDEX search_documents_by_names ON search_documents USING gin (org_id, workspace_id, spelling gin_trgm_ops);
  CREATE INDEX search_documents_by_update ON search_documents (org_id, updated_at);

  CREATE TABLE search_backends (
    backend_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- what makes its vectors comparable: two of the same identity give the same ones
    identity text COLLATE "C" NOT NULL CONSTRAINT search_backends_identity UNIQUE,
    dimensions integer NOT NULL,
    -- searches go by the one that is active
    is_active boolean NOT NULL,
    -- when a worker that is configured with it last started: the last is what all documents are to be embedded by
    wanted_at timestamptz NOT NULL,
    -- documents up to this one have their rows in search_embeddings
    queued_to bigint NOT NULL DEFAULT 0
  );
  CREATE UNIQUE INDEX search_backends_active ON search_backends (is_active) WHERE is_active;
  INSERT INTO search_backends (identity, dimensions, is_active, wanted_at, queued_to)
    VALUES ('builtin-2:256', 256, true, '-infinity', 9223372036854775807);

  CREATE TABLE search_embeddings (
    document_id bigint NOT NULL REFERENCES search_documents ON DELETE CASCADE,
    backend_id integer NOT NULL REFERENCES search_backends,
    org_id text COLLATE "C" NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    -- of length 1, in parts of 100 dimensions; that of earlier texts while that of the present ones is pending
    parts cube[],
    revision integer NOT NULL,
    is_pending boolean NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    -- of what is pending: when it is to be tried next
    due_at timestamptz NOT NULL,
    PRIMARY KEY (document_id, backend_id)
  ) WITH (toast_tuple_target = 8160);
  ALTER TABLE search_embeddings ALTER parts SET STORAGE EXTERNAL;
  CREATE INDEX search_embeddings_of_organizations ON search_embeddings (org_id, backend_id);
  CREATE INDEX search_embeddings_of_workspaces ON search_embeddings (workspace_id, backend_id);
  CREATE INDEX search_embeddings_of_backends ON search_embeddings (backend_id, document_id);
  CREATE INDEX search_embeddings_pending ON search_embeddings (backend_id, due_at) WHERE is_pending;
`;

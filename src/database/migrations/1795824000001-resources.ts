import { StartError } from '#platform/process';
import { SqlMigration, type SqlRunner } from './sql-migration';

/** All three are trusted: any role with CREATE on the database may create them, if they are installed on the server. */
const EXTENSIONS = ['pg_trgm', 'btree_gin', 'cube'];

/** The last two arguments of translate(): ASCII punctuation, and as many blanks. */
const PUNCTUATION_TO_BLANKS = `$p$!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~$p$, pg_catalog.repeat(' ', 32)`;

/** Maximum number of letters of scripts without blanks that are indexed of each text, see `search_text`. */
const UNSPACED_MAX = 16_000;

/** Maximum number of lexemes of a word in a query. Only words in scripts without blanks have several, see `search_text`. */
const LEXEMES_MAX = 16;

/** Tables that all resources share: the audit log, and the search index of `POST /registry/v1/search`. */
export class Resources1795824000001 extends SqlMigration {
  override async up(runner: SqlRunner): Promise<void> {
    for (const name of EXTENSIONS) await createExtension(runner, name);
    await super.up(runner);
  }

  protected readonly sql = `
    -- Every change of a resource, with its author and time. Each entry is written in the transaction of the change.
    CREATE TABLE audit_log (
      audit_entry_id text COLLATE "C" PRIMARY KEY,
      -- empty for actions of platform principals outside any organization
      org_id text COLLATE "C" NOT NULL,
      -- null for actions on the whole organization
      workspace_id text COLLATE "C",
      principal_id text COLLATE "C" NOT NULL,
      action text COLLATE "C" NOT NULL,
      resource_type text COLLATE "C" NOT NULL,
      resource_id text COLLATE "C" NOT NULL,
      -- [{"member", "before"?, "after"?}]; without the values of members that may be secret
      changes jsonb NOT NULL,
      request_id text,
      created_at timestamptz NOT NULL
    );
    -- GET /registry/v1/audit-log: the whole list, and its filters workspace_id, principal_id, resource_id, resource_type and
    -- action. Ids sort by time, so these indexes also serve since and until.
    CREATE INDEX audit_log_by_creation ON audit_log (org_id, audit_entry_id);
    CREATE INDEX audit_log_by_workspace ON audit_log (workspace_id, audit_entry_id);
    CREATE INDEX audit_log_by_principal ON audit_log (org_id, principal_id, audit_entry_id);
    CREATE INDEX audit_log_by_resource ON audit_log (org_id, resource_id, audit_entry_id);
    CREATE INDEX audit_log_by_type ON audit_log (org_id, resource_type, audit_entry_id);
    CREATE INDEX audit_log_by_action ON audit_log (org_id, action, audit_entry_id);

    -- The search functions qualify every function of pg_catalog, because the search path is empty while a dump is restored,
    -- and search_spelling runs then to compute its generated column.

    -- Normalizes a text to Unicode NFKC, in which compatible characters, such as full-width letters, are the same.
    CREATE FUNCTION search_plain(given text)
    RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT CASE WHEN given IS NFKC NORMALIZED THEN given ELSE pg_catalog.normalize(given, 'NFKC') END
    $$;

    -- Normalizes a name for typo-tolerant search: lower case, with single blanks instead of punctuation and between the
    -- words of a name such as createInvoice.
    CREATE FUNCTION search_spelling(name text)
    RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT pg_catalog.btrim(pg_catalog.regexp_replace(pg_catalog.lower(pg_catalog.translate(
        pg_catalog.regexp_replace(pg_catalog.normalize(name, 'NFKC'), '([a-z0-9])([A-Z])', '\\1 \\2', 'g'),
        ${PUNCTUATION_TO_BLANKS})), '\\s+', ' ', 'g'))
    $$;

    -- Returns the words of a document. Each word is stored unchanged, for prefix queries, and as its English stem. The
    -- prefix of the organization precedes each word, so that a query never matches words of other organizations. Words of the
    -- name are stored a second time, after "!" and the prefix. Words over 2,000 bytes are omitted, because a lexeme with its
    -- prefix has at most 2,046 bytes. Texts are truncated after normalization, which may expand one character into 18.
    CREATE FUNCTION search_document_words(prefix text, name text, description text, body text)
    RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      WITH given AS MATERIALIZED (
        SELECT pg_catalog.translate(text, ${PUNCTUATION_TO_BLANKS}) AS text, weight
        FROM (VALUES
          (search_text(pg_catalog.normalize(name, 'NFKC'), ${UNSPACED_MAX}) || ' '
            || pg_catalog.regexp_replace(search_text(pg_catalog.normalize(name, 'NFKC'), ${UNSPACED_MAX}), '([a-z0-9])([A-Z])', '\\1 \\2', 'g'), 'A'::"char"),
          (search_text(pg_catalog.substr(pg_catalog.normalize(description, 'NFKC'), 1, 16384), ${UNSPACED_MAX}), 'B'),
          (search_text(pg_catalog.substr(CASE WHEN body IS NFKC NORMALIZED THEN body ELSE pg_catalog.normalize(body, 'NFKC') END, 1, 65536), ${UNSPACED_MAX}), 'C')
        ) of_document (text, weight)
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
      SELECT coalesce(pg_catalog.string_agg(prefixed, ''), '')::pg_catalog.tsvector FROM (
        SELECT pg_catalog.replace(words, ' ''', ' ''' || prefix) FROM short WHERE words <> ' '
        UNION ALL
        SELECT pg_catalog.replace(words, ' ''', ' ''!' || prefix) FROM short WHERE words <> ' ' AND weight = 'A'
      ) both_prefixes (prefixed)
    $$;

    -- Returns the query for terms that are joined by & or |; null if no word remains. A term is a word, or a word followed
    -- by its parts, separated by blanks; it then also matches if all parts do. A word matches by prefix or by stem; a stem
    -- that equals the word is omitted, because ts_rank would count only one of the two. Stop words are used only if there
    -- are no other words. Of a word in a script without blanks, at most ${LEXEMES_MAX} pairs of letters are searched for. weights restricts the query to weights of setweight; by default all match.
    CREATE FUNCTION search_query(prefix text, terms text[], joined text, weights text DEFAULT '')
    RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      WITH read AS (
        SELECT place, at,
          (pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple'::pg_catalog.regconfig, text)))[:${LEXEMES_MAX}] AS plain,
          (pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.english'::pg_catalog.regconfig, text)))[:${LEXEMES_MAX}] AS stems
        FROM pg_catalog.unnest(terms) WITH ORDINALITY given (term, place),
          LATERAL pg_catalog.unnest(pg_catalog.string_to_array(term, ' ')) WITH ORDINALITY split (word, at),
          LATERAL search_text(word, ${UNSPACED_MAX}) AS text
      ), written AS (
        SELECT place, at, stems <> '{}' AS has_meaning,
          '((' || (SELECT pg_catalog.string_agg('''' || prefix || lexeme || ''':*' || weights, ' & ')
              FROM pg_catalog.unnest(plain) lexeme) || ')'
            || CASE WHEN stems = '{}' OR stems = plain THEN ''
              ELSE ' | (' || (SELECT pg_catalog.string_agg('''' || prefix || lexeme || '''' || coalesce(':' || nullif(weights, ''), ''), ' & ')
                FROM pg_catalog.unnest(stems) lexeme) || ')' END || ')' AS query
        FROM read WHERE plain <> '{}'
      ), by_term AS (
        SELECT place, pg_catalog.bool_or(has_meaning) AS has_meaning,
          pg_catalog.bool_or(pg_catalog.bool_or(has_meaning)) OVER () AS any_has_meaning,
          '(' || pg_catalog.concat_ws(' | ', pg_catalog.string_agg(query, '') FILTER (WHERE at = 1),
            '(' || pg_catalog.string_agg(query, ' & ' ORDER BY at) FILTER (WHERE at > 1) || ')') || ')' AS query
        FROM written GROUP BY place
      )
      SELECT pg_catalog.string_agg(query, ' ' || joined || ' ' ORDER BY place)::pg_catalog.tsquery
      FROM by_term WHERE has_meaning OR NOT any_has_meaning
    $$;

    -- One document for each resource that is not archived, written in the transaction of the resource.
    CREATE TABLE search_documents (
      document_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      resource_type text COLLATE "C" NOT NULL,
      resource_id text COLLATE "C" NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      name text NOT NULL,
      spelling text NOT NULL GENERATED ALWAYS AS (search_spelling(name)) STORED,
      description text,
      body text NOT NULL,
      -- incremented when a text changes, to detect embeddings of earlier texts
      revision integer NOT NULL DEFAULT 1,
      updated_at timestamptz NOT NULL,
      -- computed by search_document_words
      words tsvector NOT NULL
    );
    -- upserts and deletes by resource
    CREATE UNIQUE INDEX search_documents_of_resources ON search_documents (resource_type, resource_id);
    -- keyword search
    CREATE INDEX search_documents_by_words ON search_documents USING gin (workspace_id, words);
    -- Both of these indexes start with the organization. Without statistics, the planner would use them for a search by
    -- words, and read all documents of the organization. They therefore have a condition that all rows meet, and that only
    -- the statements for these indexes name.
    -- names with typos
    CREATE INDEX search_documents_by_names ON search_documents USING gin (org_id, workspace_id, spelling gin_trgm_ops)
      WHERE spelling >= '';
    -- the search filters updated_after and updated_before of searches by vector
    CREATE INDEX search_documents_by_update ON search_documents (org_id, updated_at) WHERE revision > 0;

    -- The embedder that all workers use: the one of the worker that started last.
    CREATE TABLE search_embedder (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      identity text COLLATE "C" NOT NULL
    );

    -- The embedding of each document. If pgvector is installed, workers add an HNSW index.
    CREATE TABLE search_embeddings (
      document_id bigint PRIMARY KEY REFERENCES search_documents ON DELETE CASCADE,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      resource_type text COLLATE "C" NOT NULL,
      resource_id text COLLATE "C" NOT NULL,
      -- the embedded revision of the document
      revision integer NOT NULL,
      -- the embedder that computed parts; vectors of different embedders cannot be compared
      identity text COLLATE "C",
      -- a unit vector in parts of 100 dimensions, the most a cube has; null for a text without words
      parts cube[],
      -- whether identity and parts are outdated: from earlier texts or from another embedder
      is_pending boolean NOT NULL,
      attempts integer NOT NULL DEFAULT 0,
      -- time of the next attempt, while pending
      due_at timestamptz NOT NULL
    ) WITH (toast_tuple_target = 8160);
    -- Uncompressed, so that a search decompresses no vectors. PostgreSQL 15 cannot set this in CREATE TABLE.
    ALTER TABLE search_embeddings ALTER parts SET STORAGE EXTERNAL;
    -- exact vector search in an organization, and in a workspace
    CREATE INDEX search_embeddings_of_organizations ON search_embeddings (org_id, identity);
    CREATE INDEX search_embeddings_of_workspaces ON search_embeddings (workspace_id, identity);
    -- the embeddings of other embedders, and the dimensions of one embedder
    CREATE INDEX search_embeddings_of_identities ON search_embeddings (identity);
    -- workers: the embeddings that are due
    CREATE INDEX search_embeddings_pending ON search_embeddings (due_at) WHERE is_pending;

    -- Erasures, and their receipts once they have succeeded. They hold a keyed hash of the subject's id.
    CREATE TABLE erasures (
      erasure_id text COLLATE "C" PRIMARY KEY,
      -- null once the organization itself is erased
      org_id text COLLATE "C",
      -- null for all workspaces or an organization, and once the workspace itself is erased
      workspace_id text COLLATE "C",
      subject_kind text NOT NULL CONSTRAINT erasures_subject
        CHECK (subject_kind IN ('end_user', 'session', 'workspace', 'org', 'dataset', 'experiment', 'traces')),
      -- HMAC-SHA-256 of organization and id, in hexadecimal
      subject_hash text COLLATE "C" NOT NULL,
      -- the id, or what selects the subject; null once the erasure has succeeded
      target json,
      dry_run boolean NOT NULL,
      erasure_status text NOT NULL CONSTRAINT erasures_status
        CHECK (erasure_status IN ('queued', 'running', 'succeeded')),
      -- {"traces": 12, …}
      counts jsonb NOT NULL,
      -- the place where the next worker continues
      progress jsonb,
      last_error text,
      -- the worker that runs it
      lease_token uuid,
      lease_expires_at timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      started_at timestamptz,
      finished_at timestamptz
    );
    -- GET /registry/v1/erasures: the whole list, and its filters workspace_id, subject_id, subject_kind and erasure_status
    CREATE INDEX erasures_by_creation ON erasures (org_id, erasure_id);
    CREATE INDEX erasures_by_workspace ON erasures (workspace_id, erasure_id);
    CREATE INDEX erasures_by_subject ON erasures (org_id, subject_hash, erasure_id);
    CREATE INDEX erasures_by_kind ON erasures (org_id, subject_kind, erasure_id);
    CREATE INDEX erasures_by_status ON erasures (org_id, erasure_status, erasure_id);
    -- one erasure of a subject in a workspace at a time
    CREATE UNIQUE INDEX erasures_open ON erasures (subject_hash, subject_kind, (coalesce(workspace_id, ''))) WHERE erasure_status <> 'succeeded' AND NOT dry_run;
    -- workers: erasures without a worker
    CREATE INDEX erasures_waiting ON erasures (erasure_id) WHERE erasure_status <> 'succeeded';

    -- The ids of the data that an erasure erases, until it has succeeded.
    CREATE TABLE erasure_items (
      erasure_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      item_kind text COLLATE "C" NOT NULL,
      item_id text COLLATE "C" NOT NULL,
      PRIMARY KEY (erasure_id, workspace_id, item_kind, item_id)
    );
  `;
}

async function createExtension(runner: SqlRunner, name: string): Promise<void> {
  try {
    await runner.query(`CREATE EXTENSION IF NOT EXISTS ${name}`);
  } catch (error) {
    throw new StartError(
      `The PostgreSQL extension ${name}, which search needs, could not be created (${(error as Error).message}); if necessary, ` +
        `install the server's contrib package, and let an administrator run: CREATE EXTENSION ${name};`,
      { cause: error },
    );
  }
}

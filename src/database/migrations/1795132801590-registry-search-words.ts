import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How words are read from documents and from queries, once more: whichever of the forms of Unicode they are written in
 * (`Café`), as `create` `Ticket` where a query has `createTicket`, and so that beginnings of words are ranked by where
 * they stand. What documents have in other forms is written anew by the next migration.
 */
export class RegistrySearchWords1795132801590 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(PLAIN + SPELLING + DOCUMENT_WORDS + QUERY);
    await runner.query(
      'CREATE INDEX workspaces_archived ON workspaces (org_id, workspace_id) WHERE archived_at IS NOT NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX workspaces_archived');
    await runner.query(EARLIER);
    await runner.query('DROP FUNCTION search_plain(text)');
  }
}

/** A text in the form of Unicode (NFKC) in which what looks alike, or stands for the same, is the same. */
const PLAIN = `
  CREATE FUNCTION search_plain(given text)
  RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN given IS NFKC NORMALIZED THEN given ELSE pg_catalog.normalize(given, 'NFKC') END
  $$;
`;

/** These name functions of `pg_catalog` alone: no others are found while a dump is restored, and spellings reckoned. */
const SPELLING = `
  CREATE OR REPLACE FUNCTION search_spelling(name text)
  RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT pg_catalog.btrim(pg_catalog.regexp_replace(pg_catalog.lower(pg_catalog.translate(
      pg_catalog.regexp_replace(pg_catalog.normalize(name, 'NFKC'), '([a-z0-9])([A-Z])', '\\1 \\2', 'g'),
      $p$!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~$p$, pg_catalog.repeat(' ', 32))), '\\s+', ' ', 'g'))
  $$;
`;

/** Texts are cut once more, since some characters are eighteen in this form: words of one document have an end. */
const DOCUMENT_WORDS = `
  CREATE OR REPLACE FUNCTION search_document_words(mark text, name text, description text, body text)
  RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    WITH given AS MATERIALIZED (
      SELECT pg_catalog.translate(text, $p$!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~$p$, pg_catalog.repeat(' ', 32)) AS text, weight
      FROM (VALUES
        (pg_catalog.normalize(name, 'NFKC') || ' ' || pg_catalog.regexp_replace(pg_catalog.normalize(name, 'NFKC'), '([a-z0-9])([A-Z])', '\\1 \\2', 'g'), 'A'::"char"),
        (pg_catalog.substr(pg_catalog.normalize(description, 'NFKC'), 1, 16384), 'B'),
        (pg_catalog.substr(CASE WHEN body IS NFKC NORMALIZED THEN body ELSE pg_catalog.normalize(body, 'NFKC') END, 1, 65536), 'C')) of_document (text, weight)
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
`;

/**
 * Each term is a word, or a word and its parts with blanks between them: then it is found by all parts as well. A stem
 * that is the word itself stands in the query once, as a beginning: of two, `ts_rank` sees but one, maybe that which is
 * no beginning. `weights` are those of `setweight` that count; all unless given.
 */
const QUERY = `
  DROP FUNCTION search_query(text, text[], text);
  CREATE FUNCTION search_query(mark text, terms text[], joined text, weights text DEFAULT '')
  RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    WITH read AS (
      SELECT place, at,
        pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple'::pg_catalog.regconfig, word)) AS plain,
        pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.english'::pg_catalog.regconfig, word)) AS stems
      FROM pg_catalog.unnest(terms) WITH ORDINALITY given (term, place),
        LATERAL pg_catalog.unnest(pg_catalog.string_to_array(term, ' ')) WITH ORDINALITY split (word, at)
    ), written AS (
      SELECT place, at, stems <> '{}' AS means,
        '((' || (SELECT pg_catalog.string_agg('''' || mark || lexeme || ''':*' || weights, ' & ')
            FROM pg_catalog.unnest(plain) lexeme) || ')'
          || CASE WHEN stems = '{}' OR stems = plain THEN ''
            ELSE ' | (' || (SELECT pg_catalog.string_agg('''' || mark || lexeme || '''' || coalesce(':' || nullif(weights, ''), ''), ' & ')
              FROM pg_catalog.unnest(stems) lexeme) || ')' END || ')' AS query
      FROM read WHERE plain <> '{}'
    ), meant AS (
      SELECT place, pg_catalog.bool_or(means) AS means, pg_catalog.bool_or(pg_catalog.bool_or(means)) OVER () AS any_means,
        '(' || pg_catalog.concat_ws(' | ', pg_catalog.string_agg(query, '') FILTER (WHERE at = 1),
          '(' || pg_catalog.string_agg(query, ' & ' ORDER BY at) FILTER (WHERE at > 1) || ')') || ')' AS query
      FROM written GROUP BY place
    )
    SELECT pg_catalog.string_agg(query, ' ' || joined || ' ' ORDER BY place)::pg_catalog.tsquery
    FROM meant WHERE means OR NOT any_means
  $$;
`;

/** As they were. */
const EARLIER = `
  DROP FUNCTION search_query(text, text[], text, text);
  CREATE OR REPLACE FUNCTION search_spelling(name text)
  RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT pg_catalog.btrim(pg_catalog.regexp_replace(pg_catalog.lower(pg_catalog.translate(
      pg_catalog.regexp_replace(name, '([a-z0-9])([A-Z])', '\\1 \\2', 'g'),
      $p$!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~$p$, pg_catalog.repeat(' ', 32))), '\\s+', ' ', 'g'))
  $$;
  CREATE OR REPLACE FUNCTION search_document_words(mark text, name text, description text, body text)
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

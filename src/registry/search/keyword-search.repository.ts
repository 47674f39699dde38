import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { join, raw, type Sql, sql, type SqlExecutor } from '#platform/db';
import { wordPrefixOf } from '../../resources';
import { letterSwaps, type NormalizedQuery, type QueryWord, termOf } from './normalized-query';
import type { RankedDocument, Ranking } from './ranking';
import { documentsBy, type SearchReach } from './search-reach.repository';

/** Maximum number of ranked documents that contain all words. Documents whose names contain all words come first. */
export const RANKED_MAX = 5_000;

/** If fewer documents match, documents with similarly spelt names are added, and then documents with some of the words. */
const FEW = 10;

/** Maximum number of ranked documents with similarly spelt names, the most similar first. */
const SIMILAR_MAX = 500;

/** Limits of the search for similar names: shorter words resemble too many others, and longer queries are rarely all misspelt. */
const SIMILAR_LETTERS_MIN = 4;
const SIMILAR_WORDS_MAX = 8;

/** Minimum share of a word's trigrams in a similar name: `word_similarity` of pg_trgm. */
const SIMILARITY_MIN = 0.4;

/** The similarity of a word with two neighbouring letters swapped. Its trigrams alone hardly match. */
const SWAPPED_SIMILARITY = 0.6;

/** Maximum number of ranked documents with some of the words. Each condition of `partialMatches` reads as many. */
export const SOME_MAX = 200;

/** With this many words, documents that lack only one of them come first. Each possible missing word is a separate condition. */
const ALL_BUT_ONE_WORDS = { min: 3, max: 8 };

/** The score of a name that equals the query apart from punctuation. */
const SPELLING_SCORE = 0.99;

/** The lowest score, and the parts that can be added to it, by the place of the matching words. */
const IN_NAME = { from: 0.8, begins: 0.1, share: 0.06, rank: 0.02 };
const IN_DESCRIPTION = { from: 0.65, rank: 0.14 };
const IN_TEXT = { from: 0.5, rank: 0.14 };
const SIMILAR = { from: 0.25, similarity: 0.25 };
const SOME_WORDS = 0.25;

const NOTHING = sql`SELECT NULL::bigint AS document_id, NULL::text AS resource_id, NULL::float8 AS score WHERE false`;

interface Row extends RankedDocument {
  matching: number;
  similar: number;
  partial: number;
}

/** Values that all parts of a search statement use. */
interface Search {
  /** Returns the FROM item for the documents within reach that a condition selects. See `documentsBy`. */
  documents: (condition: Sql) => Sql;
  /** The organization's prefix for words in the index. Words of names are indexed again with `!` before the prefix. */
  prefix: string;
  /** Matches documents with all words. */
  all: Sql;
  /** The words without stop words. */
  words: readonly QueryWord[];
}

/** Finds documents by their words. */
@Injectable()
export class KeywordSearchRepository {
  /**
   * Returns the best hits in order of score, then id. Documents with all words score at least 0.5, similarly spelt names more
   * than 0.25, and documents with some of the words less.
   *
   * @param on a transaction, because the search changes settings
   */
  async rank(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    query: NormalizedQuery,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<Ranking> {
    if (query.words.length === 0) return { documents: [], total: 0 };
    const prefix = wordPrefixOf(scope.orgId);
    const search: Search = {
      documents: (condition) => documentsBy(scope, reach, condition),
      prefix,
      all: queryOf(prefix, query.words.map(termOf), '&'),
      words: await this.withoutStopWords(on, query.words),
    };
    const rows = await on.query<Row>(
      sql`${rankedHits(search, query)} SELECT counted.*, document_id, resource_id, score
        FROM (SELECT (SELECT count(*) FROM hits) AS matching, (SELECT count(*) FROM similar_names) AS similar,
          (SELECT count(*) FROM partial_matches) AS partial) counted
        LEFT JOIN LATERAL (
          SELECT document_id, resource_id, score FROM hits ORDER BY score DESC, resource_id
          LIMIT ${limit} OFFSET ${offset}
        ) page ON true ORDER BY score DESC, resource_id`,
    );
    const { matching, similar, partial } = rows[0] ?? { matching: 0, similar: 0, partial: 0 };
    return {
      documents: rows
        .filter((row) => row.document_id !== null)
        .map(({ document_id, resource_id, score }) => ({ document_id, resource_id, score })),
      total: matching > RANKED_MAX || similar > SIMILAR_MAX || partial > SOME_MAX ? null : matching,
    };
  }

  /** Leaves out stop words, unless there are no other words. Also sets the minimum similarity of names. */
  private async withoutStopWords(
    on: SqlExecutor,
    words: readonly QueryWord[],
  ): Promise<readonly QueryWord[]> {
    const [row] = await on.query<{ has_meaning: boolean[] }>(
      sql`SELECT set_config('pg_trgm.word_similarity_threshold', ${String(SIMILARITY_MIN)}, true),
        ARRAY(SELECT to_tsvector('pg_catalog.english', word) <> ''
          FROM unnest(${words.map(termOf)}::text[]) WITH ORDINALITY t (word, place) ORDER BY place) AS has_meaning`,
    );
    const remaining = words.filter((_, at) => row!.has_meaning[at]);
    return remaining.length > 0 ? remaining : words;
  }
}

const queryOf = (prefix: string, terms: readonly string[], joined: '&' | '|', weights = ''): Sql =>
  sql`search_query(${prefix}, ${terms}::text[], ${joined}, ${weights})`;

/** Returns a constant as SQL text, because PostgreSQL would have to guess the type of a parameter. */
const number = (value: number): Sql => raw(String(value));

/** Returns CTEs. The last one, `hits`, has all hits, or `RANKED_MAX` + 1 if there are more. */
function rankedHits(search: Search, { text, words }: NormalizedQuery): Sql {
  const { documents, prefix, all } = search;
  const terms = words.map(termOf);
  const inName = queryOf(`!${prefix}`, terms, '&');
  const spelling = sql`search_spelling(${text})`;
  const rank = sql`ts_rank(words, ${queryOf(prefix, terms, '|')}, 1|32)::float8`;
  const scoreOr = (other: Sql): Sql => sql`CASE
    WHEN lower(search_plain(name)) = lower(${text}::text) THEN 1
    WHEN spelling = ${spelling} THEN ${number(SPELLING_SCORE)} ELSE ${other} END AS score`;
  const nameScore = sql`${number(IN_NAME.from)} + ${number(IN_NAME.rank)} * ${rank}
    + ${number(IN_NAME.begins)} * starts_with(spelling, ${spelling})::integer
    + ${number(IN_NAME.share)} * least(1, length(${spelling})::float8 / greatest(1, length(spelling)))`;
  const textScore = sql`CASE WHEN words @@ ${queryOf(prefix, terms, '&', 'AB')}
    THEN ${number(IN_DESCRIPTION.from)} + ${number(IN_DESCRIPTION.rank)} * ${rank}
    ELSE ${number(IN_TEXT.from)} + ${number(IN_TEXT.rank)} * ${rank} END`;
  const limit = number(RANKED_MAX + 1);
  return sql`WITH name_matches AS MATERIALIZED (
      SELECT document_id, resource_id, ${scoreOr(nameScore)} FROM ${documents(sql`words @@ ${inName}`)} d LIMIT ${limit}
    ), text_matches AS MATERIALIZED (
      SELECT document_id, resource_id, ${scoreOr(textScore)} FROM ${documents(sql`words @@ ${all}`)} d
      WHERE NOT words @@ ${inName}
      LIMIT (SELECT ${limit} - count(*) FROM name_matches)
    ), full_matches AS (TABLE name_matches UNION ALL TABLE text_matches),
    similar_names AS MATERIALIZED (${similarNames(search)}),
    partial_matches AS MATERIALIZED (${partialMatches(search)}),
    hits AS MATERIALIZED (
      TABLE full_matches
      UNION ALL (SELECT * FROM similar_names ORDER BY score DESC, resource_id LIMIT ${number(SIMILAR_MAX)})
      UNION ALL (SELECT * FROM partial_matches ORDER BY score DESC, resource_id LIMIT ${number(SOME_MAX)})
    )`;
}

/**
 * Selects documents that do not match because their names spell some of the words differently. At least one long word of such
 * a name is spelt differently, so there is one subquery per long word, and each uses an index. With an OR of all conditions, the
 * planner might not use the indexes.
 */
function similarNames({ documents, prefix, all, words }: Search): Sql {
  const parts = words.flatMap(({ word, parts }) => (parts.length > 0 ? parts : [word]));
  if (!parts.some(isLong) || parts.length > SIMILAR_WORDS_MAX) return NOTHING;
  const spelt = parts.map((word) => spellingOf(prefix, word));
  const sum = join(
    spelt.map(({ similarity }) => similarity),
    ' + ',
  );
  // The divisor keeps the score below the score of a match, even if every word is identical.
  const score = sql`${number(SIMILAR.from)} + ${number(SIMILAR.similarity)} * (${sum})::float8 / ${number(parts.length + 0.5)}`;
  const subqueries = spelt.flatMap(({ differences }, at) => {
    const others = spelt.filter((_, other) => other !== at).map(({ condition }) => condition);
    return differences.map(
      (difference) => sql`SELECT document_id, resource_id, ${score} AS score
        FROM ${documents(join([difference, ...others], ' AND '))} d
        WHERE NOT words @@ ${all} AND (SELECT count(*) FROM full_matches) < ${number(FEW)}`,
    );
  });
  return sql`SELECT * FROM (${join(subqueries, ' UNION ')}) hit
    ORDER BY score DESC, resource_id LIMIT ${number(SIMILAR_MAX + 1)}`;
}

const isLong = (word: string): boolean => Array.from(word).length >= SIMILAR_LETTERS_MIN;

/** A word, and the conditions for a name that spells it similarly. */
interface Spelling {
  /** Matches documents with the word, or with a similar word in their name. */
  condition: Sql;
  /** The conditions for a name with a similar word. Each uses an index. Empty for a short word. */
  differences: readonly Sql[];
  similarity: Sql;
}

function spellingOf(prefix: string, word: string): Spelling {
  const isPresent = sql`words @@ ${queryOf(prefix, [word], '&')}`;
  const similarity = sql`word_similarity(${word}, spelling)`;
  if (!isLong(word)) return { condition: isPresent, differences: [], similarity };
  // the condition of search_documents_by_names comes first
  const isSimilar = sql`(spelling >= '' AND spelling %> ${word}::text)`;
  const swaps = letterSwaps(word);
  const isSwapped = swaps.length === 0 ? sql`false` : sql`words @@ ${queryOf(`!${prefix}`, swaps, '|')}`;
  return {
    condition: sql`(${isPresent} OR ${isSimilar} OR ${isSwapped})`,
    differences: swaps.length === 0 ? [isSimilar] : [isSimilar, isSwapped],
    similarity: sql`greatest(${similarity}, CASE WHEN ${isSwapped} THEN ${number(SWAPPED_SIMILARITY)} END)`,
  };
}

/**
 * Selects documents with some of the words, scored by the share of words, then by rank. There may be any number of them, so it
 * reads at most `SOME_MAX` + 1 of each of these: documents that lack a single word, documents with a word in their names, and
 * any others.
 */
function partialMatches({ documents, prefix, all, words }: Search): Sql {
  if (words.length < 2) return NOTHING;
  const terms = words.map(termOf);
  const any = queryOf(prefix, terms, '|');
  const conditions = [queryOf(`!${prefix}`, terms, '|'), any];
  if (terms.length >= ALL_BUT_ONE_WORDS.min && terms.length <= ALL_BUT_ONE_WORDS.max) {
    const without = (omitted: number): readonly string[] => terms.filter((_, at) => at !== omitted);
    const allButOne = terms.map((_, at) => queryOf(prefix, without(at), '&'));
    conditions.unshift(sql`(${join(allButOne, ' || ')})`);
  }
  const subqueries = conditions.map(
    (condition) => sql`(SELECT document_id, resource_id, words FROM ${documents(sql`words @@ ${condition}`)} d
      WHERE NOT words @@ ${all}
        AND (SELECT count(*) FROM full_matches) + (SELECT count(*) FROM similar_names) < ${number(FEW)}
        AND document_id NOT IN (SELECT document_id FROM similar_names) LIMIT ${number(SOME_MAX + 1)})`,
  );
  const each = terms.map((term) => queryOf(prefix, [term], '&'));
  // The concatenation copies long words into memory, so that they are read once.
  return sql`SELECT document_id, resource_id,
      ${number(SOME_WORDS)} * (shared + ts_rank(lexemes, ${any}, 1|32)::float8) / ${number(terms.length)} AS score
    FROM (SELECT DISTINCT ON (document_id) document_id, resource_id, words
        FROM (${join(subqueries, ' UNION ALL ')}) hit ORDER BY document_id) one,
      LATERAL (SELECT words || ''::tsvector AS lexemes OFFSET 0) in_memory,
      LATERAL (SELECT count(*) AS shared FROM unnest(ARRAY[${join(each)}]) query WHERE lexemes @@ query) counted
    ORDER BY score DESC, resource_id LIMIT ${number(SOME_MAX + 1)}`;
}

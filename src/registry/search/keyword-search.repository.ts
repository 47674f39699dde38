import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { SqlExecutor, Where } from '#platform/db';
import type { RankedDocument, Ranking } from './ranking';
import { documentsWithin, type SearchReach } from './search-reach';
import { markOf, type Sought, type SoughtWord, swapped, termOf } from './search-words';

/** Documents that match and are ranked: first those whose names have all words, then others, in no order. */
export const RANKED_MAX = 5_000;

/** Where fewer match, names are looked at that are written alike, and then documents that have some of the words. */
const FEW = 10;

/** Names written alike that are ranked, the most alike first. */
const ALIKE_MAX = 500;

/** Words of fewer letters are too like many others, and more words are hardly ever all misspelt. */
const ALIKE_LETTERS_MIN = 4;
const ALIKE_WORDS_MAX = 8;

/** How alike they have to be: the share of a word's trigrams, see `word_similarity` of pg_trgm. */
const ALIKE_MIN = 0.4;

/** What a word with two neighbouring letters in each other's place counts for: by its trigrams alone it is hardly alike. */
const SWAPPED_SCORE = 0.6;

/** Documents with some of the words that are told; as many again of each kind, see `partly`, are looked at. */
export const SOME_MAX = 200;

/** Of so many words, documents that lack a single one are looked for before others: each is a condition of its own. */
const NEARLY_WORDS = { min: 3, max: 8 };

/** Of a name that is the query but for punctuation: below one that is the query as it was typed, above all others. */
const SPELT_SCORE = 0.99;

/** Where scores begin, and how far they go: by where all words are. */
const IN_NAME = { from: 0.8, begins: 0.1, share: 0.06, rank: 0.02 };
const IN_DESCRIPTION = { from: 0.65, rank: 0.14 };
const IN_TEXT = { from: 0.5, rank: 0.14 };
const WRITTEN_ALIKE = { from: 0.25, similarity: 0.25 };
const SOME_WORDS = 0.25;

const NOTHING =
  'SELECT NULL::bigint AS document_id, NULL::text AS resource_id, NULL::float8 AS score WHERE false';

interface Row extends RankedDocument {
  found: number;
  alike: number;
  partly: number;
}

/** Finds documents by their words. */
@Injectable()
export class KeywordSearchRepository {
  /**
   * The best of what matches, in order: by its score, of which that of documents with all words is at least 0.5, that of
   * names written alike above 0.25, and that of documents with some of the words below; then by id.
   *
   * @param on a transaction, in which settings may be made
   */
  async rank(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    sought: Sought,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<Ranking> {
    if (sought.words.length === 0) return { documents: [], total: 0 };
    const meant = await this.meant(on, sought.words);
    const where = documentsWithin(scope, reach);
    const statement = ranked(where, scope, sought, meant);
    const rows = await on.query<Row>(
      `${statement} SELECT counted.*, document_id, resource_id, score
       FROM (SELECT (SELECT count(*) FROM scored) AS found, (SELECT count(*) FROM alike) AS alike,
         (SELECT count(*) FROM partly) AS partly) counted
       LEFT JOIN LATERAL (
         SELECT document_id, resource_id, score FROM scored ORDER BY score DESC, resource_id
         LIMIT ${where.parameter(limit)} OFFSET ${where.parameter(offset)}
       ) page ON true ORDER BY score DESC, resource_id`,
      where.values,
    );
    const { found, alike, partly } = rows[0] ?? { found: 0, alike: 0, partly: 0 };
    return {
      documents: rows
        .filter((row) => row.document_id !== null)
        .map(({ document_id, resource_id, score }) => ({ document_id, resource_id, score })),
      total: found > RANKED_MAX || alike > ALIKE_MAX || partly > SOME_MAX ? null : found,
    };
  }

  /** The words that have a meaning, as `search_query` sees it; all where none has. Sets how alike names have to be, too. */
  private async meant(on: SqlExecutor, words: readonly SoughtWord[]): Promise<readonly SoughtWord[]> {
    const [row] = await on.query<{ meant: boolean[] }>(
      `SELECT set_config('pg_trgm.word_similarity_threshold', '${ALIKE_MIN}', true),
         ARRAY(SELECT to_tsvector('pg_catalog.english', word) <> ''
           FROM unnest($1::text[]) WITH ORDINALITY given (word, place) ORDER BY place) AS meant`,
      [words.map(termOf)],
    );
    const meant = words.filter((_, at) => row!.meant[at]);
    return meant.length > 0 ? meant : words;
  }
}

/** CTEs of which the last, `scored`, has what matches; one more than `RANKED_MAX` where more do. */
function ranked(
  where: Where,
  scope: OrgScope,
  { typed, words }: Sought,
  meant: readonly SoughtWord[],
): string {
  const mark = markOf(scope.orgId);
  const given = where.parameter(words.map(termOf));
  const queryOf = (before: string, joined: string, weights = ''): string =>
    `search_query(${where.parameter(before)}, ${given}::text[], '${joined}', '${weights}')`;
  const all = queryOf(mark, '&');
  const inName = queryOf(`!${mark}`, '&');
  const itself = `${where.parameter(typed)}::text`;
  const rank = `ts_rank(words, ${queryOf(mark, '|')}, 1|32)::float8`;
  const scoreOr = (other: string): string => `CASE
    WHEN lower(search_plain(name)) = lower(${itself}) THEN 1
    WHEN spelling = search_spelling(${itself}) THEN ${SPELT_SCORE} ELSE ${other} END AS score`;
  const ofName = `${IN_NAME.from} + ${IN_NAME.rank} * ${rank}
    + ${IN_NAME.begins} * starts_with(spelling, search_spelling(${itself}))::integer
    + ${IN_NAME.share} * least(1, length(search_spelling(${itself}))::float8 / greatest(1, length(spelling)))`;
  const ofTexts = `CASE WHEN words @@ ${queryOf(mark, '&', 'AB')}
    THEN ${IN_DESCRIPTION.from} + ${IN_DESCRIPTION.rank} * ${rank}
    ELSE ${IN_TEXT.from} + ${IN_TEXT.rank} * ${rank} END`;
  const within = where.toString();
  return `WITH named AS MATERIALIZED (
      SELECT document_id, resource_id, ${scoreOr(ofName)} FROM search_documents
      WHERE ${within} AND words @@ ${inName} LIMIT ${RANKED_MAX + 1}
    ), others AS MATERIALIZED (
      SELECT document_id, resource_id, ${scoreOr(ofTexts)} FROM search_documents
      WHERE ${within} AND words @@ ${all} AND NOT words @@ ${inName}
      LIMIT (SELECT ${RANKED_MAX + 1} - count(*) FROM named)
    ), matching AS (TABLE named UNION ALL TABLE others),
    alike AS MATERIALIZED (${alike(where, within, mark, all, meant)}),
    partly AS MATERIALIZED (${partly(where, within, mark, all, meant)}),
    scored AS MATERIALIZED (
      TABLE matching UNION ALL (SELECT * FROM alike ORDER BY score DESC, resource_id LIMIT ${ALIKE_MAX})
      UNION ALL (SELECT * FROM partly ORDER BY score DESC, resource_id LIMIT ${SOME_MAX})
    )`;
}

/** Documents that do not match, because some of the words are written otherwise in their names. */
function alike(
  where: Where,
  within: string,
  mark: string,
  all: string,
  meant: readonly SoughtWord[],
): string {
  const words = meant.flatMap(({ word, parts }) => (parts.length > 0 ? parts : [word]));
  const long = words.filter((word) => Array.from(word).length >= ALIKE_LETTERS_MIN);
  if (long.length === 0 || words.length > ALIKE_WORDS_MAX) return NOTHING;
  const spelt = words.map((word) => {
    const given = `${where.parameter(word)}::text`;
    const itself = `words @@ search_query(${where.parameter(mark)}, ARRAY[${given}], '&')`;
    const similarity = `word_similarity(${given}, spelling)`;
    if (!long.includes(word)) return { condition: itself, similarity };
    const others = swapped(word);
    const isSwapped =
      others.length === 0
        ? 'false'
        : `words @@ search_query(${where.parameter(`!${mark}`)}, ${where.parameter(others)}::text[], '|')`;
    return {
      condition: `(${itself} OR spelling %> ${given} OR ${isSwapped})`,
      similarity: `greatest(${similarity}, CASE WHEN ${isSwapped} THEN ${SWAPPED_SCORE} END)`,
    };
  });
  const similarity = spelt.map((one) => one.similarity).join(' + ');
  // below what matches, even if each word is as like as can be
  const share = `(${similarity})::float8 / ${words.length + 0.5}`;
  return `SELECT document_id, resource_id, ${WRITTEN_ALIKE.from} + ${WRITTEN_ALIKE.similarity} * ${share} AS score
    FROM search_documents
    WHERE ${within} AND ${spelt.map((one) => one.condition).join(' AND ')} AND NOT words @@ ${all}
      AND (SELECT count(*) FROM matching) < ${FEW}
    ORDER BY score DESC, resource_id LIMIT ${ALIKE_MAX + 1}`;
}

/**
 * Documents that have some of the words, by the share of them, and among those with as many by how well these fit. There
 * may be any number: looked at are those that lack a single word, those that have one in their names, and others as the
 * database comes upon them, `SOME_MAX` of each and one more.
 */
function partly(
  where: Where,
  within: string,
  mark: string,
  all: string,
  meant: readonly SoughtWord[],
): string {
  if (meant.length < 2) return NOTHING;
  const terms = meant.map(termOf);
  const queryOf = (before: string, of: readonly string[], joined: string): string =>
    `search_query(${where.parameter(before)}, ${where.parameter(of)}::text[], '${joined}')`;
  const any = queryOf(mark, terms, '|');
  const conditions = [queryOf(`!${mark}`, terms, '|'), any];
  if (terms.length >= NEARLY_WORDS.min && terms.length <= NEARLY_WORDS.max) {
    const nearly = terms.map((_, at) =>
      queryOf(
        mark,
        terms.filter((_, other) => other !== at),
        '&',
      ),
    );
    conditions.unshift(`(${nearly.join(' || ')})`);
  }
  const looked = conditions.map(
    (condition) => `(SELECT document_id, resource_id, words FROM search_documents
      WHERE ${within} AND words @@ ${condition} AND NOT words @@ ${all}
        AND (SELECT count(*) FROM matching) + (SELECT count(*) FROM alike) < ${FEW}
        AND document_id NOT IN (SELECT document_id FROM alike) LIMIT ${SOME_MAX + 1})`,
  );
  const each = terms.map((term) => queryOf(mark, [term], '&')).join(', ');
  // words may be long, and are read once: a concatenation is a copy in memory
  return `SELECT document_id, resource_id,
      ${SOME_WORDS} * (shared + ts_rank(read, ${any}, 1|32)::float8) / ${terms.length} AS score
    FROM (SELECT DISTINCT ON (document_id) document_id, resource_id, words
        FROM (${looked.join(' UNION ALL ')}) looked ORDER BY document_id) one,
      LATERAL (SELECT words || ''::tsvector AS read OFFSET 0) copied,
      LATERAL (SELECT count(*) AS shared FROM unnest(ARRAY[${each}]) query WHERE read @@ query) counted
    ORDER BY score DESC, resource_id LIMIT ${SOME_MAX + 1}`;
}

import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { SqlExecutor, Where } from '#platform/db';
import type { RankedDocument, Ranking } from './ranking';
import { documentsWithin, type SearchReach } from './search-reach';
import { markOf, type Sought, swapped } from './search-words';

/** Documents that match and are ranked: first those whose names have all words, then others, in no order. */
export const RANKED_MAX = 5_000;

/** Where fewer match, names are looked at that are written alike. */
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

/** Of a name that is the query but for punctuation: below one that is the query as it was typed, above all others. */
const SPELT_SCORE = 0.99;

interface Row extends RankedDocument {
  found: number;
  alike: number;
}

/** Finds documents by their words. */
@Injectable()
export class KeywordSearchRepository {
  /**
   * The best of what matches all words, in order: by its score, of which that of texts is above 0.5 and that of names
   * written alike below, then by id.
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
      `${statement} SELECT counted.found, counted.alike, document_id, resource_id, score
       FROM (SELECT (SELECT count(*) FROM scored) AS found, (SELECT count(*) FROM alike) AS alike) counted
       LEFT JOIN LATERAL (
         SELECT document_id, resource_id, score FROM scored ORDER BY score DESC, resource_id
         LIMIT ${where.parameter(limit)} OFFSET ${where.parameter(offset)}
       ) page ON true ORDER BY score DESC, resource_id`,
      where.values,
    );
    const { found, alike } = rows[0] ?? { found: 0, alike: 0 };
    return {
      documents: rows
        .filter((row) => row.document_id !== null)
        .map(({ document_id, resource_id, score }) => ({ document_id, resource_id, score })),
      total: found > RANKED_MAX || alike > ALIKE_MAX ? null : found,
    };
  }

  /** The words that have a meaning, as `search_query` sees it; all where none has. Sets how alike names have to be, too. */
  private async meant(on: SqlExecutor, words: readonly string[]): Promise<readonly string[]> {
    const [row] = await on.query<{ meant: string[] }>(
      `SELECT set_config('pg_trgm.word_similarity_threshold', '${ALIKE_MIN}', true),
         ARRAY(SELECT word FROM unnest($1::text[]) WITH ORDINALITY given (word, place)
           WHERE to_tsvector('pg_catalog.english', word) <> '' ORDER BY place) AS meant`,
      [words],
    );
    return row!.meant.length > 0 ? row!.meant : words;
  }
}

/** CTEs of which the last, `scored`, has what matches; one more than `RANKED_MAX` where more do. */
function ranked(where: Where, scope: OrgScope, { typed, words }: Sought, meant: readonly string[]): string {
  const mark = markOf(scope.orgId);
  const given = where.parameter(words);
  const queryOf = (before: string, joined: string): string =>
    `search_query(${where.parameter(before)}, ${given}::text[], '${joined}')`;
  const all = queryOf(mark, '&');
  const inName = queryOf(`!${mark}`, '&');
  const itself = `${where.parameter(typed)}::text`;
  const score = `CASE WHEN lower(name) = lower(${itself}) THEN 1
    WHEN spelling = search_spelling(${itself}) THEN ${SPELT_SCORE}
    ELSE 0.5 + ts_rank(words, ${queryOf(mark, '|')}, 1|32)::float8 / 2 END AS score`;
  const within = where.toString();
  const select = `SELECT document_id, resource_id, ${score} FROM search_documents WHERE ${within}`;
  return `WITH named AS MATERIALIZED (
      ${select} AND words @@ ${inName} LIMIT ${RANKED_MAX + 1}
    ), others AS MATERIALIZED (
      ${select} AND words @@ ${all} AND NOT words @@ ${inName}
      LIMIT (SELECT ${RANKED_MAX + 1} - count(*) FROM named)
    ), matching AS (TABLE named UNION ALL TABLE others),
    alike AS MATERIALIZED (${alike(where, within, mark, all, meant)}),
    scored AS MATERIALIZED (
      TABLE matching UNION ALL (SELECT * FROM alike ORDER BY score DESC, resource_id LIMIT ${ALIKE_MAX})
    )`;
}

/** Documents that do not match, because some of the words are written otherwise in their names. */
function alike(where: Where, within: string, mark: string, all: string, words: readonly string[]): string {
  const long = words.filter((word) => Array.from(word).length >= ALIKE_LETTERS_MIN);
  if (long.length === 0 || words.length > ALIKE_WORDS_MAX) {
    return 'SELECT NULL::bigint AS document_id, NULL::text AS resource_id, NULL::float8 AS score WHERE false';
  }
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
  return `SELECT document_id, resource_id, (${similarity})::float8 / ${words.length * 2 + 1} AS score
    FROM search_documents
    WHERE ${within} AND ${spelt.map((one) => one.condition).join(' AND ')} AND NOT words @@ ${all}
      AND (SELECT count(*) FROM matching) < ${FEW}
    ORDER BY score DESC, resource_id LIMIT ${ALIKE_MAX + 1}`;
}

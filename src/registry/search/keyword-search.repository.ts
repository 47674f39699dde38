import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { SqlExecutor, Where } from '#platform/db';
import type { RankedDocument, Ranking } from './ranking';
import { documentsWithin, type SearchReach } from './search-reach';
import { markOf } from './search-words';

/** Documents that match and are ranked: first those whose names have all words, then others, in no order. */
export const RANKED_MAX = 5_000;

/** Where fewer match, names are looked at that are written alike. */
const FEW = 10;

/** Names written alike that are ranked. */
const ALIKE_MAX = 500;

/** Words of fewer letters are too like many others, and more words are hardly ever all misspelt. */
const ALIKE_LETTERS_MIN = 4;
const ALIKE_WORDS_MAX = 8;

/** How alike they have to be: the share of a word's trigrams, see `word_similarity` of pg_trgm. */
const ALIKE_MIN = 0.4;

interface Row extends RankedDocument {
  found: number;
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
    words: readonly string[],
    { limit, offset }: { limit: number; offset: number },
  ): Promise<Ranking> {
    if (words.length === 0) return { documents: [], total: 0 };
    await on.query(`SELECT set_config('pg_trgm.word_similarity_threshold', '${ALIKE_MIN}', true)`);
    const where = documentsWithin(scope, reach);
    const statement = ranked(where, scope, words);
    const rows = await on.query<Row>(
      `${statement} SELECT counted.found, document_id, resource_id, score
       FROM (SELECT count(*) AS found FROM scored) counted
       LEFT JOIN LATERAL (
         SELECT document_id, resource_id, score FROM scored ORDER BY score DESC, resource_id
         LIMIT ${where.parameter(limit)} OFFSET ${where.parameter(offset)}
       ) page ON true ORDER BY score DESC, resource_id`,
      where.values,
    );
    const found = rows[0]?.found ?? 0;
    return {
      documents: rows
        .filter((row) => row.document_id !== null)
        .map(({ document_id, resource_id, score }) => ({ document_id, resource_id, score })),
      total: found > RANKED_MAX ? null : found,
    };
  }
}

/** CTEs of which the last, `scored`, has what matches; one more than `RANKED_MAX` where more do. */
function ranked(where: Where, scope: OrgScope, words: readonly string[]): string {
  const mark = markOf(scope.orgId);
  const given = where.parameter(words);
  const queryOf = (before: string, joined: string): string =>
    `search_query(${where.parameter(before)}, ${given}::text[], '${joined}')`;
  const all = queryOf(mark, '&');
  const inName = queryOf(`!${mark}`, '&');
  const name = where.parameter(words.join(' ').toLowerCase());
  const score = `CASE WHEN lower(name) = ${name} THEN 1
    ELSE 0.5 + ts_rank(words, ${queryOf(mark, '|')}, 1|32)::float8 / 2 END AS score`;
  const within = where.toString();
  const select = `SELECT document_id, resource_id, ${score} FROM search_documents WHERE ${within}`;
  return `WITH named AS MATERIALIZED (
      ${select} AND words @@ ${inName} LIMIT ${RANKED_MAX + 1}
    ), others AS MATERIALIZED (
      ${select} AND words @@ ${all} AND NOT words @@ ${inName}
      LIMIT (SELECT ${RANKED_MAX + 1} - count(*) FROM named)
    ), matching AS (TABLE named UNION ALL TABLE others),
    alike AS MATERIALIZED (${alike(where, within, mark, all, words)}),
    scored AS MATERIALIZED (TABLE matching UNION ALL TABLE alike)`;
}

/** Documents that do not match, because some of the words are written otherwise in their names. */
function alike(where: Where, within: string, mark: string, all: string, words: readonly string[]): string {
  const long = words.filter((word) => Array.from(word).length >= ALIKE_LETTERS_MIN);
  if (long.length === 0 || words.length > ALIKE_WORDS_MAX) {
    return 'SELECT NULL::bigint, NULL::text, NULL::float8 WHERE false';
  }
  const placed = words.map((word) => where.parameter(word));
  const conditions = words.map((word, index) => {
    const itself = `words @@ search_query(${where.parameter(mark)}, ARRAY[${placed[index]!}::text], '&')`;
    return long.includes(word) ? `(${itself} OR name %> ${placed[index]!})` : itself;
  });
  const similarity = placed.map((word) => `word_similarity(${word}, name)`).join(' + ');
  return `SELECT document_id, resource_id, (${similarity})::float8 / ${words.length * 2 + 1} AS score
    FROM search_documents
    WHERE ${within} AND ${conditions.join(' AND ')} AND NOT words @@ ${all}
      AND (SELECT count(*) FROM matching) < ${FEW}
    LIMIT ${ALIKE_MAX}`;
}

import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { HIGHLIGHT_OPTIONS, HIGHLIGHT_PUNCTUATION } from './highlight';
import type { SearchType } from './search-document';
import { documentsWithin, type SearchReach } from './search-reach';

/** A document as it is told. */
export interface FoundDocument {
  document_id: number;
  resource_type: SearchType;
  resource_id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  /** As `ts_headline` wrote it of a text with `HIGHLIGHT_PUNCTUATION`; null without words. */
  headline: string | null;
}

/** What a passage is chosen from: the name, and a window of each of the other texts. */
interface Windows extends Omit<FoundDocument, 'headline'> {
  windows: string;
}

/** Characters of a body that a passage is chosen from. */
const BODY_SHOWN = 8_000;

/**
 * Characters of a description and of a body that words are looked for in by `ts_headline`, which takes a millisecond for
 * some thousand of them, and more the more words there are: so many around the first place where one begins.
 */
const WINDOW = 500;

/** Characters of a window before that place. */
const BEFORE = 80;

/** Letters that a word at the edge of a window may have to be left out, since only a part of it may be there. */
const EDGE_WORD = 40;

/** Reads what is told of documents that were found. */
@Injectable()
export class FoundDocumentRepository {
  async read(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    ids: readonly number[],
    words: readonly string[],
  ): Promise<Map<number, FoundDocument>> {
    if (ids.length === 0) return new Map();
    const documents = await this.windows(on, scope, reach, ids, words);
    const headlines = await this.headlines(on, documents, words);
    return new Map(
      documents.map(({ windows: _, ...told }, index) => [
        told.document_id,
        { ...told, headline: headlines[index] ?? null },
      ]),
    );
  }

  /** Windows begin where a word does, or its stem; a `y` that the stem has as `i` may be either. */
  private windows(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    ids: readonly number[],
    words: readonly string[],
  ): Promise<Windows[]> {
    const where = documentsWithin(scope, reach).add('document_id = ANY (?)', ids);
    const given = where.parameter(words);
    return on.query<Windows>(
      `WITH beginnings AS MATERIALIZED (
         SELECT '(?i)(?:^|[^[:alnum:]])(?:' || string_agg(DISTINCT beginning, '|') || ')' AS pattern
         FROM unnest(${given}::text[]) word, LATERAL (
           SELECT word AS beginning UNION ALL
           SELECT regexp_replace(stem, 'i$', '') FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.english', word))) stem
         ) beginnings WHERE beginning <> ''
       )
       SELECT document_id, resource_type, resource_id, workspace_id, name, description,
         concat_ws(chr(10), search_plain(name), ${windowOf('search_plain(description)')}, ${windowOf(`search_plain(left(body, ${BODY_SHOWN}))`)}) AS windows
       FROM search_documents, beginnings WHERE ${where.toString()}`,
      where.values,
    );
  }

  private async headlines(
    on: SqlExecutor,
    documents: readonly Windows[],
    words: readonly string[],
  ): Promise<(string | null)[]> {
    const rows = await on.query<{ headline: string | null }>(
      `SELECT ts_headline('pg_catalog.english', translate(text, $1, $2), search_query('', $3::text[], '|'), $4) AS headline
       FROM unnest($5::text[]) WITH ORDINALITY given (text, place) ORDER BY place`,
      [...HIGHLIGHT_PUNCTUATION, words, HIGHLIGHT_OPTIONS, documents.map(({ windows }) => windows)],
    );
    return rows.map(({ headline }) => headline);
  }
}

/** SQL: so much of a text around the first match of `pattern`, or of its beginning, that `WINDOW` is not exceeded. */
function windowOf(text: string): string {
  const place = `greatest(1, strpos(whole, substring(whole FROM pattern)) - ${BEFORE})`;
  return `(SELECT CASE WHEN begins > 1 THEN regexp_replace(cut, '^\\S{0,${EDGE_WORD}}\\s', '') ELSE cut END
    FROM (SELECT ${text} AS whole OFFSET 0) given,
      LATERAL (SELECT CASE WHEN length(whole) > ${WINDOW} THEN coalesce(${place}, 1) ELSE 1 END AS begins OFFSET 0) placed,
      LATERAL (SELECT CASE WHEN length(whole) - begins < ${WINDOW} THEN substr(whole, begins)
        ELSE regexp_replace(substr(whole, begins, ${WINDOW}), '\\s\\S{0,${EDGE_WORD}}$', '') END AS cut OFFSET 0) cut_out)`;
}

import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { raw, type Sql, sql, type SqlExecutor, Where } from '#platform/db';
import type { SearchType } from '../../resources';
import { HIGHLIGHT_OPTIONS, HIGHLIGHT_PUNCTUATION, isUnspaced } from './highlight';
import { documentsBy, type SearchReach } from './search-reach.repository';

/** A document as shown in search results. */
export interface SearchHit {
  document_id: number;
  resource_type: SearchType;
  resource_id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  /** The output of `ts_headline` for a text with the stand-ins of `HIGHLIGHT_PUNCTUATION`. Null without words. */
  headline: string | null;
  /** The text of `headline`: the name, and windows of the description and the body. */
  windows: string;
}

/** Characters at the start of a body that are searched for a passage. */
const BODY_MAX = 8_000;

/**
 * Characters around the first match that `ts_headline` reads of a description and of a body. It takes about a millisecond for a
 * few thousand characters.
 */
const WINDOW = 500;

/** Characters of a window before the match. */
const BEFORE = 80;

/** Maximum letters of a word at the edge of a window. Such a word is left out, because it may be incomplete. */
const EDGE_WORD = 40;

/** Reads documents for search results. */
@Injectable()
export class SearchHitRepository {
  async read(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    ids: readonly number[],
    words: readonly string[],
  ): Promise<Map<number, SearchHit>> {
    if (ids.length === 0) return new Map();
    const documents = await this.windows(on, scope, reach, ids, words);
    const texts = documents.map((document) => document.windows);
    const headlines = await this.headlines(on, texts, words);
    return new Map(
      documents.map((document, index) => [
        document.document_id,
        { ...document, headline: headlines[index] ?? null },
      ]),
    );
  }

  /**
   * Returns the archived workspaces of the organization. Searches receive them as values, because a join would change their
   * plans if statistics do not know the workspaces.
   */
  async archivedWorkspaces(on: SqlExecutor, scope: OrgScope): Promise<string[]> {
    const where = new Where(scope.orgKey).add(sql`archived_at IS NOT NULL`);
    const rows = await on.query<{ workspace_id: string }>(
      sql`SELECT workspace_id FROM workspaces WHERE ${where.sql}`,
    );
    return rows.map(({ workspace_id }) => workspace_id);
  }

  /** Reads documents with a window of text around the first word or stem. A stem may end with `i` for the `y` of its word. */
  private windows(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    ids: readonly number[],
    words: readonly string[],
  ): Promise<Omit<SearchHit, 'headline'>[]> {
    const documents = documentsBy(scope, reach, sql`document_id = ANY (${ids})`);
    return on.query(
      sql`WITH beginnings AS MATERIALIZED (
          SELECT '(?i)(?:' || string_agg(DISTINCT beginning, '|') || ')' AS pattern FROM (
            SELECT '(?:^|[^[:alnum:]])' || start AS beginning
            FROM unnest(${words.filter((word) => !isUnspaced(word))}::text[]) word, LATERAL (
              SELECT word AS start UNION ALL
              SELECT regexp_replace(stem, 'i$', '') FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.english', word))) stem
            ) starts WHERE start <> ''
            UNION ALL SELECT unnest(${words.filter(isUnspaced)}::text[])
          ) beginnings
        )
        SELECT document_id, resource_type, resource_id, workspace_id, name, description,
          concat_ws(chr(10), search_plain(name), ${windowOf('search_plain(description)')},
            ${windowOf(`search_plain(left(body, ${BODY_MAX}))`)}) AS windows
        FROM ${documents} d, beginnings`,
    );
  }

  private async headlines(
    on: SqlExecutor,
    texts: readonly string[],
    words: readonly string[],
  ): Promise<(string | null)[]> {
    const [punctuation, standIns] = HIGHLIGHT_PUNCTUATION;
    const rows = await on.query<{ headline: string | null }>(
      sql`SELECT ts_headline('pg_catalog.english', translate(text, ${punctuation}, ${standIns}),
          search_query('', ${words}::text[], '|'), ${HIGHLIGHT_OPTIONS}) AS headline
        FROM unnest(${texts}::text[]) WITH ORDINALITY t (text, place) ORDER BY place`,
    );
    return rows.map(({ headline }) => headline);
  }
}

/** Returns the SQL expression for at most `WINDOW` characters of a text around the first match of `pattern`. */
function windowOf(text: string): Sql {
  const place = `greatest(1, strpos(whole, substring(whole FROM pattern)) - ${BEFORE})`;
  return raw(`(SELECT CASE WHEN start_place > 1 THEN regexp_replace(cut, '^\\S{0,${EDGE_WORD}}\\s', '') ELSE cut END
    FROM (SELECT ${text} AS whole OFFSET 0) source,
      LATERAL (SELECT CASE WHEN length(whole) > ${WINDOW} THEN coalesce(${place}, 1) ELSE 1 END AS start_place OFFSET 0) placed,
      LATERAL (SELECT CASE WHEN length(whole) - start_place < ${WINDOW} THEN substr(whole, start_place)
        ELSE regexp_replace(substr(whole, start_place, ${WINDOW}), '\\s\\S{0,${EDGE_WORD}}$', '') END AS cut OFFSET 0) cut_out)`);
}

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

/** Characters of a body that a passage is chosen from. */
const BODY_SHOWN = 8_000;

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
    const where = documentsWithin(scope, reach).add('document_id = ANY (?)', ids);
    const query = `search_query('', ${where.parameter(words)}::text[], '|')`;
    const [plain, put] = HIGHLIGHT_PUNCTUATION.map((characters) => where.parameter(characters));
    const rows = await on.query<FoundDocument>(
      `SELECT document_id, resource_type, resource_id, workspace_id, name, description,
         ts_headline('pg_catalog.english', translate(concat_ws(chr(10), name, description, left(body, ${BODY_SHOWN})),
           ${plain!}, ${put!}), ${query}, ${where.parameter(HIGHLIGHT_OPTIONS)}) AS headline
       FROM search_documents WHERE ${where.toString()}`,
      where.values,
    );
    return new Map(rows.map((row) => [row.document_id, row]));
  }
}

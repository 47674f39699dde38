import { createHash } from 'node:crypto';
import { cutText } from '#platform/json';

/** The types of resources that search finds. */
export const SEARCH_TYPES = [
  'app',
  'agent',
  'skill',
  'mcp_server',
  'tool',
  'file',
  'repo',
  'api',
  'store_item',
] as const;
export type SearchType = (typeof SEARCH_TYPES)[number];

/** A resource in the search index. It must not contain secrets. */
export interface SearchDocument {
  type: SearchType;
  id: string;
  workspaceId: string;
  name: string;
  description: string | null;
  /** Further text to search, such as the instructions of a skill. */
  body?: string;
  /** The `updated_at` of the resource. Defaults to now. */
  updatedAt?: Date;
}

/** The columns that a search document shows. */
interface SearchedRow {
  workspace_id: string;
  name: string;
  description: string | null;
  updated_at?: Date;
}

/** Returns the search document of a row. */
export const documentOf = (type: SearchType, id: string, row: SearchedRow, body: string): SearchDocument => ({
  type,
  id,
  workspaceId: row.workspace_id,
  name: row.name,
  description: row.description,
  body,
  updatedAt: row.updated_at,
});

/** Maximum number of characters of a body that keyword search covers. */
export const BODY_MAX = 64 * 1024;

/** Maximum number of characters of a document that are embedded. Models read about as many. */
export const EMBEDDED_MAX = 8_000;

/** Returns the text to embed: the name, the description and the beginning of the body, each on its own line. */
export const embeddedText = ({
  name,
  description,
  body,
}: Pick<SearchDocument, 'name' | 'description' | 'body'>): string =>
  cutText([name, description, body].filter((part) => part != null && part !== '').join('\n'), EMBEDDED_MAX);

/**
 * Returns the prefix of every word of an organization's documents in the index. Organizations that share a prefix only make
 * each other's searches slower.
 */
export const wordPrefixOf = (orgId: string): string =>
  createHash('sha256').update(orgId).digest('hex').slice(0, 8);

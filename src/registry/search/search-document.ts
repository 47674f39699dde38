/** What can be searched for. */
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

/** A resource, as it is found. Nothing secret. */
export interface SearchDocument {
  type: SearchType;
  id: string;
  workspaceId: string;
  name: string;
  description: string | null;
  /** What else is to be found in it, such as the instructions of a skill. */
  body?: string;
  /** When the resource was last changed, as it tells itself; this moment unless given. */
  updatedAt?: Date;
}

import type { OrgScope } from '#platform/auth';
import type { Where } from '#platform/db';
import { firstMillisecond } from '#platform/http';
import { whereReadable } from '../access/workspace-access';
import type { SearchType } from './search-document';

/** Among which documents is searched. */
export interface SearchReach {
  workspaceId?: string;
  types?: readonly SearchType[];
  updatedAfter?: string;
  updatedBefore?: string;
  /** Archived workspaces, of which nothing is to be found. */
  archived?: readonly string[];
}

/** Rows of `search_documents` that the caller may read, and that are asked for. */
export function documentsWithin(scope: OrgScope, reach: SearchReach): Where {
  const where = placesWithin(scope, reach);
  return addTimes(where, reach);
}

/** Rows of `search_embeddings`, likewise. */
export function embeddingsWithin(scope: OrgScope, reach: SearchReach): Where {
  const where = placesWithin(scope, reach);
  if (reach.updatedAfter === undefined && reach.updatedBefore === undefined) return where;
  const documents = addTimes(whereReadable(scope, reach.workspaceId), reach);
  const condition = documents.toString().replace(/\$\d+/g, '?');
  return where.add(
    `document_id IN (SELECT document_id FROM search_documents WHERE ${condition})`,
    ...documents.values,
  );
}

/** What both tables tell alike. */
function placesWithin(scope: OrgScope, { workspaceId, types, archived = [] }: SearchReach): Where {
  const where = whereReadable(scope, workspaceId);
  if (archived.length > 0) where.add('workspace_id <> ALL (?)', archived);
  return types === undefined ? where : where.add('resource_type = ANY (?)', [...new Set(types)]);
}

function addTimes(where: Where, { updatedAfter, updatedBefore }: SearchReach): Where {
  if (updatedAfter !== undefined) where.add('updated_at >= ?', firstMillisecond(updatedAfter));
  if (updatedBefore !== undefined) where.add('updated_at < ?', firstMillisecond(updatedBefore));
  return where;
}

import type { OrgScope } from '#platform/auth';
import { sql, type Where } from '#platform/db';
import { firstMillisecond } from '#platform/http';
import { type SearchType, whereReadable } from '../../resources';

/** The documents that a search covers. */
export interface SearchReach {
  workspaceId?: string;
  types?: readonly SearchType[];
  updatedAfter?: string;
  updatedBefore?: string;
  /** Archived workspaces, whose documents are left out. */
  archived?: readonly string[];
}

/** Selects the rows of `search_documents` within reach of the caller and the search. */
export const whereDocuments = (scope: OrgScope, reach: SearchReach): Where =>
  addTimes(wherePlaced(scope, reach), reach);

/** Selects the rows of `search_embeddings` that one embedder made, within reach of the caller and the search. */
export function whereEmbeddings(scope: OrgScope, reach: SearchReach, identity: string): Where {
  const where = wherePlaced(scope, reach).add(sql`identity = ${identity} AND parts IS NOT NULL`);
  if (reach.updatedAfter === undefined && reach.updatedBefore === undefined) return where;
  const documents = addTimes(whereReadable(scope, reach.workspaceId), reach);
  return where.add(sql`document_id IN (SELECT document_id FROM search_documents WHERE ${documents.sql})`);
}

function wherePlaced(scope: OrgScope, { workspaceId, types, archived = [] }: SearchReach): Where {
  const where = whereReadable(scope, workspaceId);
  if (archived.length > 0) where.add(sql`workspace_id <> ALL (${archived})`);
  return where.addIf(types, (types) => sql`resource_type = ANY (${[...new Set(types)]})`);
}

const addTimes = (where: Where, { updatedAfter, updatedBefore }: SearchReach): Where =>
  where
    .addIf(updatedAfter, (time) => sql`updated_at >= ${firstMillisecond(time)}`)
    .addIf(updatedBefore, (time) => sql`updated_at < ${firstMillisecond(time)}`);

import type { OrgScope } from '#platform/auth';
import { type Sql, sql, type Where } from '#platform/db';
import { firstMillisecond } from '#platform/http';
import { type SearchType, whereReadable } from '../../resources';

/** The documents that a search covers. */
export interface SearchReach {
  workspaceId?: string;
  types?: readonly SearchType[];
  updatedAfter?: string;
  updatedBefore?: string;
  /** Archived workspaces, whose documents are excluded. */
  archived?: readonly string[];
}

/**
 * Returns the FROM item for the rows of `search_documents` within reach that a condition selects. OFFSET 0 keeps types and
 * times out of the scan, so that the plan always starts from the condition. Without statistics, the planner would rather read all
 * documents of a type and the long texts of each.
 */
export const documentsBy = (scope: OrgScope, reach: SearchReach, condition: Sql): Sql =>
  sql`(SELECT * FROM (
      SELECT * FROM search_documents WHERE ${whereReadable(scope, reach.workspaceId).sql} AND ${condition} OFFSET 0
    ) selected WHERE ${addTimes(whereInReach(scope, reach), reach).sql})`;

/** Returns the FROM item for the rows of `search_embeddings` within reach by one embedder. */
export function embeddingsBy(scope: OrgScope, reach: SearchReach, identity: string): Sql {
  const where = whereInReach(scope, reach).add(sql`identity = ${identity} AND parts IS NOT NULL`);
  if (!hasTimes(reach)) return sql`(SELECT * FROM search_embeddings WHERE ${where.sql})`;
  // `revision > 0` is the condition of the partial index search_documents_by_update
  const dated = addTimes(whereReadable(scope, reach.workspaceId), reach).add(sql`revision > 0`);
  // LATERAL looks up each embedding by key. Without statistics, a join would read one table for each row of the other
  return sql`(SELECT embedded.* FROM (SELECT document_id FROM search_documents WHERE ${dated.sql} OFFSET 0) dated,
      LATERAL (SELECT * FROM search_embeddings e WHERE e.document_id = dated.document_id OFFSET 0) embedded
    WHERE ${where.sql})`;
}

/** Selects the same rows as `embeddingsBy`, for a scan of `search_embeddings` in the order of another index. */
export function whereEmbeddings(scope: OrgScope, reach: SearchReach, identity: string): Where {
  const where = whereInReach(scope, reach).add(sql`identity = ${identity} AND parts IS NOT NULL`);
  if (!hasTimes(reach)) return where;
  const dated = addTimes(whereReadable(scope, reach.workspaceId), reach);
  return where.add(sql`EXISTS (SELECT FROM search_documents
    WHERE ${dated.sql} AND document_id = search_embeddings.document_id OFFSET 0)`);
}

function whereInReach(scope: OrgScope, { workspaceId, types, archived = [] }: SearchReach): Where {
  const where = whereReadable(scope, workspaceId);
  if (archived.length > 0) where.add(sql`workspace_id <> ALL (${archived})`);
  return where.addIf(types, (types) => sql`resource_type = ANY (${[...new Set(types)]})`);
}

const hasTimes = ({ updatedAfter, updatedBefore }: SearchReach): boolean =>
  updatedAfter !== undefined || updatedBefore !== undefined;

const addTimes = (where: Where, { updatedAfter, updatedBefore }: SearchReach): Where =>
  where
    .addIf(updatedAfter, (time) => sql`updated_at >= ${firstMillisecond(time)}`)
    .addIf(updatedBefore, (time) => sql`updated_at < ${firstMillisecond(time)}`);

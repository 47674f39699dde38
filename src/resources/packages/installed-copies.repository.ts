import type { Scope } from '#platform/auth';
import { raw, sql, type Tx } from '#platform/db';
import type { InstalledCopy } from './packager';

/**
 * Returns the workspace's live copies of published resources by the publisher's ids, locked in the order of `artifactIds`.
 * If a resource has several copies, because an archived one was restored, returns the newest.
 */
export async function findCopies(
  tx: Tx,
  { table, id }: { table: string; id: string },
  scope: Scope,
  artifactIds: readonly string[],
): Promise<Map<string, InstalledCopy>> {
  if (artifactIds.length === 0) return new Map();
  const rows = await tx.query<InstalledCopy>(
    // looks up each id in the index, because PostgreSQL would not use the index for a list before it has statistics
    sql`SELECT newest.* FROM unnest(${artifactIds}::text[]) AS ids(id) CROSS JOIN LATERAL (
        SELECT ${raw(id)} AS artifact_id, acquired_from FROM ${raw(table)}
        WHERE workspace_id = ${scope.workspaceId} AND acquired_from ->> 'artifact_id' = ids.id
          AND acquired_from IS NOT NULL AND archived_at IS NULL
        ORDER BY ${raw(id)} DESC LIMIT 1 FOR UPDATE
      ) newest`,
  );
  return new Map(rows.map((copy) => [copy.acquired_from.artifact_id, copy]));
}

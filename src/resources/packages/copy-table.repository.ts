import type { Scope } from '#platform/auth';
import { raw, sql, type Tx } from '#platform/db';
import { problem } from '#platform/problem';
import type { AcquiredFrom, InstalledCopy } from './packager';

/** The table of a kind of resource of which copies are installed. It is keyed by workspace. */
export interface CopyTable {
  table: string;
  /** The column of the resource's id. */
  id: string;
  /** The noun of problem details. */
  noun: string;
}

/** Returns the live copies of the publishers' resources, locked for update. Of several copies, which
 * restoring an archived one may make, returns the newest. */
export async function findCopies(
  tx: Tx,
  { table, id }: CopyTable,
  { workspaceId }: Scope,
  artifactIds: readonly string[],
): Promise<Map<string, InstalledCopy>> {
  const rows = await tx.query<{ artifact_id: string; acquired_from: AcquiredFrom }>(
    sql`SELECT ${raw(id)} AS artifact_id, acquired_from FROM ${raw(table)}
      WHERE workspace_id = ${workspaceId} AND acquired_from IS NOT NULL AND archived_at IS NULL
        AND acquired_from ->> 'artifact_id' = ANY (${artifactIds}::text[])
      ORDER BY ${raw(id)} FOR UPDATE`,
  );
  return new Map(rows.map((row) => [row.acquired_from.artifact_id, row]));
}

/**
 * Throws 409 `conflict` if another live resource has the name, and names it. A violated constraint would end the
 * transaction, in which the other resource could then not be found.
 *
 * @param copyId the copy that may have the name
 */
export async function checkNameFree(
  tx: Tx,
  { table, id, noun }: CopyTable,
  { workspaceId }: Scope,
  name: string,
  copyId: string | null,
): Promise<void> {
  const [other] = await tx.query<{ id: string }>(
    sql`SELECT ${raw(id)} AS id FROM ${raw(table)}
      WHERE workspace_id = ${workspaceId} AND name = ${name} AND archived_at IS NULL
        AND ${raw(id)} IS DISTINCT FROM ${copyId}::text
      LIMIT 1`,
  );
  if (!other) return;
  throw problem.conflict(
    `The workspace already has a ${noun} with the name ${JSON.stringify(name)}: ${other.id}. Rename or archive it first.`,
  );
}

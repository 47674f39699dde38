import type { Scope } from '#platform/auth';
import { raw, sql, type Tx } from '#platform/db';
import type { ArtifactReference, InstalledCopy } from '../packages/packager';
import type { VersionTable } from './version-table.repository';

/** Storage of resources that the store publishes, with the columns `acquired_from` and `version_ordinal`. */
export interface PublishedTableSpec {
  table: string;
  /** The column of the resource's id. */
  id: string;
  /** The columns of a row. */
  columns: string;
}

/** A live resource, and a version of it. */
export interface PinnedRow<Row, VersionRow> {
  row: Row;
  version: VersionRow;
}

/** Reads resources of one kind for their packager. */
export class PublishedTable<Row extends { version_ordinal: number }, VersionRow> {
  constructor(
    private readonly spec: PublishedTableSpec,
    private readonly versions: VersionTable<VersionRow>,
  ) {}

  /**
   * Pins a version of a live resource of the workspace, which cannot be archived or changed until the transaction ends.
   * Returns null if there is none.
   */
  async pin(
    tx: Tx,
    scope: Scope,
    { artifact_id, ...version }: ArtifactReference,
  ): Promise<PinnedRow<Row, VersionRow> | null> {
    const { table, id, columns } = this.spec;
    const [row] = await tx.query<Row>(
      sql`SELECT ${raw(columns)} FROM ${raw(table)}
        WHERE ${raw(id)} = ${artifact_id} AND workspace_id = ${scope.workspaceId} AND archived_at IS NULL FOR SHARE`,
    );
    if (!row) return null;
    const newest = row.version_ordinal;
    const pinned = await this.versions.findByReference(tx, scope.orgKey, artifact_id, version, newest);
    return pinned && { row, version: pinned };
  }

  /** Like the function `findCopies`. */
  findCopies(tx: Tx, scope: Scope, artifactIds: readonly string[]): Promise<Map<string, InstalledCopy>> {
    return findCopies(tx, this.spec, scope, artifactIds);
  }
}

/**
 * Returns the workspace's live copies of published resources by the publisher's ids, locked in the order of `artifactIds`.
 * If a resource has several copies, because an archived one was restored, returns the newest.
 */
export async function findCopies(
  tx: Tx,
  { table, id }: Pick<PublishedTableSpec, 'table' | 'id'>,
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

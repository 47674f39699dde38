import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, firstRow, prepared, sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { type AnyOf, holdsAny, READERS } from './any-of';

/** Reads which workspaces are archived. */
@Injectable()
export class WorkspaceAccessRepository {
  constructor(private readonly database: Database) {}

  /** Prevents a workspace from being archived until the transaction ends. Null for a workspace of another organization. */
  async hold(tx: Tx, scope: OrgScope, workspaceId: string): Promise<{ archived: boolean } | null> {
    const statement = sql`SELECT archived_at IS NOT NULL AS archived FROM workspaces
      WHERE workspace_id = ${workspaceId} AND org_id = ${scope.orgId} FOR SHARE`;
    return firstRow<{ archived: boolean }>(tx, 'workspace.hold', statement);
  }

  /** Returns the given workspaces that are live, in organizations that are neither archived nor suspended. */
  async filterLive(
    workspaceIds: readonly string[],
    on: SqlExecutor = this.database,
  ): Promise<ReadonlySet<string>> {
    const statement = sql`SELECT w.workspace_id FROM workspaces w JOIN organizations o USING (org_id)
      WHERE w.workspace_id = ANY (${[...new Set(workspaceIds)]}::text[]) AND w.archived_at IS NULL
        AND o.archived_at IS NULL AND o.status = 'active'`;
    const rows = await on.query<{ workspace_id: string }>(prepared('workspace.filter-live', statement));
    return new Set(rows.map((row) => row.workspace_id));
  }

  /** Returns the only live workspace of the organization, or among these; undefined if there are several or none. */
  async findOnlyLive(scope: OrgScope, workspaceIds: readonly string[] | null): Promise<string | undefined> {
    const rows = await this.database.query<{ workspace_id: string }>(
      sql`SELECT workspace_id FROM workspaces WHERE org_id = ${scope.orgId} AND archived_at IS NULL
        AND (${workspaceIds}::text[] IS NULL OR workspace_id = ANY (${workspaceIds}::text[])) LIMIT 2`,
    );
    return rows.length === 1 ? rows[0]!.workspace_id : undefined;
  }
}

/** Selects the rows that the caller may read, in one workspace if the query names one. */
export function whereReadable(scope: OrgScope, workspaceId?: string, readers: AnyOf = READERS): Where {
  const where = new Where(scope.orgKey);
  if (workspaceId !== undefined) {
    return holdsAny(scope, workspaceId, readers)
      ? where.addPart(sql`workspace_id = ${workspaceId}`)
      : where.add(sql`false`);
  }
  const ids = readableWorkspaces(scope, readers);
  if (ids === null) return where;
  return ids.length === 1
    ? where.addPart(sql`workspace_id = ${ids[0]}`)
    : where.addScattered(sql`workspace_id = ANY (${ids})`);
}

/** Returns the workspaces that the caller may read, or null for all of the organization. */
export function readableWorkspaces(scope: OrgScope, readers: AnyOf = READERS): string[] | null {
  const workspaces = readers.map((role) => scope.workspacesWith(role));
  if (workspaces.includes(null)) return null;
  return [...new Set(workspaces.flatMap((ids) => [...(ids ?? [])]))];
}

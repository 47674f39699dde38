import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { type SqlExecutor, Where } from '#platform/db';

/** The workspaces of which searches find nothing, unless they name one. */
@Injectable()
export class ArchivedWorkspaceRepository {
  /** As values, not as a join: what searches read is then planned alike where the statistics know no workspace. */
  async ids(on: SqlExecutor, scope: OrgScope): Promise<string[]> {
    const where = new Where(scope.orgKey).add('archived_at IS NOT NULL');
    const rows = await on.query<{ workspace_id: string }>(
      `SELECT workspace_id FROM workspaces WHERE ${where.toString()}`,
      where.values,
    );
    return rows.map(({ workspace_id }) => workspace_id);
  }
}

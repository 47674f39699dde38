import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { prepared, sql, type Tx } from '#platform/db';

@Injectable()
export class WorkspaceAccessRepository {
  /** Keeps a workspace from being archived until the transaction ends. Null for one that the organization does not have. */
  async hold(tx: Tx, scope: OrgScope, workspaceId: string): Promise<{ archived: boolean } | null> {
    const statement = sql`SELECT archived_at IS NOT NULL AS archived FROM workspaces
      WHERE workspace_id = ${workspaceId} AND org_id = ${scope.orgId} FOR SHARE`;
    const [row] = await tx.query<{ archived: boolean }>(prepared('workspace.hold', statement));
    return row ?? null;
  }
}

import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';

const HOLD = {
  name: 'workspace.hold',
  text: `SELECT archived_at IS NOT NULL AS archived FROM workspaces
    WHERE workspace_id = $1 AND org_id = $2 FOR SHARE`,
};

@Injectable()
export class WorkspaceAccessRepository {
  /** Keeps a workspace from being archived until the transaction ends; null where the organization has none of this id. */
  async hold(tx: Tx, scope: OrgScope, workspaceId: string): Promise<{ archived: boolean } | null> {
    const [row] = await tx.query<{ archived: boolean }>(HOLD, [workspaceId, scope.orgId]);
    return row ?? null;
  }
}

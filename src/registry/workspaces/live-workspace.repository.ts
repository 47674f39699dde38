import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';

const AMONG = {
  name: 'workspace.live-among',
  text: `SELECT w.workspace_id FROM workspaces w JOIN organizations o USING (org_id)
    WHERE w.workspace_id = ANY ($1::text[]) AND w.archived_at IS NULL
      AND o.archived_at IS NULL AND o.status = 'active'`,
};

/** Where the service may do of itself what was asked of it once, for whichever organization. */
@Injectable()
export class LiveWorkspaceRepository {
  constructor(private readonly database: Database) {}

  /** Of these workspaces those that are not archived, of organizations that are neither archived nor suspended. */
  async among(workspaceIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ workspace_id: string }>(AMONG, [[...new Set(workspaceIds)]]);
    return new Set(rows.map((row) => row.workspace_id));
  }
}

import { Injectable } from '@nestjs/common';
import { Database, prepared, sql } from '#platform/db';

/** Tells in which workspaces the service may continue work by itself. */
@Injectable()
export class LiveWorkspaceRepository {
  constructor(private readonly database: Database) {}

  /** Returns those of these workspaces that are live, in organizations that are neither archived nor suspended. */
  async among(workspaceIds: readonly string[]): Promise<ReadonlySet<string>> {
    const statement = sql`SELECT w.workspace_id FROM workspaces w JOIN organizations o USING (org_id)
      WHERE w.workspace_id = ANY (${[...new Set(workspaceIds)]}::text[]) AND w.archived_at IS NULL
        AND o.archived_at IS NULL AND o.status = 'active'`;
    const rows = await this.database.query<{ workspace_id: string }>(
      prepared('workspace.live-among', statement),
    );
    return new Set(rows.map((row) => row.workspace_id));
  }
}

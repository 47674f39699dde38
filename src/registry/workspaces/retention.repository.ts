import { Injectable } from '@nestjs/common';
import { Database, empty, prepared, sql } from '#platform/db';
import type { RawJson } from '#platform/json';

const PAGE = 500;

/** Pages through the workspaces of all organizations, for the service's own work. */
@Injectable()
export class RetentionRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns the next workspaces by id, including archived ones.
   *
   * @param onlyOwn whether to omit workspaces without a retention of their own
   */
  nextWorkspaces(
    after: string,
    onlyOwn: boolean,
  ): Promise<{ org_id: string; workspace_id: string; retention: RawJson }[]> {
    return this.database.query(
      prepared(
        `workspace.retention-${onlyOwn ? 'own' : 'all'}`,
        sql`SELECT org_id, workspace_id, retention FROM workspaces
          WHERE workspace_id > ${after} ${onlyOwn ? sql`AND retention::text <> '{}'` : empty}
          ORDER BY workspace_id LIMIT ${PAGE}`,
      ),
    );
  }
}

import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import type { ToolReference } from './server-directory';

/** Tools are archived with their servers. */
const FIND_TOOLS = `SELECT DISTINCT given.server_id, given.name AS tool_name
  FROM (SELECT $1::text AS workspace_id, * FROM unnest($2::text[], $3::text[]) AS refs(server_id, name) OFFSET 0) given
  JOIN mcp_tools t USING (workspace_id, server_id, name)
  WHERE t.archived_at IS NULL`;

@Injectable()
export class ServerDirectoryRepository {
  findTools(on: SqlExecutor, scope: Scope, refs: readonly ToolReference[]): Promise<ToolReference[]> {
    return on.query<ToolReference>(FIND_TOOLS, [
      scope.workspaceId,
      refs.map((ref) => ref.server_id),
      refs.map((ref) => ref.tool_name),
    ]);
  }

  findByName(
    on: SqlExecutor,
    scope: Scope,
    names: readonly string[],
  ): Promise<{ name: string; server_id: string }[]> {
    return on.query<{ name: string; server_id: string }>(
      `SELECT name, server_id FROM mcp_servers
       WHERE workspace_id = $1 AND name = ANY ($2::text[]) AND archived_at IS NULL`,
      [scope.workspaceId, names],
    );
  }
}

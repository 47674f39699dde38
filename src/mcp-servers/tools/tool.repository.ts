import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { Database, OrgRepository, type Tx, Where } from '#platform/db';
import { toJsonText } from '#platform/json';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import type { SearchDocument } from '../../registry';
import type { ToolListQueryDto } from './tool.dto';
import { ToolEntity } from './tool.entity';

const COLUMNS = `tool_id, server_id, org_id, workspace_id, name, title, description, input_schema, output_schema,
  annotations, digest, generation, created_at, updated_at, created_by, archived_at`;

/** What tells whether a tool is to be written. */
export type KnownTool = Pick<ToolEntity, 'tool_id' | 'server_id' | 'name' | 'digest'> & {
  is_archived: boolean;
};

/** A tool to be written: one that is there keeps its id. */
export type WrittenTool = Omit<
  ToolEntity,
  'org_id' | 'workspace_id' | 'generation' | 'created_at' | 'updated_at' | 'created_by' | 'archived_at'
>;

const WRITE = `INSERT INTO mcp_tools AS t (${COLUMNS})
  SELECT tool_id, server_id, $2, $3, name, title, description, input_schema, output_schema, annotations, digest, 1, $4,
         $4, $5, NULL
  FROM json_to_recordset($1::json) AS given(tool_id text, server_id text, name text, title text, description text,
    input_schema json, output_schema json, annotations json, digest text)
  ON CONFLICT (server_id, name) DO UPDATE
    SET title = excluded.title, description = excluded.description, input_schema = excluded.input_schema,
        output_schema = excluded.output_schema, annotations = excluded.annotations, digest = excluded.digest,
        generation = t.generation + 1, updated_at = excluded.updated_at, archived_at = NULL
    WHERE t.workspace_id = excluded.workspace_id
  RETURNING tool_id, server_id, name`;

const ARCHIVED = 'SET archived_at = $3, updated_at = $3, generation = generation + 1';

@Injectable()
export class ToolRepository extends OrgRepository<ToolEntity> {
  constructor(database: Database) {
    super(database, ToolEntity, 'tool_id');
  }

  list(scope: OrgScope, serverId: string, query: ToolListQueryDto): Promise<RowPage<ToolEntity>> {
    const where = new Where(scope.orgKey).add('server_id = ?', serverId);
    return listPage<ToolEntity>(
      this.database,
      {
        columns: COLUMNS,
        from: 'mcp_tools',
        where,
        id: 'tool_id',
        sorts: BY_NAME,
        defaultSort: 'name',
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /** All tools that servers have or had. */
  known(tx: Tx, scope: Scope, serverIds: readonly string[]): Promise<KnownTool[]> {
    return tx.query<KnownTool>(
      `SELECT tool_id, server_id, name, digest, archived_at IS NOT NULL AS is_archived FROM mcp_tools
       WHERE server_id = ANY ($1::text[]) AND workspace_id = $2`,
      [serverIds, scope.workspaceId],
    );
  }

  /** Writes tools that are new, changed or returning, in one statement. */
  write(tx: Tx, scope: Scope, tools: readonly WrittenTool[]): Promise<KnownTool[]> {
    const values = [toJsonText(tools), scope.orgId, scope.workspaceId, new Date(), scope.principalId];
    return tx.query<KnownTool>(WRITE, values);
  }

  async archive(tx: Tx, scope: Scope, toolIds: readonly string[]): Promise<void> {
    await tx.query(`UPDATE mcp_tools ${ARCHIVED} WHERE tool_id = ANY ($1::text[]) AND workspace_id = $2`, [
      toolIds,
      scope.workspaceId,
      new Date(),
    ]);
  }

  /** Archives what servers offer. @returns the ids of those tools. */
  async archiveOf(tx: Tx, scope: OrgScope, serverIds: readonly string[]): Promise<string[]> {
    const rows = await tx.query<{ tool_id: string }>(
      `UPDATE mcp_tools ${ARCHIVED}
       WHERE server_id = ANY ($1::text[]) AND org_id = $2 AND archived_at IS NULL RETURNING tool_id`,
      [serverIds, scope.orgId, new Date()],
    );
    return rows.map((row) => row.tool_id);
  }

  /** What a server offers, as it is found by searches. */
  documents(tx: Tx, scope: Scope, serverId: string): Promise<SearchDocument[]> {
    return tx.query<SearchDocument>(
      `SELECT 'tool' AS type, tool_id AS id, workspace_id AS "workspaceId", name, description,
         coalesce(title, '') AS body, updated_at AS "updatedAt"
       FROM mcp_tools WHERE server_id = $1 AND workspace_id = $2 AND archived_at IS NULL`,
      [serverId, scope.workspaceId],
    );
  }
}

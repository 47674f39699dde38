import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { Database, OrgScopedRepository, raw, sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { toRawJson } from '#platform/json';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import { type SearchDocument, VersionTable } from '../../resources';
import type { ToolListQueryDto } from './tool.dto';
import { TOOL_CONTENT, ToolEntity, type ToolVersionRow } from './tool.entity';

const VERSIONED = [
  'tool_id',
  'server_id',
  'org_id',
  'workspace_id',
  ...TOOL_CONTENT,
  'digest',
  'version_ordinal',
  'version_id',
];
const COLUMNS = `${VERSIONED.join(', ')}, parameters, generation, created_at, updated_at, created_by, archived_at`;

/**
 * The maximum number of stored versions of a tool. A server can change its tools at every refresh, for example with a
 * time in each description, and its list of tools can have 16 MiB.
 */
const VERSIONS_MAX = 100;

/** A tool of a server, as agents refer to it. */
export interface ToolReference {
  server_id: string;
  tool_name: string;
}

/** The server of a tool. */
export interface ToolServer {
  tool_id: string;
  server_id: string;
  server_name: string;
}

/** An archived server. */
export interface ArchivedServer {
  server_id: string;
  archived_at: Date;
}

/** The columns that determine whether a tool must be written. */
export type ExistingTool = Pick<ToolEntity, 'tool_id' | 'server_id' | 'name' | 'digest'> & {
  is_archived: boolean;
};

/** The members of a tool in a package. */
export type PackagedTool = Pick<
  ToolEntity,
  'name' | 'title' | 'description' | 'input_schema' | 'output_schema' | 'annotations'
>;

/** What a call needs of a tool. */
export type CalledTool = Pick<ToolEntity, 'name' | 'input_schema' | 'archived_at'> & {
  has_output_schema: boolean;
};

/** The search document of a tool. */
export type ToolDocument = SearchDocument & { serverId: string };

/** A tool to write. An existing tool keeps its id. `version_id` is used if the content is new. */
export type WrittenTool = Pick<
  ToolEntity,
  (typeof TOOL_CONTENT)[number] | 'tool_id' | 'server_id' | 'digest' | 'version_id' | 'parameters'
>;

/** A tool after the write. */
type StoredTool = Pick<ToolEntity, 'tool_id' | 'server_id' | 'name' | 'version_ordinal'>;

@Injectable()
export class ToolRepository extends OrgScopedRepository<ToolEntity> {
  readonly versions: VersionTable<ToolVersionRow>;

  constructor(database: Database) {
    super(database, ToolEntity, 'tool_id');
    this.versions = new VersionTable(database, {
      table: 'mcp_tool_versions',
      resources: 'mcp_tools',
      id: 'tool_id',
      ordinal: 'version_ordinal',
      columns: VERSIONED,
    });
  }

  /** Lists the tools of a server. @param names the only tools to list; null for all */
  list(
    scope: OrgScope,
    serverId: string,
    query: ToolListQueryDto,
    names: readonly string[] | null,
  ): Promise<RowPage<ToolEntity>> {
    const where = new Where(scope.orgKey)
      .add(sql`server_id = ${serverId}`)
      .addIf(names ?? undefined, (only) => sql`name = ANY (${only}::text[])`)
      .addIndexed(query.name, (name) => sql`name COLLATE "C" = ${name}`);
    const order = { sorts: BY_NAME, defaultSort: 'name' };
    return listPage<ToolEntity>(
      this.database,
      { ...this.listed, columns: COLUMNS, where, ...order, bytes: 'bytes' },
      query,
    );
  }

  /** Finds a tool of a server by its name, archived or not. */
  async findByName(scope: OrgScope, serverId: string, name: string): Promise<ToolEntity | null> {
    const [row] = await this.database.query<ToolEntity>(
      sql`SELECT ${raw(COLUMNS)} FROM mcp_tools
        WHERE org_id = ${scope.orgId} AND server_id = ${serverId} AND name = ${name}`,
    );
    return row ?? null;
  }

  /**
   * Finds the live tools among references. Tools are archived with their servers. Within a transaction, the servers cannot be
   * deleted until it ends.
   */
  findReferenced(on: SqlExecutor, scope: Scope, refs: readonly ToolReference[]): Promise<ToolReference[]> {
    const [servers, names] = [refs.map((ref) => ref.server_id), refs.map((ref) => ref.tool_name)];
    return on.query<ToolReference>(
      sql`WITH locked AS MATERIALIZED (
          SELECT server_id FROM mcp_servers
          WHERE server_id = ANY (${servers}::text[]) AND (workspace_id = ${scope.workspaceId}) IS TRUE
          ORDER BY server_id FOR KEY SHARE
        )
        SELECT DISTINCT keys.server_id, keys.name AS tool_name
        FROM (
          SELECT ${scope.workspaceId}::text AS workspace_id, *
          FROM unnest(${servers}::text[], ${names}::text[]) AS refs(server_id, name) OFFSET 0
        ) keys
        JOIN mcp_tools t USING (workspace_id, server_id, name)
        JOIN locked USING (server_id)
        WHERE t.archived_at IS NULL`,
    );
  }

  /** Finds the live tools among references to tools of the organization. */
  findLiveTools(on: SqlExecutor, scope: OrgScope, refs: readonly ToolReference[]): Promise<ToolReference[]> {
    const [servers, names] = [refs.map((ref) => ref.server_id), refs.map((ref) => ref.tool_name)];
    return on.query<ToolReference>(
      sql`SELECT DISTINCT keys.server_id, keys.name AS tool_name
        FROM (SELECT * FROM unnest(${servers}::text[], ${names}::text[]) AS refs(server_id, name) OFFSET 0) keys
        JOIN mcp_tools t USING (server_id, name)
        WHERE (t.org_id = ${scope.orgId}) IS TRUE AND t.archived_at IS NULL`,
    );
  }

  /** Finds a tool of a server by its name, archived or not. */
  findCalled(on: SqlExecutor, scope: Scope, { server_id, tool_name }: ToolReference): Promise<CalledTool[]> {
    return on.query<CalledTool>(
      sql`SELECT name, input_schema, output_schema IS NOT NULL AS has_output_schema, archived_at FROM mcp_tools
        WHERE server_id = ${server_id} AND name = ${tool_name} AND workspace_id = ${scope.workspaceId}`,
    );
  }

  /** Finds the live tools of a server, sorted by the bytes of their names. */
  live(on: SqlExecutor, scope: Scope, serverId: string): Promise<PackagedTool[]> {
    return on.query<PackagedTool>(
      sql`SELECT name, title, description, input_schema, output_schema, annotations FROM mcp_tools
        WHERE server_id = ${serverId} AND workspace_id = ${scope.workspaceId} AND archived_at IS NULL
        ORDER BY name COLLATE "C"`,
    );
  }

  /** Finds the servers of tools of the workspace. */
  serversOf(scope: Scope, toolIds: readonly string[]): Promise<ToolServer[]> {
    return this.database.query<ToolServer>(
      sql`SELECT tool_id, server_id, s.name AS server_name FROM mcp_tools t JOIN mcp_servers s USING (server_id)
        WHERE t.tool_id = ANY (${toolIds}::text[]) AND t.workspace_id = ${scope.workspaceId}`,
    );
  }

  /** Finds the tools of servers, archived ones included. */
  findExisting(tx: Tx, scope: Scope, serverIds: readonly string[]): Promise<ExistingTool[]> {
    return tx.query<ExistingTool>(
      sql`SELECT tool_id, server_id, name, digest, archived_at IS NOT NULL AS is_archived FROM mcp_tools
        WHERE server_id = ANY (${serverIds}::text[]) AND workspace_id = ${scope.workspaceId}`,
    );
  }

  /** Writes new, changed and restored tools in one statement, and adds a version for each changed digest. */
  async write(tx: Tx, scope: Scope, tools: readonly WrittenTool[]): Promise<StoredTool[]> {
    const now = new Date();
    const versioned = raw(VERSIONED.join(', '));
    const stored = await tx.query<StoredTool>(
      sql`WITH upserted AS (
        INSERT INTO mcp_tools AS t (${raw(COLUMNS)})
        SELECT tool_id, server_id, ${scope.orgId}, ${scope.workspaceId}, name, title, description, input_schema,
               output_schema, annotations, digest, 1, version_id, parameters, 1, ${now}::timestamptz, ${now}::timestamptz,
               ${scope.principalId}, NULL
        FROM json_to_recordset(${toRawJson(tools)}::json) AS input(tool_id text, server_id text, name text, title text,
          description text, input_schema json, output_schema json, annotations json, digest text, version_id text,
          parameters text)
        ON CONFLICT (server_id, name) DO UPDATE
          SET title = excluded.title, description = excluded.description, input_schema = excluded.input_schema,
              output_schema = excluded.output_schema, annotations = excluded.annotations, digest = excluded.digest,
              version_ordinal = t.version_ordinal + (t.digest <> excluded.digest)::integer,
              version_id = CASE WHEN t.digest = excluded.digest THEN t.version_id ELSE excluded.version_id END,
              parameters = excluded.parameters, generation = t.generation + 1, updated_at = excluded.updated_at,
              archived_at = NULL
          WHERE t.workspace_id = excluded.workspace_id
        RETURNING ${versioned}
      ), versions AS (
        INSERT INTO mcp_tool_versions (${versioned}, created_at, created_by)
        SELECT ${versioned}, ${now}::timestamptz, ${scope.principalId} FROM upserted
        -- a tool that reappeared unchanged keeps its version
        ON CONFLICT DO NOTHING
      )
      SELECT tool_id, server_id, name, version_ordinal FROM upserted`,
    );
    await this.dropOldVersions(
      tx,
      scope,
      stored.filter(({ version_ordinal }) => version_ordinal > VERSIONS_MAX),
    );
    return stored;
  }

  private async dropOldVersions(tx: Tx, scope: Scope, tools: readonly StoredTool[]): Promise<void> {
    if (tools.length === 0) return;
    const ids = tools.map(({ tool_id }) => tool_id);
    const ordinals = tools.map(({ version_ordinal }) => version_ordinal - VERSIONS_MAX);
    await tx.query(
      sql`DELETE FROM mcp_tool_versions v USING unnest(${ids}::text[], ${ordinals}::integer[]) AS input(tool_id, ordinal)
        WHERE v.tool_id = input.tool_id AND v.version_ordinal <= input.ordinal AND v.workspace_id = ${scope.workspaceId}`,
    );
  }

  async archive(tx: Tx, scope: Scope, toolIds: readonly string[]): Promise<void> {
    const now = new Date();
    await tx.query(
      sql`UPDATE mcp_tools SET archived_at = ${now}, updated_at = ${now}, generation = generation + 1
        WHERE tool_id = ANY (${toolIds}::text[]) AND workspace_id = ${scope.workspaceId}`,
    );
  }

  /** Archives the live tools of servers. @returns their ids */
  async archiveOf(tx: Tx, scope: OrgScope, serverIds: readonly string[], at: Date): Promise<string[]> {
    const rows = await tx.query<{ tool_id: string }>(
      sql`UPDATE mcp_tools SET archived_at = ${at}, updated_at = ${at}, generation = generation + 1
        WHERE server_id = ANY (${serverIds}::text[]) AND org_id = ${scope.orgId} AND archived_at IS NULL
        RETURNING tool_id`,
    );
    return rows.map((row) => row.tool_id);
  }

  /**
   * Restores the tools that were archived together with their servers.
   *
   * @param servers the servers, whose `archived_at` is still set
   */
  async restoreOf(tx: Tx, scope: Scope, servers: readonly ArchivedServer[]): Promise<void> {
    const ids = servers.map(({ server_id }) => server_id);
    const times = servers.map(({ archived_at }) => archived_at);
    await tx.query(
      sql`UPDATE mcp_tools t SET archived_at = NULL, updated_at = ${new Date()}, generation = generation + 1
        FROM unnest(${ids}::text[], ${times}::timestamptz[]) AS servers(server_id, archived_at)
        WHERE t.server_id = servers.server_id AND t.archived_at = servers.archived_at
          AND t.workspace_id = ${scope.workspaceId}`,
    );
  }

  /**
   * Returns a page of the search documents of the live tools of servers.
   *
   * @param after the last document of the previous page
   */
  documents(
    tx: Tx,
    scope: Scope,
    serverIds: readonly string[],
    after: ToolDocument | undefined,
    limit: number,
  ): Promise<ToolDocument[]> {
    const where = new Where(scope.orgKey)
      .add(sql`server_id = ANY (${serverIds}::text[])`)
      .add(sql`workspace_id = ${scope.workspaceId} AND archived_at IS NULL`)
      .addIf(after, ({ serverId, id }) => sql`(server_id, tool_id) > (${serverId}, ${id})`);
    return tx.query<ToolDocument>(
      sql`SELECT 'tool' AS type, tool_id AS id, server_id AS "serverId", workspace_id AS "workspaceId", name, description,
          concat_ws(E'\\n', nullif(title, ''), nullif(parameters, '')) AS body, updated_at AS "updatedAt"
        FROM mcp_tools WHERE ${where.sql} ORDER BY server_id, tool_id LIMIT ${limit}`,
    );
  }
}

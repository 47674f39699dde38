import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { TimeSlice } from '#platform/concurrency';
import { schemaWords, sha256OfJson, toRawJson, toRawJsonOrNull } from '#platform/json';
import type { RowPage } from '#platform/paging';
import { SearchIndex, type VersionTable } from '../../resources';
import { isRegistry, type ServerEntity } from './server.entity';
import type { DeclaredToolDto, ToolListQueryDto } from './tool.dto';
import type { ToolEntity, ToolVersionRow } from './tool.entity';
import {
  type ArchivedServer,
  type ExistingTool,
  type PackagedTool,
  type ToolDocument,
  ToolRepository,
  type WrittenTool,
} from './tool.repository';

/** The number of tools that are read and indexed together. Each can take about 50 KB. */
const INDEX_PAGE = 200;

/** The maximum number of characters of a tool's parameters that are indexed for search. */
const PARAMETERS_MAX = 2_000;

/** The server that offers tools. */
export type ToolOwner = Pick<ServerEntity, 'server_id' | 'is_system' | 'name'>;

/** The stored content of a tool. */
export type ToolContent = Omit<WrittenTool, 'tool_id' | 'server_id' | 'version_id'>;

/** The complete list of the tools of a server. */
export interface Listing {
  server: ToolOwner;
  tools: readonly ToolContent[];
}

/** The names of the tools that a listing changed. */
export interface ToolChanges {
  /** New tools, and tools that reappeared. */
  added: string[];
  updated: string[];
  archived: string[];
  unchangedCount: number;
}

export const hasChanges = ({ added, updated, archived }: ToolChanges): boolean =>
  added.length + updated.length + archived.length > 0;

/** Stores the tools that servers list, and keeps the live ones in the search index. */
@Injectable()
export class ToolStore {
  constructor(
    private readonly tools: ToolRepository,
    private readonly index: SearchIndex,
  ) {}

  /** Returns the stored content of tools. Call it before a transaction if possible, because it takes time for many tools. */
  async contentsOf(tools: readonly DeclaredToolDto[]): Promise<ToolContent[]> {
    const slice = new TimeSlice();
    const contents: ToolContent[] = [];
    for (const tool of tools) {
      if (slice.isOver()) await slice.yield();
      contents.push(contentOf(tool));
    }
    return contents;
  }

  /**
   * Replaces the tools of a server. Writes only the differences: updates a tool whose digest differs, archives a tool
   * that is no longer listed, and restores a tool that reappears, with its id. The caller must have locked the server.
   *
   * @param scope the workspace of the server
   */
  async replace(
    tx: Tx,
    scope: Scope,
    server: ToolOwner,
    tools: readonly ToolContent[],
  ): Promise<ToolChanges> {
    return (await this.replaceAll(tx, scope, [{ server, tools }])).get(server.server_id)!;
  }

  /** Replaces the tools of several servers with as few statements as for one. @returns the changes by server id */
  async replaceAll(tx: Tx, scope: Scope, listings: readonly Listing[]): Promise<Map<string, ToolChanges>> {
    const serverIds = listings.map(({ server }) => server.server_id);
    const existing = new Map<string, ExistingTool[]>(serverIds.map((id) => [id, []]));
    for (const tool of await this.tools.findExisting(tx, scope, serverIds))
      existing.get(tool.server_id)?.push(tool);
    const plans = listings.map((listing) => planOf(listing, existing.get(listing.server.server_id) ?? []));
    await this.write(tx, scope, plans);
    const archivedIds = plans.flatMap((plan) => plan.archivedIds);
    if (archivedIds.length > 0) {
      await this.tools.archive(tx, scope, archivedIds);
      await this.index.remove(tx, scope, 'tool', archivedIds);
    }
    return new Map(plans.map(({ server, changes }) => [server.server_id, changes]));
  }

  /** Returns the live tools of a server, sorted by the bytes of their names. */
  live(on: SqlExecutor, scope: Scope, serverId: string): Promise<PackagedTool[]> {
    return this.tools.live(on, scope, serverId);
  }

  list(
    scope: OrgScope,
    serverId: string,
    query: ToolListQueryDto,
    names: readonly string[] | null,
  ): Promise<RowPage<ToolEntity>> {
    return this.tools.list(scope, serverId, query, names);
  }

  /** The versions of tools. */
  get versions(): VersionTable<ToolVersionRow> {
    return this.tools.versions;
  }

  find(scope: OrgScope, id: string): Promise<ToolEntity | null> {
    return this.tools.find(scope, id);
  }

  /** Finds a tool of a server by its name, archived or not. */
  findByName(scope: OrgScope, serverId: string, name: string): Promise<ToolEntity | null> {
    return this.tools.findByName(scope, serverId, name);
  }

  /** Archives the tools of servers. @param at when the servers are archived */
  async archiveOf(tx: Tx, scope: OrgScope, serverIds: readonly string[], at: Date): Promise<void> {
    if (serverIds.length === 0) return;
    await this.index.remove(tx, scope, 'tool', await this.tools.archiveOf(tx, scope, serverIds, at));
  }

  /**
   * Restores the tools that were archived together with their servers.
   *
   * @param servers the servers, whose `archived_at` is still set
   */
  async restoreOf(tx: Tx, scope: Scope, servers: readonly (ToolOwner & ArchivedServer)[]): Promise<void> {
    if (servers.length === 0) return;
    await this.tools.restoreOf(tx, scope, servers);
    await this.reindex(tx, scope, servers);
  }

  /** Adds the tools of servers to the search index, and removes the tools of hidden servers. */
  async reindex(tx: Tx, scope: Scope, servers: readonly ToolOwner[]): Promise<void> {
    const serverIds = servers.map(({ server_id }) => server_id);
    const hidden = new Set(servers.filter(isRegistry).map(({ server_id }) => server_id));
    let last: ToolDocument | undefined;
    do {
      const page = await this.tools.documents(tx, scope, serverIds, last, INDEX_PAGE);
      const removed = page.filter(({ serverId }) => hidden.has(serverId));
      await this.index.remove(
        tx,
        scope,
        'tool',
        removed.map(({ id }) => id),
      );
      await this.index.put(
        tx,
        scope,
        page.filter(({ serverId }) => !hidden.has(serverId)),
      );
      last = page.length === INDEX_PAGE ? page.at(-1) : undefined;
    } while (last);
  }

  private async write(tx: Tx, scope: Scope, plans: readonly Plan[]): Promise<void> {
    const rows = plans.flatMap((plan) => plan.rows);
    if (rows.length === 0) return;
    const written = await this.tools.write(tx, scope, rows);
    const hidden = new Set(plans.flatMap(({ server }) => (isRegistry(server) ? [server.server_id] : [])));
    const byKey = new Map(rows.map((row) => [keyOf(row), row]));
    const documents = written
      .filter(({ server_id }) => !hidden.has(server_id))
      .map((tool) => {
        const { name, description, title, parameters } = byKey.get(keyOf(tool))!;
        return {
          type: 'tool',
          id: tool.tool_id,
          workspaceId: scope.workspaceId,
          name,
          description,
          body: [title, parameters].filter(Boolean).join('\n'),
        } as const;
      });
    await this.index.put(tx, scope, documents);
  }
}

const keyOf = ({ server_id, name }: Pick<WrittenTool, 'server_id' | 'name'>): string =>
  `${server_id}/${name}`;

interface Plan {
  server: ToolOwner;
  rows: WrittenTool[];
  /** The ids of the tools to archive. */
  archivedIds: string[];
  changes: ToolChanges;
}

function planOf({ server, tools }: Listing, existing: readonly ExistingTool[]): Plan {
  const byName = new Map(existing.map((tool) => [tool.name, tool]));
  const changes: ToolChanges = { added: [], updated: [], archived: [], unchangedCount: 0 };
  const rows: WrittenTool[] = [];
  for (const tool of tools) {
    const ids = { tool_id: newId('tool'), version_id: newId('ver'), server_id: server.server_id };
    const row = { ...tool, ...ids };
    const present = byName.get(tool.name);
    if (present && !present.is_archived && present.digest === row.digest) {
      changes.unchangedCount += 1;
      continue;
    }
    (present && !present.is_archived ? changes.updated : changes.added).push(tool.name);
    rows.push(row);
  }
  const listed = new Set(tools.map(({ name }) => name));
  const archived = existing.filter(({ name, is_archived }) => !is_archived && !listed.has(name));
  changes.archived = archived.map(({ name }) => name);
  return { server, rows, archivedIds: archived.map(({ tool_id }) => tool_id), changes };
}

/** Returns a tool in its stored form. */
function contentOf(tool: DeclaredToolDto): ToolContent {
  const { name, title = null, description = null, annotations = null } = tool;
  const content = {
    name,
    title,
    description,
    input_schema: toRawJson(tool.input_schema ?? tool.inputSchema),
    output_schema: toRawJsonOrNull(tool.output_schema ?? tool.outputSchema),
    annotations: toRawJsonOrNull(annotations),
  };
  const digest = sha256OfJson(toRawJson(content));
  return { ...content, digest, parameters: schemaWords(content.input_schema.parse(), PARAMETERS_MAX) };
}

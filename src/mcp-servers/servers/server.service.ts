import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { runUnjoined } from '#platform/concurrency';
import type { Tx } from '#platform/db';
import { patchMetadata, Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import { urlFault } from '#platform/outbound';
import { type Page, toPage } from '#platform/paging';
import { type FieldError, problem } from '#platform/problem';
import { SecretBox } from '#platform/secrets';
import {
  type AnyOf,
  type AuditChange,
  auditedChanges,
  checkFaults,
  type CopySource,
  type InstalledArtifact,
  markDrifted,
  newOwned,
  OWNED_READERS,
  OwnedService,
  pick,
  readable,
  type ResourceAction,
  type ResourceKind,
  ResourceKit,
  narrowScope,
} from '../../resources';
import { SERVER_AUTH, withoutSecrets } from './server-auth';
import type { ServerAuthDto } from './server-auth.dto';
import { installedServer, type PackagedServer } from './server-package';
import { uncheckedHealth } from './server-health';
import {
  type CreateServerDto,
  type PatchServerDto,
  type ServerDto,
  type ServerListQueryDto,
  type ServerVersionDto,
  toServerDto,
  toServerVersionDto,
} from './server.dto';
import {
  AUDITED_FIELDS,
  healthAfter,
  isRegistry,
  SERVER_SECRET,
  SERVER_URL_SECRETS,
  type ServerEntity,
  type ServerVersionRow,
  TARGET_FIELDS,
  toServerDocument,
  VERSIONED_FIELDS,
} from './server.entity';
import { ServerRepository } from './server.repository';
import { type HiddenParts, newUrlColumns, newUrlFaults, patchedUrlColumns } from './server-urls';
import { toolFaults } from './tool-faults';
import { hasChanges, type ToolChanges, type ToolContent, ToolStore } from './tool-store';
import { type DeclaredToolDto, type ToolDto, type ToolListQueryDto, toToolDto } from './tool.dto';
import type { ToolEntity } from './tool.entity';

/** The columns that hold secrets. */
const SECRETS: readonly string[] = ['auth_secret', 'url_secrets'];

/** Describes servers to the resource kit. */
export const SERVER: ResourceKind<ServerEntity, ServerDto> = {
  noun: 'server',
  type: 'mcp_server',
  readers: OWNED_READERS,
  id: 'server_id',
  generation: 'generation',
  immutable: ['server_id', 'is_system'],
  auditedChanges: auditedServerChanges,
  createdFields: ['name', 'acquired_from'],
  versions: { ordinal: 'version_ordinal', fields: VERSIONED_FIELDS },
  unique: { constraint: 'mcp_servers_name', field: 'name', inPaths: true },
  // Declarations contain no secrets, so a new secret does not count as drift.
  derived: (row, changed) => ({
    ...healthAfter(changed),
    ...(Object.keys(changed).every((column) => SECRETS.includes(column)) ? {} : markDrifted(row, changed)),
  }),
  search: {
    type: 'mcp_server',
    document: (row) => (isRegistry(row) ? null : toServerDocument(row)),
  },
  toView: toServerDto,
};

/** Registered MCP servers and their tools. `connection/` connects to them. */
@Injectable()
export class ServerService extends OwnedService<ServerEntity, ServerDto, ServerVersionRow, ServerVersionDto> {
  constructor(
    kit: ResourceKit,
    private readonly servers: ServerRepository,
    private readonly tools: ToolStore,
    private readonly box: SecretBox,
  ) {
    super(kit, servers, SERVER, toServerVersionDto);
  }

  /**
   * Errors: 400 for an invalid URL, header or tool and an unknown workspace; 403; 409 for a name that is taken.
   *
   * @param parts the secret parts of the URL, if it has placeholders for them
   */
  async create(
    scope: OrgScope,
    dto: CreateServerDto,
    parts: HiddenParts = {},
  ): Promise<Versioned<ServerDto>> {
    checkFaults(faultsIn(dto, parts));
    const tools = dto.tools && (await this.tools.contentsOf(dto.tools as DeclaredToolDto[]));
    const roles: AnyOf = dto.is_system === true ? ['admin'] : ['editor'];
    return this.transaction(scope, async (tx) => {
      const workspace = await this.kit.access.enter(tx, scope, dto.workspace_id, roles);
      const row = await this.insert(tx, scope, this.newRow(scope, dto, parts));
      if (tools) await this.tools.replace(tx, workspace, row, tools);
      return this.versioned(row);
    });
  }

  /**
   * Creates a copy of a published server, or updates an existing copy to the content of a package. The caller runs the
   * transaction and locks the workspace against archiving. Errors: 403, 404, 409 naming the server that has the name.
   *
   * @returns the copy, and the setup that it still needs
   */
  async install(
    tx: Tx,
    scope: Scope,
    { copy, from: acquired_from }: CopySource,
    server: PackagedServer,
  ): Promise<InstalledArtifact> {
    const tools = await this.tools.contentsOf(server.tools);
    const created = { ...this.newRow(scope, { ...server, workspace_id: scope.workspaceId }), acquired_from };
    if (!copy) {
      await this.checkNameFree(tx, scope, created);
      await this.insert(tx, scope, created);
      await this.tools.replace(tx, scope, created, tools);
      return installedServer(null, created);
    }
    const before = await this.lock(tx, scope, copy.artifact_id, 'update');
    const columns = pick(created, [...VERSIONED_FIELDS, 'acquired_from']);
    const next = { ...before, ...columns };
    await this.checkNameFree(tx, scope, next);
    // Stricter than a PATCH, because the publisher chose the URL, and the secret is not the publisher's.
    const isSameTarget =
      next.url === before.url &&
      next.auth_token_url === before.auth_token_url &&
      SERVER_AUTH.changedTarget(before, next) === null;
    const hasNewTools =
      !before.tools_listed_at && hasChanges(await this.tools.replace(tx, scope, next, tools));
    const patch = {
      ...columns,
      ...(!isSameTarget && { auth_secret: null, url_secrets: null }),
      ...(hasNewTools && { updated_at: new Date() }),
    };
    const installed = installedServer(before, await this.write(tx, scope, before, patch, 'update'));
    return hasNewTools ? { ...installed, change: 'updated' } : installed;
  }

  /**
   * Errors: those of every change; 400 for invalid values and a missing secret; 409 for `tools` if the server lists its
   * tools itself.
   */
  async patch(
    scope: OrgScope,
    id: string,
    dto: PatchServerDto,
    ifMatch?: string,
  ): Promise<Versioned<ServerDto>> {
    checkFaults([...urlFaults(dto.url), ...toolFaults(dto.tools ?? [], '/tools')]);
    const tools = dto.tools && (await this.tools.contentsOf(dto.tools as DeclaredToolDto[]));
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'update');
      const url = dto.url ?? row.url;
      const auth = SERVER_AUTH.patched(row, dto.auth, url, this.box, SERVER_SECRET.of(id));
      const { auth_token_url = row.auth_token_url } = auth;
      const urls = patchedUrlColumns(row, { url, auth_token_url }, this.box);
      checkFaults(urls.faults);
      const columns = {
        name: dto.name,
        description: dto.description,
        transport: dto.transport,
        ...auth,
        ...urls.columns,
        metadata: patchMetadata(row.metadata, dto.metadata),
      };
      await this.checkChange(tx, scope, row, dto, ifMatch);
      const hasNewTools = tools !== undefined && (await this.replaceTools(tx, scope, row, tools ?? []));
      // Setting `updated_at` makes new tools a change of the server, even if no other column changes.
      const patch = hasNewTools ? { ...columns, updated_at: new Date() } : columns;
      const changed = await this.write(tx, scope, row, patch, 'update');
      if (isRegistry(changed) !== isRegistry(row)) {
        await this.tools.reindex(tx, narrowScope(scope, row.workspace_id), [changed]);
      }
      return this.versioned(changed);
    });
  }

  /** Lists servers. @param ids the only servers to list; null for all */
  async listAmong(
    scope: OrgScope,
    query: ServerListQueryDto,
    ids: readonly string[] | null,
  ): Promise<Page<ServerDto>> {
    return this.page(await this.servers.listAmong(scope, query, ids));
  }

  /** Lists the tools of a server. @param names the only tools to list; null for all */
  async listTools(
    scope: OrgScope,
    id: string,
    query: ToolListQueryDto,
    names: readonly string[] | null = null,
  ): Promise<Page<ToolDto>> {
    await this.find(scope, id);
    return toPage(await this.tools.list(scope, id, query, names), toToolDto);
  }

  async getTool(scope: OrgScope, id: string, toolId: string): Promise<Versioned<ToolDto>> {
    const row = await this.findToolOf(scope, id, toolId);
    return new Versioned(toToolDto(row), row.generation);
  }

  /** Returns the row of a tool that the caller may read. Errors: 404. */
  async findToolOf(scope: OrgScope, id: string, toolId: string): Promise<ToolEntity> {
    await this.find(scope, id);
    const row = await this.tools.find(scope, toolId);
    if (row?.server_id !== id) throw problem.notFound('tool', toolId);
    return row;
  }

  /** Finds a server for a scheduled check, without an access check. Null if it does not exist. */
  findForCheck(scope: OrgScope, id: string): Promise<ServerEntity | null> {
    return this.servers.find(scope, id);
  }

  /** Returns a live server that the caller may change, to connect to it. Errors: 404, 403, 409 for an archived one. */
  findUsable(scope: OrgScope, id: string): Promise<ServerEntity> {
    const check = async (tx: Tx): Promise<ServerEntity> => {
      const row = await this.admit(tx, scope, await this.servers.lock(tx, scope, id, 'share'), id, 'update');
      this.checkWritable(row);
      await this.checkOpen(tx, scope, row);
      return row;
    };
    // holds neither a connection nor the lock while the server answers
    return runUnjoined(() => this.transaction(scope, check));
  }

  /**
   * Replaces the tools of a server with the tools that it listed. The generation of the server stays, because its
   * configuration does not change. Errors: 409 if the server was archived, or its URL, transport or `auth` was changed,
   * during the listing.
   *
   * @param before the server at the start of the listing
   */
  applyListing(scope: OrgScope, before: ServerEntity, tools: readonly ToolContent[]): Promise<ToolChanges> {
    const { server_id: id } = before;
    return this.transaction(scope, async (tx) => {
      const row = await this.servers.lock(tx, scope, id, 'update');
      if (!row || row.archived_at || !this.hasSameTarget(row, before)) {
        throw problem.conflict('The server was changed while it listed its tools. Try again.');
      }
      await this.checkOpen(tx, scope, row);
      const changes = await this.tools.replace(tx, narrowScope(scope, row.workspace_id), row, tools);
      await this.servers.markListed(tx, scope, id);
      if (hasChanges(changes)) {
        const entry = { action: 'update', type: 'mcp_server', id, workspaceId: row.workspace_id } as const;
        await this.kit.audit.record(tx, scope, { ...entry, changes: [{ member: 'tools' }] });
      }
      return changes;
    });
  }

  /** Tells whether two states of a server are reached in the same way. A rotation of keys seals the same secrets again. */
  private hasSameTarget(row: ServerEntity, before: ServerEntity): boolean {
    const uses = {
      auth_secret: SERVER_SECRET.of(row.server_id),
      url_secrets: SERVER_URL_SECRETS.of(row.server_id),
    };
    return TARGET_FIELDS.every((column) => {
      if (row[column] === before[column]) return true;
      if (column !== 'auth_secret' && column !== 'url_secrets') return false;
      const [sealed, use] = [before[column], uses[column]];
      return sealed !== null && this.box.isSame(row[column], this.box.open(sealed, use), use);
    });
  }

  /** Finds a tool by its id. Errors: 404. */
  async findTool(scope: OrgScope, toolId: string): Promise<ToolDto> {
    const row = await this.tools.find(scope, toolId);
    return toToolDto(readable(scope, row, 'tool', toolId, SERVER.readers));
  }

  /** Finds a tool of a server by its name. Errors: 404. */
  async findNamedTool(scope: OrgScope, id: string, name: string): Promise<ToolDto> {
    const { tools_listed_at } = await this.find(scope, id);
    const row = await this.tools.findByName(scope, id, name);
    const hint = tools_listed_at ? '' : 'The server has not listed its tools yet. Refresh the server.';
    if (!row) throw problem.notFound('tool', name, hint);
    return toToolDto(row);
  }

  /** Archives the server's tools and deletes its secrets. */
  protected override async onArchive(tx: Tx, scope: OrgScope, row: ServerEntity, at: Date) {
    await this.tools.archiveOf(tx, scope, [row.server_id], at);
    return { auth_secret: null, url_secrets: null };
  }

  /** Restores the tools that were archived with the server. Its secrets stay deleted. */
  protected override async onRestore(tx: Tx, scope: OrgScope, row: ServerEntity) {
    const server = { ...row, archived_at: row.archived_at! };
    await this.tools.restoreOf(tx, narrowScope(scope, row.workspace_id), [server]);
    return {};
  }

  /** Only admins may change system servers. */
  protected override rolesFor(action: ResourceAction, row: ServerEntity | null): AnyOf {
    return row?.is_system ? ['admin'] : super.rolesFor(action, row);
  }

  /** Replaces the tools. Errors: 409 for a server that has listed its tools itself. @returns whether tools changed */
  private async replaceTools(
    tx: Tx,
    scope: OrgScope,
    row: ServerEntity,
    tools: readonly ToolContent[],
  ): Promise<boolean> {
    if (row.tools_listed_at) {
      throw problem.conflict('This server lists its tools itself. Remove `tools` from the body.');
    }
    return hasChanges(await this.tools.replace(tx, narrowScope(scope, row.workspace_id), row, tools));
  }

  private newRow(scope: OrgScope, dto: CreateServerDto, parts: HiddenParts = {}): ServerEntity {
    const serverId = newId('mcps');
    const auth: ServerAuthDto = dto.auth ?? { type: 'none' };
    const authColumns = SERVER_AUTH.columns(auth);
    return {
      ...newOwned(scope, dto.workspace_id),
      server_id: serverId,
      name: dto.name,
      description: dto.description ?? null,
      transport: dto.transport ?? 'streamable_http',
      ...authColumns,
      ...newUrlColumns(
        serverId,
        { url: dto.url, auth_token_url: authColumns.auth_token_url },
        parts,
        this.box,
      ),
      auth_secret: SERVER_AUTH.sealed(auth, this.box, SERVER_SECRET.of(serverId)),
      is_system: dto.is_system ?? false,
      metadata: toRawJson(dto.metadata ?? {}),
      declared_name: null,
      tools_listed_at: null,
      ...uncheckedHealth(),
    };
  }
}

/** Returns the changes for the audit log, without secrets. A change of the tools is recorded without its content. */
function auditedServerChanges(row: ServerEntity, changed: Partial<ServerEntity>): AuditChange[] {
  // `updated_at` is set only if the tools changed. The health follows from other columns.
  const { updated_at, ...others } = changed;
  const health = Object.keys(uncheckedHealth());
  const columns = Object.fromEntries(Object.entries(others).filter(([column]) => !health.includes(column)));
  const tools = updated_at ? [{ member: 'tools' }] : [];
  return [...withoutSecrets(auditedChanges(row, columns, AUDITED_FIELDS)), ...tools];
}

function faultsIn({ url, auth, tools }: CreateServerDto, parts: HiddenParts): FieldError[] {
  return [
    ...urlFaults(url),
    ...newUrlFaults(url, '/url', parts),
    ...newUrlFaults(auth?.token_url, '/auth/token_url', {}),
    ...(auth ? SERVER_AUTH.newFaults(auth, '/auth') : []),
    ...toolFaults(tools ?? [], '/tools'),
  ];
}

function urlFaults(url: string | undefined): FieldError[] {
  const detail = url === undefined ? null : urlFault(url);
  return detail === null ? [] : [{ pointer: '/url', detail }];
}

import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkIfMatch, checkImmutable, checkValues, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { ListQueryDto, Page } from '#platform/paging';
import { type FieldError, problem } from '#platform/problem';
import {
  AuditLog,
  given,
  changesOf,
  checkLive,
  checkNotMoved,
  readable,
  SearchIndex,
  within,
  WorkspaceAccess,
} from '../../registry';
import { toolFaults } from '../tools/tool-form';
import { hasChanges, ToolStore } from '../tools/tool-store';
import { changesOfServer, checkUrl, isVersioned, told, touched } from './server-change';
import type {
  CreateServerDto,
  PatchServerDto,
  ServerDto,
  ServerListQueryDto,
  ServerVersionDto,
} from './server.dto';
import { isRegistry, type ServerEntity } from './server.entity';
import { authFaults, urlFault } from './server-form';
import { toDocument, toServerDto, toServerVersionDto, versionedView } from './server.mapper';
import { ServerRepository } from './server.repository';
import { ServerSecrets } from './server-secrets';

export const KIND = 'server';

/** MCP servers, as they are registered. Nothing here speaks to them. */
@Injectable()
export class ServerService {
  constructor(
    private readonly database: Database,
    private readonly access: WorkspaceAccess,
    private readonly servers: ServerRepository,
    private readonly tools: ToolStore,
    private readonly secrets: ServerSecrets,
    private readonly audit: AuditLog,
    private readonly index: SearchIndex,
  ) {}

  /**
   * Registers a server. Errors: 400 for an address, a header or tools that are none, and an unknown workspace; 403; 409
   * when the name is taken or the workspace archived.
   */
  create(scope: OrgScope, dto: CreateServerDto): Promise<Versioned<ServerDto>> {
    const faults = faultsIn(dto);
    if (faults.length > 0) throw problem.invalidFields(faults);
    return this.database.transaction(async (tx) => {
      const role = dto.is_system === true ? 'admin' : 'editor';
      const workspace = await this.access.enter(tx, scope, dto.workspace_id, [role]);
      const row = this.newRow(scope, dto);
      await this.servers.insert(row, tx);
      await this.servers.keepVersions(tx, scope, [row.server_id]);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'create',
        changes: given({ name: row.name }),
      });
      await this.keepFound(tx, scope, row);
      if (dto.tools) await this.tools.replace(tx, workspace, row, dto.tools);
      return versionedView(row);
    });
  }

  async list(scope: OrgScope, query: ServerListQueryDto): Promise<Page<ServerDto>> {
    const { rows, page } = await this.servers.list(scope, query);
    return { items: rows.map(toServerDto), page };
  }

  async get(scope: OrgScope, id: string): Promise<Versioned<ServerDto>> {
    return versionedView(await this.read(scope, id));
  }

  /** A server that the caller may read; 404 otherwise. */
  async read(scope: OrgScope, id: string): Promise<ServerEntity> {
    return readable(scope, await this.servers.find(scope, id), KIND, id);
  }

  /**
   * A patch of what is versioned makes a version. Errors: 400, 404, 403, 412 for a stale `If-Match`, 409 when it or its
   * workspace is archived, or the name is taken.
   */
  patch(scope: OrgScope, id: string, dto: PatchServerDto, ifMatch?: string): Promise<Versioned<ServerDto>> {
    if (dto.url !== undefined) checkUrl(dto.url);
    checkTools(dto.tools ?? []);
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id, 'editor');
      checkIfMatch(ifMatch, row.generation);
      checkLive(row, KIND);
      checkNotMoved(row, dto.workspace_id);
      checkImmutable(row, dto, ['server_id', 'is_system']);
      checkValues(dto);
      const hasOtherTools = await this.replaceTools(tx, scope, row, dto);
      const own = changesOfServer(row, dto, this.secrets);
      const changes = hasOtherTools ? touched(row, own) : own;
      if (!changes) return versionedView(row);
      const makesVersion = isVersioned(changes);
      const written = makesVersion
        ? { ...changes, version_ordinal: row.version_ordinal + 1, version_id: newId('ver') }
        : changes;
      await this.servers.update(tx, scope, id, written);
      if (makesVersion) await this.servers.keepVersions(tx, scope, [id]);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'update',
        changes: [...told(row, changes), ...(hasOtherTools ? [{ member: 'tools' }] : [])],
      });
      const wasRegistry = isRegistry(row);
      const changed = Object.assign(row, written);
      await this.keepFound(tx, scope, changed);
      if (isRegistry(changed) !== wasRegistry) {
        await this.tools.keepFound(tx, within(scope, row.workspace_id), changed);
      }
      return versionedView(changed);
    });
  }

  /** Whether a patch changes what the server is known to offer. 409 where the server was asked itself. */
  private async replaceTools(
    tx: Tx,
    scope: OrgScope,
    row: ServerEntity,
    { tools }: PatchServerDto,
  ): Promise<boolean> {
    if (tools === undefined) return false;
    if (row.tools_listed_at)
      throw problem.conflict('The server was asked for its tools, and tells them itself.');
    const changes = await this.tools.replace(tx, within(scope, row.workspace_id), row, tools ?? []);
    return hasChanges(changes);
  }

  /** Archives a server with its tools, and deletes its secret; repeated, it answers the same. Its name is free again. */
  archive(scope: OrgScope, id: string, ifMatch?: string): Promise<Versioned<ServerDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id, 'admin');
      if (!row.archived_at) checkIfMatch(ifMatch, row.generation);
      const archived = { archived_at: new Date(), auth_secret: null };
      const changes = row.archived_at ? null : changesOf(row, archived);
      if (!changes) return versionedView(row);
      await this.servers.update(tx, scope, id, changes);
      await this.tools.archiveOf(tx, scope, [id]);
      await this.audit.record(tx, scope, { ...audited(row), action: 'archive' });
      await this.index.remove(tx, scope, 'mcp_server', id);
      return versionedView(Object.assign(row, changes));
    });
  }

  async listVersions(scope: OrgScope, id: string, query: ListQueryDto): Promise<Page<ServerVersionDto>> {
    await this.read(scope, id);
    const { rows, page } = await this.servers.listVersions(scope, id, query);
    return { items: rows.map(toServerVersionDto), page };
  }

  async getVersion(scope: OrgScope, id: string, ordinal: number): Promise<Versioned<ServerVersionDto>> {
    await this.read(scope, id);
    const row = await this.servers.findVersion(scope, id, ordinal);
    if (!row) throw problem.notFound('server version', String(ordinal));
    return { view: toServerVersionDto(row), version: row.version_ordinal };
  }

  /** What only an admin may make, only an admin may change. */
  private async lock(tx: Tx, scope: OrgScope, id: string, role: 'editor' | 'admin'): Promise<ServerEntity> {
    const row = await this.servers.lock(tx, scope, id, 'update');
    return this.access.admit(tx, scope, row, KIND, id, [row?.is_system ? 'admin' : role]);
  }

  /** Has a live server found by searches, unless it is the one that is never seen. */
  private keepFound(tx: Tx, scope: OrgScope, row: ServerEntity): Promise<void> {
    return isRegistry(row)
      ? this.index.remove(tx, scope, 'mcp_server', row.server_id)
      : this.index.put(tx, scope, toDocument(row));
  }

  private newRow(scope: OrgScope, dto: CreateServerDto): ServerEntity {
    const now = new Date();
    const serverId = newId('mcps');
    const { type = 'none', header = null, value = null } = dto.auth ?? {};
    return {
      server_id: serverId,
      org_id: scope.orgId,
      workspace_id: dto.workspace_id,
      name: dto.name,
      description: dto.description ?? null,
      url: dto.url,
      transport: dto.transport ?? 'streamable_http',
      auth_type: type,
      auth_header: header,
      auth_secret: value === null ? null : this.secrets.seal(serverId, value),
      is_system: dto.is_system ?? false,
      metadata: toRawJson(dto.metadata ?? {}),
      app_id: null,
      app: null,
      declared_name: null,
      sync_state: 'unmanaged',
      tools_listed_at: null,
      version_ordinal: 1,
      version_id: newId('ver'),
      generation: 1,
      created_at: now,
      updated_at: now,
      created_by: scope.principalId,
      archived_at: null,
    };
  }
}

function faultsIn({ url, auth, tools }: CreateServerDto): FieldError[] {
  const ofUrl = urlFault(url);
  const isSecretMissing = auth && auth.type !== 'none' && auth.value == null;
  return [
    ...(ofUrl === null ? [] : [{ pointer: '/url', detail: ofUrl }]),
    ...(auth ? authFaults(auth, '/auth') : []),
    ...(isSecretMissing ? [{ pointer: '/auth/value', detail: `is required of the type ${auth.type}` }] : []),
    ...toolFaults(tools ?? [], '/tools'),
  ];
}

function checkTools(tools: readonly unknown[]): void {
  const faults = toolFaults(tools, '/tools');
  if (faults.length > 0) throw problem.invalidFields(faults);
}

const audited = (row: ServerEntity) => ({
  type: 'mcp_server' as const,
  id: row.server_id,
  workspaceId: row.workspace_id,
});

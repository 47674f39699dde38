import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { storedJson } from '#platform/json';
import type { FieldError } from '#platform/problem';
import {
  type Declared,
  type Matched,
  newOwned,
  OwnedReconcileStep,
  type OwningApp,
  type ReconcileDraft,
  type ReconcilePlan,
  type ReconcileResult,
  ReconcileSteps,
  ResourceKit,
  sha256OrNull,
} from '../../resources';
import { SERVER_AUTH } from '../servers/server-auth';
import { AUTH_COLUMNS, REGISTRY_NAME, type ServerEntity } from '../servers/server.entity';
import { uncheckedHealth } from '../servers/server-health';
import { type ComparedServer, ServerRepository } from '../servers/server.repository';
import { SERVER } from '../servers/server.service';
import { hasChanges, type Listing, type ToolChanges, ToolStore } from '../servers/tool-store';
import {
  type DeclaredServer,
  combinedSpecFaults,
  readDeclared,
  ServerSpecDto,
  specFaults,
} from './server-spec';

type PresentServer = Matched<DeclaredServer, ComparedServer, ComparedServer>;
type ServerDraft = ReconcileDraft<ServerEntity, DeclaredServer>;

/** Reconciles the MCP servers that an app declares, and their tools. Users can rename a declared server. */
@Injectable()
export class ServerReconcileStep extends OwnedReconcileStep<ServerEntity, DeclaredServer, ComparedServer> {
  readonly specType = ServerSpecDto;
  /** The declarations that changed the tools of an existing server. */
  private readonly withNewTools = new WeakSet<DeclaredServer>();

  constructor(
    steps: ReconcileSteps,
    kit: ResourceKit,
    private readonly servers: ServerRepository,
    private readonly tools: ToolStore,
  ) {
    super(steps, kit, servers, SERVER);
  }

  faultsIn(_name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    return specFaults(spec, pointer);
  }

  override combinedFaults(declared: readonly Declared[]): FieldError[] {
    return combinedSpecFaults(declared);
  }

  /** Also archives the system servers named `registry` in all workspaces of the organization. */
  override async apply(
    tx: Tx,
    scope: Scope,
    app: OwningApp,
    declared: readonly Declared[],
    plan?: ReconcilePlan,
  ): Promise<ReconcileResult> {
    const at = new Date();
    const registries = await this.servers.archiveRegistry(tx, scope, at);
    const ids = registries.map(({ id }) => id);
    await this.tools.archiveOf(tx, scope, ids, at);
    await this.recordArchived(tx, scope, registries);
    plan?.addArchived(
      this.kind,
      registries.map(() => REGISTRY_NAME),
    );
    const result = await super.apply(tx, scope, app, declared, plan);
    return { ...result, archived: [...ids, ...result.archived] };
  }

  protected override async archive(tx: Tx, scope: Scope, ids: readonly string[], at: Date): Promise<void> {
    await super.archive(tx, scope, ids, at);
    await this.tools.archiveOf(tx, scope, ids, at);
  }

  protected read(_tx: Tx, _scope: Scope, declared: readonly Declared[]) {
    return Promise.resolve({ contents: declared.map(readDeclared), faults: [] });
  }

  /** Replaces the tools before the comparison, because a server counts as different if its tools changed. */
  protected override async beforeCompare(
    tx: Tx,
    scope: Scope,
    present: readonly PresentServer[],
  ): Promise<void> {
    const archived = present.flatMap(({ name, row: { id, archived_at } }) =>
      archived_at ? { ...ownerOf(id, name), archived_at } : [],
    );
    await this.tools.restoreOf(tx, scope, archived);
    const unlisted = present.filter(({ row }) => !row.tools_listed_at);
    const changes = await this.replaceTools(
      tx,
      scope,
      unlisted.map(({ content, row }) => ({ content, id: row.id })),
    );
    for (const { content, row } of unlisted) {
      const ownChanges = changes.get(row.id);
      if (ownChanges && hasChanges(ownChanges)) this.withNewTools.add(content);
    }
  }

  protected isDifferent(row: ComparedServer, content: DeclaredServer): boolean {
    const { columns } = content;
    return (
      this.withNewTools.has(content) ||
      COMPARED.some((member) => row[member] !== columns[member]) ||
      row.description_sha256 !== sha256OrNull(columns.description) ||
      row.metadata_sha256 !== sha256OrNull(storedJson(columns.metadata.text))
    );
  }

  protected newRow(scope: Scope, app: OwningApp, name: string, { columns }: DeclaredServer): ServerEntity {
    return {
      ...newOwned(scope, scope.workspaceId, app),
      server_id: newId('mcps'),
      declared_name: name,
      ...columns,
      auth_secret: null,
      url_secrets: null,
      is_system: false,
      tools_listed_at: null,
      ...uncheckedHealth(),
    };
  }

  /** Removes the secrets if their targets change, so that a declaration cannot send them elsewhere. */
  protected columnsOf(row: ServerEntity, content: DeclaredServer): Partial<ServerEntity> {
    const { columns } = content;
    return {
      ...columns,
      ...(TARGET.some((column) => columns[column] !== row[column]) && uncheckedHealth()),
      ...(SERVER_AUTH.changedTarget(row, columns) !== null && { auth_secret: null }),
      ...(URLS.some((column) => columns[column] !== row[column]) && { url_secrets: null }),
      ...(this.withNewTools.has(content) && { updated_at: new Date() }),
    };
  }

  protected override async write(tx: Tx, scope: Scope, drafts: readonly ServerDraft[]): Promise<void> {
    await super.write(tx, scope, drafts);
    const created = drafts.filter(({ before }) => !before);
    await this.replaceTools(
      tx,
      scope,
      created.map(({ row, content }) => ({ content, id: row.server_id })),
    );
  }

  /** Replaces the tools of servers whose declarations have `tools`. @returns the changes by server id */
  private async replaceTools(
    tx: Tx,
    scope: Scope,
    servers: readonly { id: string; content: DeclaredServer }[],
  ): Promise<ReadonlyMap<string, ToolChanges>> {
    const listings: Listing[] = [];
    for (const { id, content } of servers) {
      const { columns, tools } = content;
      if (!tools) continue;
      const contents = await this.tools.contentsOf(tools);
      listings.push({ server: ownerOf(id, columns.name), tools: contents });
    }
    return listings.length === 0 ? new Map() : this.tools.replaceAll(tx, scope, listings);
  }
}

/** An app cannot declare a system server. */
const ownerOf = (server_id: string, name: string) => ({ server_id, name, is_system: false });

/** The declared columns that determine how to reach a server. */
const TARGET = ['url', 'transport', ...AUTH_COLUMNS] as const;
const URLS = ['url', 'auth_token_url'] as const;
const COMPARED = ['name', ...TARGET] as const;

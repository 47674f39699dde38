import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { FieldError } from '#platform/problem';
import {
  type AuditChange,
  AuditLog,
  type Declared,
  given,
  type ReconciledApp,
  ReconcileRefused,
  type ReconcileResult,
  ReconcileStep,
  ReconcileSteps,
  SearchIndex,
} from '../../resources';
import { withoutSecrets } from '../servers/server-auth';
import { AUDITED_FIELDS, type ServerEntity, toServerDocument } from '../servers/server.entity';
import { ServerRepository } from '../servers/server.repository';
import { hasChanges, ToolStore } from '../servers/tool-store';
import { type DifferingServer, planServers, type ServerPlan } from './server-plan';
import {
  type OwnedServer,
  ServerReconcileRepository,
  type WrittenServer,
} from './server-reconcile.repository';
import { faultsAmongSpecs, readDeclared, specFaults } from './server-spec';

/** Reconciles the MCP servers of an app. A server is matched by the name in its declaration. */
@Injectable()
export class ServerReconcileStep extends ReconcileStep {
  readonly kind = 'mcp_server';

  constructor(
    steps: ReconcileSteps,
    private readonly servers: ServerRepository,
    private readonly owned: ServerReconcileRepository,
    private readonly tools: ToolStore,
    audit: AuditLog,
    index: SearchIndex,
  ) {
    super(servers, audit, index);
    steps.add(this);
  }

  faultsIn(_name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    return specFaults(spec, pointer);
  }

  override faultsAmong(declared: readonly Declared[]): FieldError[] {
    return faultsAmongSpecs(declared);
  }

  /** Also archives the system server named `registry`, in any workspace of the organization. */
  async apply(
    tx: Tx,
    scope: Scope,
    app: ReconciledApp,
    declared: readonly Declared[],
  ): Promise<ReconcileResult> {
    const wanted = declared.map(readDeclared);
    const plan = planServers(await this.owned.lockOwned(tx, scope, app), wanted);
    const archived = await this.archiveServers(tx, scope, plan.undeclared);
    await this.checkNames(tx, scope, app, plan);
    await this.change(tx, scope, plan.differing);
    await this.create(tx, scope, app, plan);
    await this.servers.mark(tx, scope, app.appId, null, 'synced');
    const updated = await this.auditUpdates(tx, scope, plan, await this.replaceTools(tx, scope, plan));
    return { created: plan.missing.map(idOf), updated, archived, liveCount: wanted.length };
  }

  private async archiveServers(tx: Tx, scope: Scope, undeclared: readonly OwnedServer[]): Promise<string[]> {
    const at = new Date();
    const ids = undeclared.map(({ server_id }) => server_id);
    await this.archive(tx, scope, ids, at);
    const registries = await this.owned.archiveRegistry(tx, scope, at);
    await this.recordArchived(
      tx,
      scope,
      registries.map(({ server_id, workspace_id }) => ({ id: server_id, workspaceId: workspace_id })),
    );
    ids.push(...registries.map(({ server_id }) => server_id));
    await this.tools.archiveOf(tx, scope, ids, at);
    return ids;
  }

  /** Refuses names that servers of others have, because an app does not take over what it does not own. */
  private async checkNames(tx: Tx, scope: Scope, app: ReconciledApp, plan: ServerPlan): Promise<void> {
    const named = [...plan.missing, ...renamed(plan.differing)].map(({ declared }) => declared);
    if (named.length === 0) return;
    const names = named.map(({ content }) => content.name);
    const taken = await this.owned.takenNames(tx, scope, app, names);
    if (taken.size === 0) return;
    const detail = 'belongs to a server in the workspace that this app does not own';
    throw new ReconcileRefused(
      named
        .filter(({ content }) => taken.has(content.name))
        .map(({ pointer }) => ({ pointer: `${pointer}/name`, detail })),
    );
  }

  private async change(tx: Tx, scope: Scope, differing: readonly DifferingServer[]): Promise<void> {
    if (differing.length === 0) return;
    const unnamed = renamed(differing).map(({ owned }) => owned.server_id);
    if (unnamed.length > 0) await this.owned.unname(tx, scope, unnamed);
    const written = differing.map((one) => one.written);
    await this.owned.change(tx, scope, written);
    const versioned = differing.filter((one) => one.written.makes_version);
    await this.servers.keepVersions(tx, scope, versioned.map(idOf));
    await this.putIntoIndex(tx, scope, written);
  }

  private async create(tx: Tx, scope: Scope, app: ReconciledApp, { missing }: ServerPlan): Promise<void> {
    if (missing.length === 0) return;
    const written = missing.map((one) => one.written);
    await this.owned.create(tx, scope, app, written);
    await this.servers.keepVersions(tx, scope, missing.map(idOf));
    await this.putIntoIndex(tx, scope, written);
    const entries = written.map(({ server_id, name }) => ({
      ...audited({ server_id, workspace_id: scope.workspaceId }),
      action: 'create' as const,
      changes: given({ name }),
    }));
    await this.audit.record(tx, scope, ...entries);
  }

  private putIntoIndex(tx: Tx, scope: Scope, written: readonly WrittenServer[]): Promise<void> {
    const documents = written.map((one) => toServerDocument({ ...one, workspace_id: scope.workspaceId }));
    return this.index.put(tx, scope, ...documents);
  }

  /**
   * Replaces the tools of servers that have not listed their tools themselves.
   *
   * @returns the ids of servers whose tools changed
   */
  private async replaceTools(tx: Tx, scope: Scope, plan: ServerPlan): Promise<ReadonlySet<string>> {
    const unlisted = [...plan.differing, ...plan.matching].filter(({ owned }) => !owned.is_listed);
    const all = [
      ...plan.missing.map(({ declared, written }) => ({ declared, id: written.server_id })),
      ...unlisted.map(({ declared, owned }) => ({ declared, id: owned.server_id })),
    ];
    const listings = all.flatMap(({ declared: { tools, content }, id }) =>
      tools ? [{ server: { server_id: id, name: content.name, is_system: false }, tools }] : [],
    );
    if (listings.length === 0) return new Set();
    const changes = [...(await this.tools.replaceAll(tx, scope, listings))];
    return new Set(changes.flatMap(([id, one]) => (hasChanges(one) ? id : [])));
  }

  /** Records the updates of servers that existed before. @returns their ids */
  private async auditUpdates(
    tx: Tx,
    scope: Scope,
    { differing, matching }: ServerPlan,
    withNewTools: ReadonlySet<string>,
  ): Promise<string[]> {
    const updates = [
      ...differing.map((one) => ({ id: one.owned.server_id, changes: auditedChanges(one) })),
      ...matching.map(({ owned }) => ({ id: owned.server_id, changes: [] })),
    ]
      .map(({ id, changes }) => ({
        id,
        changes: [...changes, ...(withNewTools.has(id) ? [{ member: 'tools' }] : [])],
      }))
      .filter(({ changes }) => changes.length > 0);
    const entries = updates.map(({ id, changes }) => ({
      ...audited({ server_id: id, workspace_id: scope.workspaceId }),
      action: 'update' as const,
      changes,
    }));
    await this.audit.record(tx, scope, ...entries);
    return updates.map(({ id }) => id);
  }
}

const idOf = ({ written }: { written: WrittenServer }): string => written.server_id;

const renamed = (differing: readonly DifferingServer[]): DifferingServer[] =>
  differing.filter(({ members }) => members.includes('name'));

/** Returns the changes that the audit log shows, as for a PATCH. */
const auditedChanges = ({ owned, written, members }: DifferingServer): AuditChange[] =>
  withoutSecrets(
    members.map((member) => {
      const field = AUDITED_FIELDS.find((one) => one === member);
      return field ? { member, before: owned[field], after: written[field] } : { member };
    }),
  );

const audited = (row: Pick<ServerEntity, 'server_id' | 'workspace_id'>) => ({
  type: 'mcp_server' as const,
  id: row.server_id,
  workspaceId: row.workspace_id,
});

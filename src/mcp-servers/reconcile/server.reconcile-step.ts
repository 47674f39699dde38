import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { FieldError } from '#platform/problem';
import {
  type AuditChange,
  AuditLog,
  type Declared,
  given,
  ReconcileStep,
  ReconcileSteps,
  SearchIndex,
  SweepRefused,
  type Swept,
  type SweptApp,
} from '../../registry';
import { withoutSecrets } from '../servers/server-change';
import { toDocument } from '../servers/server.mapper';
import { ServerRepository } from '../servers/server.repository';
import { hasChanges, ToolStore } from '../tools/tool-store';
import { type Drift, planOf, type ServerPlan } from './server-plan';
import { faultsAmongSpecs, readDeclared, specFaults } from './server-spec';
import { type OwnedServer, ServerSweepRepository } from './server-sweep.repository';

/** Makes the MCP servers of an app what it declares. Servers are kept by the names that the app gives them. */
@Injectable()
export class ServerReconcileStep extends ReconcileStep {
  readonly kind = 'mcp_server';

  constructor(
    steps: ReconcileSteps,
    private readonly servers: ServerRepository,
    private readonly sweeps: ServerSweepRepository,
    private readonly tools: ToolStore,
    private readonly audit: AuditLog,
    private readonly index: SearchIndex,
  ) {
    super();
    steps.add(this);
  }

  faultsIn(_name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    return specFaults(spec, pointer);
  }

  override faultsAmong(declared: readonly Declared[]): FieldError[] {
    return faultsAmongSpecs(declared);
  }

  /** Archives the system server named `registry` besides, in whichever workspace of the organization it is. */
  async apply(tx: Tx, scope: Scope, app: SweptApp, declared: readonly Declared[]): Promise<Swept> {
    const wanted = declared.map(readDeclared);
    const plan = planOf(await this.sweeps.lockOwned(tx, scope, app), wanted);
    const archived = await this.archive(tx, scope, plan.undeclared);
    await this.checkNames(tx, scope, app, plan);
    await this.change(tx, scope, plan.drifted);
    await this.create(tx, scope, app, plan);
    await this.sweeps.mark(tx, scope, app.appId, null, 'synced');
    const updated = await this.tellUpdates(tx, scope, plan, await this.listTools(tx, scope, plan));
    return {
      created: plan.missing.map(({ written }) => written.server_id),
      updated,
      archived,
      liveCount: wanted.length,
    };
  }

  mark(
    tx: Tx,
    scope: Scope,
    { appId }: SweptApp,
    names: readonly string[],
    state: 'pending' | 'failed',
  ): Promise<void> {
    return this.sweeps.mark(tx, scope, appId, names, state);
  }

  mend(tx: Tx, scope: Scope, { appId }: SweptApp, faulty: readonly string[]): Promise<void> {
    return this.sweeps.mend(tx, scope, appId, faulty);
  }

  release(tx: Tx, scope: Scope, { appId }: SweptApp): Promise<string[]> {
    return this.sweeps.release(tx, scope, appId);
  }

  private async archive(tx: Tx, scope: Scope, undeclared: readonly OwnedServer[]): Promise<string[]> {
    const ids = undeclared.map(({ server_id }) => server_id);
    if (ids.length > 0) await this.sweeps.archive(tx, scope, ids);
    const registries = await this.sweeps.archiveRegistry(tx, scope);
    const all = [...ids.map((server_id) => ({ server_id, workspace_id: scope.workspaceId })), ...registries];
    const allIds = all.map(({ server_id }) => server_id);
    await this.tools.archiveOf(tx, scope, allIds);
    await this.index.remove(tx, scope, 'mcp_server', ...allIds);
    await this.audit.record(
      tx,
      scope,
      ...all.map((one) => ({ ...audited(one.server_id, one.workspace_id), action: 'archive' as const })),
    );
    return allIds;
  }

  /** A name that is another's is refused: what the app does not own, it does not take over. */
  private async checkNames(tx: Tx, scope: Scope, app: SweptApp, plan: ServerPlan): Promise<void> {
    const named = [...plan.missing, ...renamed(plan.drifted)].map(({ declared }) => declared);
    if (named.length === 0) return;
    const names = named.map(({ content }) => content.name);
    const taken = await this.sweeps.taken(tx, scope, app, names);
    if (taken.size === 0) return;
    throw new SweepRefused(
      named
        .filter(({ content }) => taken.has(content.name))
        .map(({ pointer }) => ({
          pointer: `${pointer}/name`,
          detail: 'is the name of a server of the workspace that is not of this app',
        })),
    );
  }

  private async change(tx: Tx, scope: Scope, drifted: readonly Drift[]): Promise<void> {
    if (drifted.length === 0) return;
    const unnamed = renamed(drifted).map(({ owned }) => owned.server_id);
    if (unnamed.length > 0) await this.sweeps.unname(tx, scope, unnamed);
    const written = drifted.map((one) => one.written);
    await this.sweeps.change(tx, scope, written);
    const versioned = written.filter(({ makes_version }) => makes_version);
    await this.servers.keepVersions(
      tx,
      scope,
      versioned.map(({ server_id }) => server_id),
    );
    const found = written.map((one) => toDocument({ ...one, workspace_id: scope.workspaceId }));
    await this.index.put(tx, scope, ...found);
  }

  private async create(tx: Tx, scope: Scope, app: SweptApp, { missing }: ServerPlan): Promise<void> {
    if (missing.length === 0) return;
    const written = missing.map((one) => one.written);
    const ids = written.map(({ server_id }) => server_id);
    await this.sweeps.create(tx, scope, app, written);
    await this.servers.keepVersions(tx, scope, ids);
    const found = written.map((one) => toDocument({ ...one, workspace_id: scope.workspaceId }));
    await this.index.put(tx, scope, ...found);
    await this.audit.record(
      tx,
      scope,
      ...written.map(({ server_id, name }) => ({
        ...audited(server_id, scope.workspaceId),
        action: 'create' as const,
        changes: given({ name }),
      })),
    );
  }

  /** What a server said of itself counts more than what is declared of it. @returns the ids of those with other tools. */
  private async listTools(tx: Tx, scope: Scope, plan: ServerPlan): Promise<ReadonlySet<string>> {
    const unlisted = [...plan.drifted, ...plan.kept].filter(({ owned }) => !owned.is_listed);
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

  /** Tells the log of the servers that were there and are otherwise now. @returns their ids. */
  private async tellUpdates(
    tx: Tx,
    scope: Scope,
    { drifted, kept }: ServerPlan,
    withOtherTools: ReadonlySet<string>,
  ): Promise<string[]> {
    const tools = (id: string) => (withOtherTools.has(id) ? [{ member: 'tools' }] : []);
    const updates = [
      ...drifted.map((one) => ({ owned: one.owned, changes: changesOf(one) })),
      ...kept.map(({ owned }) => ({ owned, changes: [] })),
    ]
      .map(({ owned: { server_id: id }, changes }) => ({ id, changes: [...changes, ...tools(id)] }))
      .filter(({ changes }) => changes.length > 0);
    await this.audit.record(
      tx,
      scope,
      ...updates.map(({ id, changes }) => ({
        ...audited(id, scope.workspaceId),
        action: 'update' as const,
        changes,
      })),
    );
    return updates.map(({ id }) => id);
  }
}

const renamed = (drifted: readonly Drift[]): Drift[] =>
  drifted.filter(({ members }) => members.includes('name'));

const TOLD: readonly string[] = ['name', 'url', 'transport'];

/** As a PATCH tells them. */
const changesOf = ({ owned, written, members }: Drift): AuditChange[] =>
  withoutSecrets(
    members.map((member) =>
      TOLD.includes(member)
        ? { member, before: owned[member as 'name' | 'url' | 'transport'], after: written[member] }
        : { member },
    ),
  );

const audited = (id: string, workspaceId: string) => ({ type: 'mcp_server' as const, id, workspaceId });

import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import type { FieldError } from '#platform/problem';
import {
  type AuditChange,
  AuditLog,
  changesTold,
  given,
  type Declared,
  planSweep,
  ReconcileStep,
  ReconcileSteps,
  SearchIndex,
  SweepRefused,
  type Swept,
  type SweptApp,
} from '../../registry';
import { changedContent } from '../agents/agent-content';
import type { AgentContent, AgentEntity } from '../agents/agent.entity';
import { audited, found, TOLD } from '../agents/agent-record';
import { AgentRepository } from '../agents/agent.repository';
import { AgentResolver } from './agent-resolver';
import { faultsAmongSpecs, faultsInSpec } from './agent-spec';
import type { AgentSpec } from './agent-spec.dto';
import { AgentSweepRepository, digestOf, type OwnedAgent } from './agent-sweep.repository';

/** What a sweep does to the agents that an app declares. */
@Injectable()
export class AgentReconcileStep extends ReconcileStep {
  readonly kind = 'agent';

  constructor(
    steps: ReconcileSteps,
    private readonly resolver: AgentResolver,
    private readonly sweeps: AgentSweepRepository,
    private readonly agents: AgentRepository,
    private readonly audit: AuditLog,
    private readonly index: SearchIndex,
  ) {
    super();
    steps.add(this);
  }

  faultsIn(_name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    return faultsInSpec(spec, pointer);
  }

  override faultsAmong(declared: readonly Declared[]): FieldError[] {
    return faultsAmongSpecs(declared);
  }

  async apply(tx: Tx, scope: Scope, app: SweptApp, declared: readonly Declared[]): Promise<Swept> {
    const names = declared.map(({ name }) => name);
    const plan = planSweep(app, declared, await this.sweeps.lockDeclared(tx, scope, app, names));
    const specs = declared.map(({ spec, pointer }) => ({
      pointer: `${pointer}/spec`,
      spec: spec as AgentSpec,
    }));
    const { contents, faults } = await this.resolver.resolve(tx, scope, specs);
    const refused = [...plan.faults, ...faults];
    if (refused.length > 0) throw new SweepRefused(refused);
    const contentOf = new Map(declared.map((one, index) => [one, contents[index]!]));

    const created = await this.create(tx, scope, app, plan.missing, contentOf);
    const updated = await this.change(
      tx,
      scope,
      plan.present.map(({ declared: one, row }) => ({ owned: row, content: contentOf.get(one)! })),
    );
    const archived = await this.archive(tx, scope, plan.gone);
    return { created, updated, archived, liveCount: declared.length };
  }

  private async create(
    tx: Tx,
    scope: Scope,
    app: SweptApp,
    missing: readonly Declared[],
    contentOf: ReadonlyMap<Declared, AgentContent>,
  ): Promise<string[]> {
    const now = new Date();
    const rows = missing.map((one) => newRow(scope, app, one.name, contentOf.get(one)!, now));
    await this.sweeps.insertMany(tx, rows);
    await this.agents.keepVersions(tx, scope, ids(rows));
    const entries = rows.map((row) => ({
      ...audited(row),
      action: 'create' as const,
      changes: given({ name: row.name }),
    }));
    await this.audit.record(tx, scope, ...entries);
    await this.index.put(tx, scope, ...rows.map(found));
    return ids(rows);
  }

  /** What differs is read whole and written page by page: people may have made it larger than memory. */
  private async change(tx: Tx, scope: Scope, present: readonly PresentAgent[]): Promise<string[]> {
    const drifted = present.filter(({ owned, content }) => owned.content_sha256 !== digestOf(content));
    const updated: string[] = [];
    for (const page of pagesOf(drifted)) updated.push(...(await this.changePage(tx, scope, page)));
    const versions = new Set(updated);
    const settled = present
      .map(({ owned }) => owned)
      .filter(({ agent_id, sync_state }) => sync_state !== 'synced' && !versions.has(agent_id));
    await this.sweeps.settle(tx, scope, ids(settled));
    return updated;
  }

  private async changePage(tx: Tx, scope: Scope, page: readonly PresentAgent[]): Promise<string[]> {
    const now = new Date();
    const contentOf = new Map(page.map(({ owned, content }) => [owned.agent_id, content]));
    const rows = await this.sweeps.read(tx, scope, [...contentOf.keys()]);
    const changed = rows.flatMap((row) => changedRow(row, contentOf.get(row.agent_id)!, now));
    const written = changed.map(({ row }) => row);
    await this.sweeps.updateMany(tx, scope, written);
    await this.agents.keepVersions(tx, scope, ids(written));
    const entries = changed.map(({ row, told }) => ({
      ...audited(row),
      action: 'update' as const,
      changes: told,
    }));
    await this.audit.record(tx, scope, ...entries);
    await this.index.put(tx, scope, ...written.map(found));
    return ids(written);
  }

  private async archive(tx: Tx, scope: Scope, gone: readonly OwnedAgent[]): Promise<string[]> {
    const archived = ids(gone);
    await this.sweeps.archive(tx, scope, archived);
    const entries = archived.map((agent_id) => ({
      ...audited({ agent_id, workspace_id: scope.workspaceId }),
      action: 'archive' as const,
    }));
    await this.audit.record(tx, scope, ...entries);
    await this.index.remove(tx, scope, 'agent', ...archived);
    return archived;
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
}

const ids = (rows: readonly Pick<AgentEntity, 'agent_id'>[]): string[] =>
  rows.map(({ agent_id }) => agent_id);

/** An agent that is there, and what it is declared to be. */
interface PresentAgent {
  owned: OwnedAgent;
  content: AgentContent;
}

/** Of agents that are read whole at a time. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** Pages of no more than this, or of one agent. */
function pagesOf(agents: readonly PresentAgent[]): PresentAgent[][] {
  const pages: PresentAgent[][] = [];
  let bytes = Infinity;
  for (const one of agents) {
    bytes += one.owned.bytes;
    if (bytes > PAGE_BYTES) {
      pages.push([]);
      bytes = one.owned.bytes;
    }
    pages.at(-1)!.push(one);
  }
  return pages;
}

/** An agent that is to be written, and what of it is another version. */
interface ChangedAgent {
  row: AgentEntity;
  told: AuditChange[];
}

/** What is to be written of an agent that is there; nothing where it is as it is declared. */
function changedRow(row: AgentEntity, content: AgentContent, now: Date): ChangedAgent[] {
  const changes = changedContent(row, content);
  if (!changes) return [];
  const next: AgentEntity = {
    ...row,
    ...changes,
    version_ordinal: row.version_ordinal + 1,
    version_id: newId('ver'),
    sync_state: 'synced',
    generation: row.generation + 1,
    updated_at: now,
  };
  return [{ row: next, told: changesTold<AgentEntity>(row, changes, TOLD) }];
}

const newRow = (
  scope: Scope,
  { appId, app }: SweptApp,
  name: string,
  content: AgentContent,
  now: Date,
): AgentEntity => ({
  agent_id: newId('agt'),
  org_id: scope.orgId,
  workspace_id: scope.workspaceId,
  name,
  version_ordinal: 1,
  version_id: newId('ver'),
  ...content,
  app_id: appId,
  app,
  sync_state: 'synced',
  generation: 1,
  created_at: now,
  updated_at: now,
  created_by: scope.principalId,
  archived_at: null,
});

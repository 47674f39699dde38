import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import type { FieldError } from '#platform/problem';
import {
  type Audited,
  auditedChanges,
  AuditLog,
  changedColumns,
  type Declared,
  given,
  pagesOf,
  planReconcile,
  type ReconciledApp,
  ReconcileRefused,
  type ReconcileResult,
  ReconcileStep,
  ReconcileSteps,
  SearchIndex,
  stamps,
} from '../../resources';
import { type AgentContent, type AgentEntity, AUDITED_FIELDS, toAgentDocument } from '../agents/agent.entity';
import { AgentRepository, type ComparedAgent, digestOf } from '../agents/agent.repository';
import { AgentResolver } from './agent-resolver';
import { faultsAmongSpecs, faultsInSpec } from './agent-spec';
import type { AgentSpec } from './agent-spec.dto';

/** Reconciles the agents that an app declares. */
@Injectable()
export class AgentReconcileStep extends ReconcileStep {
  readonly kind = 'agent';

  constructor(
    steps: ReconcileSteps,
    private readonly resolver: AgentResolver,
    private readonly agents: AgentRepository,
    audit: AuditLog,
    index: SearchIndex,
  ) {
    super(agents, audit, index);
    steps.add(this);
  }

  faultsIn(_name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    return faultsInSpec(spec, pointer);
  }

  override faultsAmong(declared: readonly Declared[]): FieldError[] {
    return faultsAmongSpecs(declared);
  }

  async apply(
    tx: Tx,
    scope: Scope,
    app: ReconciledApp,
    declared: readonly Declared[],
  ): Promise<ReconcileResult> {
    const names = declared.map(({ name }) => name);
    const plan = planReconcile(
      app,
      declared,
      await this.agents.lockDeclared<ComparedAgent>(tx, scope, app.appId, names),
    );
    const specs = declared.map(({ spec, pointer }) => ({
      pointer: `${pointer}/spec`,
      spec: spec as AgentSpec,
    }));
    const { contents, faults } = await this.resolver.resolve(tx, scope, specs);
    const refused = [...plan.faults, ...faults];
    if (refused.length > 0) throw new ReconcileRefused(refused);
    const contentOf = new Map(declared.map((one, index) => [one, contents[index]!]));
    const missing = plan.missing.map((one) => newRow(scope, app, one.name, contentOf.get(one)!));
    const present = plan.present.map(({ declared: one, row }) => ({
      owned: row,
      content: contentOf.get(one)!,
    }));
    const created = await this.create(tx, scope, missing);
    const updated = await this.update(tx, scope, present);
    const archived = plan.undeclared.map(({ agent_id }) => agent_id);
    await this.archive(tx, scope, archived);
    return { created, updated, archived, liveCount: declared.length };
  }

  private async create(tx: Tx, scope: Scope, rows: readonly AgentEntity[]): Promise<string[]> {
    await this.agents.insertMany(tx, rows);
    const entries = rows.map((row) => entry(scope, row, 'create', given({ name: row.name })));
    return this.afterWrite(tx, scope, rows, entries);
  }

  /** Updates the agents whose digests differ in pages, because people may have made them larger than memory. */
  private async update(tx: Tx, scope: Scope, present: readonly PresentAgent[]): Promise<string[]> {
    const different = present.filter(({ owned, content }) => owned.content_sha256 !== digestOf(content));
    const updated: string[] = [];
    for (const page of pagesOf(different, ({ owned }) => owned.bytes))
      updated.push(...(await this.updatePage(tx, scope, page)));
    const written = new Set(updated);
    const unsettled = present.filter(
      ({ owned }) => owned.sync_state !== 'synced' && !written.has(owned.agent_id),
    );
    await this.agents.settle(
      tx,
      scope,
      unsettled.map(({ owned }) => owned.agent_id),
    );
    return updated;
  }

  private async updatePage(tx: Tx, scope: Scope, page: readonly PresentAgent[]): Promise<string[]> {
    const contentOf = new Map(page.map(({ owned, content }) => [owned.agent_id, content]));
    const rows = await this.agents.findMany(tx, scope, [...contentOf.keys()]);
    const changes = rows.flatMap((row) => {
      const changed = changedColumns<AgentEntity>(row, contentOf.get(row.agent_id)!);
      return changed ? [{ row, changed }] : [];
    });
    const written = changes.map(({ row, changed }) => nextRow(row, changed));
    await this.agents.updateMany(tx, scope, written);
    const entries = changes.map(({ row, changed }) =>
      entry(scope, row, 'update', auditedChanges(row, changed, AUDITED_FIELDS)),
    );
    return this.afterWrite(tx, scope, written, entries);
  }

  /** Keeps the versions, audit entries and search documents of written agents. @returns the agents' ids */
  private async afterWrite(
    tx: Tx,
    scope: Scope,
    rows: readonly AgentEntity[],
    entries: readonly Audited[],
  ): Promise<string[]> {
    const ids = rows.map(({ agent_id }) => agent_id);
    await this.agents.keepVersions(tx, scope, ids);
    await this.audit.record(tx, scope, ...entries);
    await this.index.put(tx, scope, ...rows.map(toAgentDocument));
    return ids;
  }
}

/** An agent with its declared content. */
interface PresentAgent {
  owned: ComparedAgent;
  content: AgentContent;
}

const entry = (
  scope: Scope,
  { agent_id }: Pick<AgentEntity, 'agent_id'>,
  action: Audited['action'],
  changes: Audited['changes'] = [],
): Audited => ({ action, type: 'agent', id: agent_id, workspaceId: scope.workspaceId, changes });

const nextRow = (row: AgentEntity, changed: Partial<AgentEntity>): AgentEntity => ({
  ...row,
  ...changed,
  version_ordinal: row.version_ordinal + 1,
  version_id: newId('ver'),
  sync_state: 'synced',
  generation: row.generation + 1,
  updated_at: new Date(),
});

const newRow = (
  scope: Scope,
  { appId, app }: ReconciledApp,
  name: string,
  content: AgentContent,
): AgentEntity => ({
  ...stamps(scope),
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
});

import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { validateBody } from '#platform/http';
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
import { AgentSpecDto, faultsInSpec } from './agent-spec.dto';
import { AgentSweepRepository } from './agent-sweep.repository';

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

  async apply(tx: Tx, scope: Scope, app: SweptApp, declared: readonly Declared[]): Promise<Swept> {
    const names = declared.map(({ name }) => name);
    const plan = planSweep(app, declared, await this.sweeps.lockDeclared(tx, scope, app, names));
    const specs = declared.map(({ spec, pointer }) => ({
      pointer: `${pointer}/spec`,
      spec: validateBody(AgentSpecDto, spec, `${pointer}/spec`),
    }));
    const { contents, faults } = await this.resolver.resolve(tx, scope, specs);
    const refused = [...plan.faults, ...faults];
    if (refused.length > 0) throw new SweepRefused(refused);
    const contentOf = new Map(declared.map((one, index) => [one, contents[index]!]));

    const now = new Date();
    const created = plan.missing.map((one) => newRow(scope, app, one.name, contentOf.get(one)!, now));
    const changed = plan.present.flatMap(({ declared: one, row }) =>
      changedRow(row, contentOf.get(one)!, now),
    );
    const archived = plan.gone.map((row) => ({
      ...row,
      archived_at: now,
      updated_at: now,
      generation: row.generation + 1,
    }));
    await this.sweeps.insertMany(tx, created);
    await this.sweeps.updateMany(tx, scope, [...changed.map(({ row }) => row), ...archived]);
    const versions = changed.filter(({ told }) => told.length > 0);
    const updated = versions.map(({ row }) => row);
    await this.agents.keepVersions(tx, scope, ids([...created, ...updated]));
    await this.audit.record(
      tx,
      scope,
      ...created.map((row) => ({
        ...audited(row),
        action: 'create' as const,
        changes: given({ name: row.name }),
      })),
      ...versions.map(({ row, told }) => ({ ...audited(row), action: 'update' as const, changes: told })),
      ...archived.map((row) => ({ ...audited(row), action: 'archive' as const })),
    );
    await this.index.put(tx, scope, ...[...created, ...updated].map(found));
    await this.index.remove(tx, scope, 'agent', ...ids(archived));
    return {
      created: ids(created),
      updated: ids(updated),
      archived: ids(archived),
      liveCount: declared.length,
    };
  }

  mark(
    tx: Tx,
    scope: Scope,
    app: SweptApp,
    names: readonly string[],
    state: 'pending' | 'failed',
  ): Promise<void> {
    return this.sweeps.mark(tx, scope, app, names, state);
  }

  release(tx: Tx, scope: Scope, app: SweptApp): Promise<void> {
    return this.sweeps.release(tx, scope, app);
  }
}

const ids = (rows: readonly AgentEntity[]): string[] => rows.map(({ agent_id }) => agent_id);

/** An agent that is to be written, and what of it is another version; nothing where it is only `synced` again. */
interface ChangedAgent {
  row: AgentEntity;
  told: AuditChange[];
}

/** What is to be written of an agent that is there; nothing where it is as it is declared. */
function changedRow(row: AgentEntity, content: AgentContent, now: Date): ChangedAgent[] {
  const changes = changedContent(row, content);
  if (!changes && row.sync_state === 'synced') return [];
  const next: AgentEntity = {
    ...row,
    ...changes,
    sync_state: 'synced',
    generation: row.generation + 1,
    updated_at: now,
  };
  if (!changes) return [{ row: next, told: [] }];
  const version = { version_ordinal: row.version_ordinal + 1, version_id: newId('ver') };
  return [{ row: { ...next, ...version }, told: changesTold<AgentEntity>(row, changes, TOLD) }];
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

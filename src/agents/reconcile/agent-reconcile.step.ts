import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import type { FieldError } from '#platform/problem';
import {
  type Declared,
  newLabelled,
  OwnedReconcileStep,
  type OwningApp,
  ReconcileSteps,
  ResourceKit,
} from '../../resources';
import type { AgentContent, AgentEntity } from '../agents/agent.entity';
import { AgentRepository, type ComparedAgent, digestOf } from '../agents/agent.repository';
import { AGENT } from '../agents/agent.service';
import { AgentResolver } from './agent-resolver';
import { combinedSpecFaults, specFaults } from './agent-spec';
import { type AgentSpec, AgentSpecDto } from './agent-spec.dto';

/** Reconciles the agents that an app declares. */
@Injectable()
export class AgentReconcileStep extends OwnedReconcileStep<AgentEntity, AgentContent, ComparedAgent> {
  readonly specType = AgentSpecDto;

  constructor(
    steps: ReconcileSteps,
    kit: ResourceKit,
    agents: AgentRepository,
    private readonly resolver: AgentResolver,
  ) {
    super(steps, kit, agents, AGENT);
  }

  faultsIn(_name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    return specFaults(spec, pointer);
  }

  override combinedFaults(declared: readonly Declared[]): FieldError[] {
    return combinedSpecFaults(declared);
  }

  protected read(tx: Tx, scope: Scope, declared: readonly Declared[]) {
    const specs = declared.map(({ spec, pointer }) => ({
      pointer: `${pointer}/spec`,
      spec: spec as AgentSpec,
    }));
    return this.resolver.resolve(tx, scope, specs);
  }

  protected isDifferent(row: ComparedAgent, content: AgentContent): boolean {
    return row.content_sha256 !== digestOf(content);
  }

  protected newRow(scope: Scope, app: OwningApp, name: string, content: AgentContent): AgentEntity {
    return {
      ...newLabelled(scope, scope.workspaceId, app),
      agent_id: newId('agt'),
      name,
      ...content,
    };
  }

  protected columnsOf(_row: AgentEntity, content: AgentContent): Partial<AgentEntity> {
    return content;
  }
}

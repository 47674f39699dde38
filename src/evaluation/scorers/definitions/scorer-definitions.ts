import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { type FieldError, problem } from '#platform/problem';
import { CodeEngine } from '../code-engine';
import type { ScorerKind } from '../scorer.entity';
import { faultsOfHuman } from './human.definition';
import { faultsOfJudge } from './judge.definition';

const POINTER = '/definition';

/** Knows what a definition must hold, by the kind of its scorer. */
@Injectable()
export class ScorerDefinitions {
  constructor(
    private readonly engine: CodeEngine,
    private readonly environment: Environment,
  ) {}

  /**
   * 400 with what is wrong with a definition, each fault with its JSON pointer. What takes long to be checked makes
   * others of its workspace wait, and nobody else.
   */
  async check(scope: Scope, kind: ScorerKind, definition: object): Promise<void> {
    const faults = await this.faultsOf(scope, kind, definition);
    if (faults.length > 0) throw problem.invalidFields(faults);
  }

  private async faultsOf(scope: Scope, kind: ScorerKind, definition: object): Promise<FieldError[]> {
    switch (kind) {
      case 'llm_judge':
        return faultsOfJudge(definition, POINTER);
      case 'human':
        return faultsOfHuman(definition, POINTER);
      case 'code': {
        const signal = AbortSignal.timeout(this.environment.REQUEST_TIMEOUT_MS);
        const faults = await this.engine.validate(definition, signal, scope.workspaceId);
        return faults.map(({ pointer, detail }) => ({ pointer: `${POINTER}${pointer}`, detail }));
      }
    }
  }
}

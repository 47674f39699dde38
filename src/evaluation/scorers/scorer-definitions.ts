import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { problem } from '#platform/problem';
import { faultsOfHuman, faultsOfJudge, type ScorerKind } from './definitions/definition.forms';
import type { FormFault } from './definitions/form';
import { CodeEngine } from './engine/threads/code.engine';

/** Checks definitions by the kind of their scorer. */
@Injectable()
export class ScorerDefinitions {
  constructor(
    private readonly engine: CodeEngine,
    private readonly environment: Environment,
  ) {}

  /** Errors: 400 with each fault and its JSON pointer. A slow check delays only its own workspace. */
  async check(scope: Scope, kind: ScorerKind, definition: object): Promise<void> {
    const faults = await this.faultsOf(scope, kind, definition);
    if (faults.length === 0) return;
    throw problem.invalidFields(
      faults.map(({ pointer, detail }) => ({ pointer: `/definition${pointer}`, detail })),
    );
  }

  private async faultsOf(scope: Scope, kind: ScorerKind, definition: object): Promise<FormFault[]> {
    switch (kind) {
      case 'llm_judge':
        return faultsOfJudge(definition);
      case 'human':
        return faultsOfHuman(definition);
      case 'code': {
        const signal = AbortSignal.timeout(this.environment.REQUEST_TIMEOUT_MS);
        return this.engine.validate(definition, signal, scope);
      }
    }
  }
}

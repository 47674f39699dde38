import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';
import { faultsOfHuman, faultsOfJudge, type ScorerKind } from './definitions/definition.forms';
import type { FormFault } from './definitions/form';
import { CodeEngine } from './engine/threads/code.engine';

/** Validates definitions by the kind of their scorer. */
@Injectable()
export class ScorerDefinitions {
  constructor(private readonly engine: CodeEngine) {}

  /**
   * Checks a definition. A slow check delays only its own organization. Errors: 400 with each fault and its JSON pointer.
   * Throws the signal's reason when it is aborted.
   */
  async check(scope: Scope, kind: ScorerKind, definition: object, signal: AbortSignal): Promise<void> {
    const faults = await this.faultsOf(scope, kind, definition, signal);
    if (faults.length === 0) return;
    throw problem.invalidFields(
      faults.map(({ pointer, detail }) => ({ pointer: `/definition${pointer}`, detail })),
    );
  }

  private async faultsOf(
    scope: Scope,
    kind: ScorerKind,
    definition: object,
    signal: AbortSignal,
  ): Promise<FormFault[]> {
    switch (kind) {
      case 'llm_judge':
        return faultsOfJudge(definition);
      case 'human':
        return faultsOfHuman(definition);
      case 'code':
        return this.engine.validate(definition, signal, scope);
    }
  }
}

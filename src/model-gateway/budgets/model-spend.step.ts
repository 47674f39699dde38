import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../../resources';
import { SpendRepository } from './spend.repository';

/** Erases what the models, keys and budgets of a workspace or an organization have spent, whose rows name only their ids. */
@Injectable()
export class ModelSpendStep implements ErasureStep {
  readonly name = 'model spending';
  readonly subjects = ['workspace', 'org'] as const;
  readonly phase = 'erase';

  constructor(
    steps: ErasureSteps,
    private readonly spend: SpendRepository,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, { subject, id, isDryRun }: ErasureRun): Promise<ErasureBatch> {
    const column = subject === 'org' ? 'org_id' : 'workspace_id';
    const rows = isDryRun
      ? await this.spend.countOf(tx, column, id)
      : await this.spend.deleteOf(tx, column, id);
    return { counts: { model_spend: rows }, next: null };
  }
}

import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../resources';
import { SpendRepository } from './budgets/spend.repository';
import { AnswerCacheRepository } from './calls/answer-cache.repository';

/** Cached answers that one transaction deletes. */
const ANSWERS = 500;

/** Erases the cached answers of a workspace's models, because any of them may repeat what an erased user has written. */
@Injectable()
export class ModelAnswersStep implements ErasureStep {
  readonly name = 'model answers';
  readonly subjects = ['end_user', 'session'] as const;
  readonly phase = 'copies';

  constructor(
    steps: ErasureSteps,
    private readonly answers: AnswerCacheRepository,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, { workspaceId, isDryRun }: ErasureRun): Promise<ErasureBatch> {
    if (isDryRun)
      return { counts: { model_answers: await this.answers.countIn(tx, workspaceId) }, next: null };
    const deleted = await this.answers.deleteIn(tx, workspaceId, ANSWERS);
    return { counts: { model_answers: deleted }, next: deleted < ANSWERS ? null : 'more' };
  }
}

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
    if (isDryRun) return { counts: {}, next: null };
    const deleted = await this.spend.deleteOf(tx, subject === 'org' ? 'org_id' : 'workspace_id', id);
    return { counts: { model_spend: deleted }, next: null };
  }
}

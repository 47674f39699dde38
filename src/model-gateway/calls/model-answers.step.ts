import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../../resources';
import { AnswerCacheRepository } from './answer-cache.repository';

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

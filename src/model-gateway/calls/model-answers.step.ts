import { Injectable } from '@nestjs/common';
import { ErasureSteps, WorkspaceCopiesStep } from '../../resources';
import { AnswerCacheRepository } from './answer-cache.repository';

/** Erases the cached answers of a workspace's models. */
@Injectable()
export class ModelAnswersStep extends WorkspaceCopiesStep {
  readonly name = 'model answers';
  protected readonly kind = 'model_answers';
  protected readonly limit = 500;

  constructor(steps: ErasureSteps, answers: AnswerCacheRepository) {
    super(answers);
    steps.add(this);
  }
}

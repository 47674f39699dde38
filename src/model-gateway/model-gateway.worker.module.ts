import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { AnswerCacheRepository } from './calls/answer-cache.repository';
import { LearnedLimitRepository } from './calls/learned-limit.repository';
import { ResourcesModule } from '../resources';
import { ModelAnswersStep } from './calls/model-answers.step';
import { GatewayKeyErasureRepository } from './keys/gateway-key-erasure.repository';
import { GatewayEmbeddingsModule } from './model-gateway.embeddings.module';
import { ModelGatewayModule } from './model-gateway.module';

const EXPIRY_MS = 60_000;
const OLD_LIMITS_MS = 10 * 60_000;

/** The gateway's part of the worker: deletes expired cached answers and old rate limits, and erases. */
@Module({
  imports: [GatewayEmbeddingsModule, JobsWorkerModule, ModelGatewayModule, ResourcesModule],
  providers: [GatewayKeyErasureRepository, ModelAnswersStep],
})
export class ModelGatewayWorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly answers: AnswerCacheRepository,
    private readonly limits: LearnedLimitRepository,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('expired model answers', EXPIRY_MS, () => this.answers.deleteExpired());
    this.tasks.every('old rate limits of models', OLD_LIMITS_MS, () => this.limits.deleteOld());
  }
}

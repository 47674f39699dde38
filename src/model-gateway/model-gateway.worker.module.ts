import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { AnswerCacheRepository } from './calls/answer-cache.repository';
import { CallsModule } from './calls/calls.module';
import { GatewayEmbeddingsModule } from './calls/embeddings.module';
import { LearnedLimitRepository } from './calls/learned-limit.repository';

const EXPIRY_MS = 60_000;
const OLD_LIMITS_MS = 10 * 60_000;
/** Number of answers to delete per statement. */
const DELETED_AT_ONCE = 1_000;

/** The gateway's part of the worker: deletes expired cached answers and old rate limits. */
@Module({ imports: [CallsModule, GatewayEmbeddingsModule, JobsWorkerModule] })
export class ModelGatewayWorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly answers: AnswerCacheRepository,
    private readonly limits: LearnedLimitRepository,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('expired model answers', EXPIRY_MS, async () => {
      while (await this.answers.deleteExpired(DELETED_AT_ONCE));
    });
    this.tasks.every('old rate limits of models', OLD_LIMITS_MS, () => this.limits.deleteOld());
  }
}

import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { IdempotencyRepository } from '#platform/http';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { RateLimitRepository } from '#platform/rate-limit';

const IDEMPOTENCY_MS = 10 * 60_000;
const RATE_LIMITS_MS = 60_000;

/** Periodic clean-up of the platform in a worker. */
@Module({ imports: [JobsWorkerModule], providers: [IdempotencyRepository, RateLimitRepository] })
export class HousekeepingModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly idempotency: IdempotencyRepository,
    private readonly rateLimits: RateLimitRepository,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('idempotency keys', IDEMPOTENCY_MS, () => this.idempotency.deleteExpired());
    this.tasks.every('rate limits', RATE_LIMITS_MS, () => this.rateLimits.deleteExpired());
  }
}

import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { StatisticsRepository } from '#platform/db';
import { IdempotencyRepository } from '#platform/http';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { RateLimitRepository } from '#platform/rate-limit';
import { BlobStore, StorageModule } from '#platform/storage';

const IDEMPOTENCY_MS = 10 * 60_000;
const RATE_LIMITS_MS = 60_000;
const ORPHANS_MS = 60_000;
const STATISTICS_MS = 10_000;

/** Periodic clean-up of the platform in a worker. */
@Module({
  imports: [JobsWorkerModule, StorageModule],
  providers: [IdempotencyRepository, RateLimitRepository, StatisticsRepository],
})
export class HousekeepingModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly idempotency: IdempotencyRepository,
    private readonly rateLimits: RateLimitRepository,
    private readonly blobs: BlobStore,
    private readonly statistics: StatisticsRepository,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('idempotency keys', IDEMPOTENCY_MS, () => this.idempotency.deleteExpired());
    this.tasks.every('interrupted uploads', ORPHANS_MS, () => this.blobs.deleteOrphans());
    this.tasks.every('rate limits', RATE_LIMITS_MS, () => this.rateLimits.deleteExpired());
    this.tasks.every('statistics', STATISTICS_MS, () => this.statistics.analyzeOutgrown());
  }
}

import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { IdempotencyRepository } from '#platform/http';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';

const IDEMPOTENCY_MS = 10 * 60_000;

/** Periodic clean-up of the platform in a worker. */
@Module({ imports: [JobsWorkerModule], providers: [IdempotencyRepository] })
export class HousekeepingModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly idempotency: IdempotencyRepository,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('idempotency keys', IDEMPOTENCY_MS, () => this.idempotency.deleteExpired());
  }
}

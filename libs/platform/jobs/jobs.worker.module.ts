import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { BullModule } from '@nestjs/bullmq';
import { Environment } from '#platform/config';
import { JobOutbox } from './job-outbox';
import { JobsWorker } from './jobs.worker';
import { PeriodicTasks } from './periodic-tasks';
import { usesRedis } from './queue-connection';
import { WorkerShutdown } from './worker-shutdown';

const OUTBOX_FLUSH_MS = 2_000;

/** Runs jobs and periodic tasks, in the worker process. */
@Module({
  imports: [DiscoveryModule, BullModule.registerQueue()],
  providers: [JobsWorker, PeriodicTasks, WorkerShutdown],
  exports: [PeriodicTasks, WorkerShutdown],
})
export class JobsWorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly environment: Environment,
    private readonly tasks: PeriodicTasks,
    private readonly outbox: JobOutbox,
  ) {}

  onApplicationBootstrap(): void {
    if (!usesRedis(this.environment)) return;
    this.tasks.every('job outbox', OUTBOX_FLUSH_MS, () => this.outbox.flush());
  }
}

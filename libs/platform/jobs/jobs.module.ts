import { type DynamicModule, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { BullModule, getQueueToken } from '@nestjs/bullmq';
import type { Queue } from 'bullmq';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { MetricsModule } from '#platform/metrics';
import { DeclaredJob, DeclaredJobs } from './declared-jobs';
import { JobMetrics } from './job.metrics';
import type { JobKind } from './job-kind';
import { JobOutbox } from './job-outbox';
import { JobOutboxRepository } from './job-outbox.repository';
import { JobQueue } from './job-queue';
import { PostgresJobRepository } from './postgres-job.repository';
import { queueConnection, usesRedis } from './queue-connection';
import { QueueDepthRepository } from './queue-depth.repository';

/** Enqueues jobs, in every process: with BullMQ on PostgreSQL, or on Redis if `REDIS_URL` is set. */
@Module({})
export class JobsModule {
  static forRoot(): DynamicModule {
    return {
      module: JobsModule,
      global: true,
      imports: [
        DiscoveryModule,
        MetricsModule,
        BullModule.forRootAsync({
          inject: [Environment],
          useFactory: queueConnection,
          // JobsWorker starts the workers once the whole process is up
          extraOptions: { manualRegistration: true },
        }),
      ],
      providers: [
        DeclaredJobs,
        JobOutboxRepository,
        JobOutbox,
        PostgresJobRepository,
        QueueDepthRepository,
        JobMetrics,
        {
          provide: JobQueue,
          inject: [Environment, JobOutbox, PostgresJobRepository],
          useFactory: (environment: Environment, outbox: JobOutbox, postgres: PostgresJobRepository) =>
            usesRedis(environment) ? outbox : postgres,
        },
      ],
      exports: [JobQueue, JobOutbox, JobMetrics, DeclaredJobs],
    };
  }

  /** For the module of an area that enqueues jobs of this kind. */
  static register(kind: JobKind): DynamicModule {
    const declared = {
      provide: `job:${kind.name}`,
      inject: [getQueueToken(kind.name)],
      useFactory: (queue: Queue) => {
        // without a listener BullMQ prints errors of lost connections
        queue.on('error', (error) => rootLogger.warn({ err: error, job: kind.name }, 'the queue failed'));
        return new DeclaredJob(kind);
      },
    };
    return {
      module: JobsModule,
      imports: [BullModule.registerQueue({ name: kind.name })],
      providers: [declared],
      exports: [declared],
    };
  }
}

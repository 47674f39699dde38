import { type DynamicModule, Module } from '@nestjs/common';
import { ConfigModule, type Environment } from '#platform/config';
import { DatabaseModule } from '#platform/db';
import { HousekeepingModule } from './housekeeping.module';
import { JobsModule } from '#platform/jobs';
import { MetricsServerModule } from '#platform/metrics';
import { EvaluationWorkerModule } from './evaluation';
import { RegistryWorkerModule } from './registry';
import { TelemetryWorkerModule } from './telemetry';

/** The areas, as the worker loads them: their processors, and no controller. */
export const WORKER_AREAS = [
  RegistryWorkerModule,
  TelemetryWorkerModule,
  EvaluationWorkerModule,
  HousekeepingModule,
];

/** The worker process. */
@Module({})
export class WorkerModule {
  static forRoot(environment: Environment): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        ConfigModule.forRoot(environment),
        DatabaseModule.forRoot(),
        JobsModule.forRoot(),
        MetricsServerModule,
        ...WORKER_AREAS,
      ],
    };
  }
}

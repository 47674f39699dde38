import { type DynamicModule, Module } from '@nestjs/common';
import { ConfigModule, type Environment } from '#platform/config';
import { DatabaseModule } from '#platform/db';
import { HeartbeatModule } from '#platform/heartbeat';
import { BackfillsModule } from './database/backfills.module';
import { HousekeepingModule } from './housekeeping.module';
import { JobsModule } from '#platform/jobs';
import { MetricsServerModule } from '#platform/metrics-server';
import { EvaluationWorkerModule } from './evaluation';
import { AgentsWorkerModule } from './agents';
import { FilesModule } from './files';
import { McpEndpointWorkerModule } from './mcp-endpoint';
import { McpServersWorkerModule } from './mcp-servers';
import { ModelGatewayWorkerModule } from './model-gateway';
import { RegistryWorkerModule } from './registry';
import { ResourcesWorkerModule } from './resources';
import { SkillsModule } from './skills';
import { StoreWorkerModule } from './store';
import { TelemetryWorkerModule } from './telemetry';

/** The modules that the worker loads: the job processors of every area, without controllers. */
export const WORKER_AREAS = [
  ResourcesWorkerModule,
  RegistryWorkerModule,
  TelemetryWorkerModule,
  FilesModule,
  SkillsModule,
  McpServersWorkerModule,
  AgentsWorkerModule,
  ModelGatewayWorkerModule,
  EvaluationWorkerModule,
  StoreWorkerModule,
  McpEndpointWorkerModule,
  HousekeepingModule,
  BackfillsModule,
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
        HeartbeatModule.forRoot('worker'),
        JobsModule.forRoot(),
        MetricsServerModule,
        ...WORKER_AREAS,
      ],
    };
  }
}

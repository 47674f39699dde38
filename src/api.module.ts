import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { ConfigModule, type Environment } from '#platform/config';
import { DatabaseModule } from '#platform/db';
import { HealthModule } from '#platform/health';
import { HttpModule } from '#platform/http';
import { JobsModule } from '#platform/jobs';
import { MetricsServerModule } from '#platform/metrics';
import { AgentsHttpModule } from './agents';
import { EvaluationHttpModule } from './evaluation';
import { McpServersHttpModule } from './mcp-servers';
import { OpenApiModule } from './openapi';
import { RegistryHttpModule, RegistryModule } from './registry';
import { SkillsHttpModule } from './skills';
import { TelemetryHttpModule } from './telemetry';
import { WORKER_AREAS } from './worker.module';

/** The modules that the API loads: controllers of every area, and no processors. */
export const API_AREAS = [
  RegistryHttpModule,
  TelemetryHttpModule,
  SkillsHttpModule,
  AgentsHttpModule,
  McpServersHttpModule,
  EvaluationHttpModule,
];

/** The API process. */
@Module({})
export class ApiModule {
  /**
   * @param withWorker also loads the worker's modules
   * @param areas additional modules with controllers
   */
  static forRoot(environment: Environment, withWorker = false, areas: readonly Type[] = []): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        ConfigModule.forRoot(environment),
        DatabaseModule.forRoot(),
        JobsModule.forRoot(),
        AuthModule.withAccounts(RegistryModule),
        HttpModule,
        HealthModule,
        MetricsServerModule,
        OpenApiModule,
        ...API_AREAS,
        ...areas,
        ...(withWorker ? WORKER_AREAS : []),
      ],
    };
  }
}

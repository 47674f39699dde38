import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { ConfigModule, type Environment } from '#platform/config';
import { DatabaseModule } from '#platform/db';
import { HeartbeatModule } from '#platform/heartbeat';
import { KeyRotationModule } from '#platform/key-rotation';
import { HealthModule } from '#platform/health';
import { HttpModule } from '#platform/http';
import { JobsModule } from '#platform/jobs';
import { MetricsServerModule } from '#platform/metrics-server';
import { RateLimitModule } from '#platform/rate-limit';
import { AgentsHttpModule } from './agents';
import { ApiProxyHttpModule } from './api-proxy';
import { EvaluationHttpModule } from './evaluation';
import { FilesHttpModule } from './files';
import { McpEndpointHttpModule } from './mcp-endpoint';
import { McpServersHttpModule } from './mcp-servers';
import { GatewayEmbeddingsModule, ModelGatewayHttpModule } from './model-gateway';
import { OpenApiModule } from './openapi';
import { RegistryHttpModule, RegistryModule } from './registry';
import { ResourcesModule } from './resources';
import { SkillsHttpModule } from './skills';
import { StoreHttpModule } from './store';
import { TelemetryHttpModule } from './telemetry';
import { WORKER_AREAS } from './worker.module';

/** The modules that the API loads: the controllers of every area, without job processors. */
export const API_AREAS = [
  RegistryHttpModule,
  TelemetryHttpModule,
  FilesHttpModule,
  SkillsHttpModule,
  AgentsHttpModule,
  McpServersHttpModule,
  ApiProxyHttpModule,
  GatewayEmbeddingsModule,
  ModelGatewayHttpModule,
  EvaluationHttpModule,
  StoreHttpModule,
  McpEndpointHttpModule,
];

export interface ApiOptions {
  /** Also loads the worker's modules. */
  withWorker?: boolean;
  /** No other API process uses the database, so counters need not be shared. */
  isOnlyProcess?: boolean;
  /** Additional modules with controllers. */
  areas?: readonly Type[];
}

/** The API process. */
@Module({})
export class ApiModule {
  static forRoot(
    environment: Environment,
    { withWorker = false, isOnlyProcess = false, areas = [] }: ApiOptions = {},
  ): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        ConfigModule.forRoot(environment),
        DatabaseModule.forRoot(),
        HeartbeatModule.forRoot(withWorker ? 'standalone' : 'api'),
        JobsModule.forRoot(),
        RateLimitModule.forRoot(!isOnlyProcess),
        AuthModule.forRoot(RegistryModule, ResourcesModule),
        HttpModule,
        HealthModule,
        MetricsServerModule,
        OpenApiModule,
        ...API_AREAS,
        ...areas,
        ...(withWorker ? WORKER_AREAS : []),
        ...(isOnlyProcess ? [KeyRotationModule] : []),
      ],
    };
  }
}

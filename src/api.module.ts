import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { ConfigModule, type Environment } from '#platform/config';
import { DatabaseModule } from '#platform/db';
import { HealthModule } from '#platform/health';
import { HttpModule } from '#platform/http';
import { EvaluationHttpModule } from './evaluation';
import { RegistryHttpModule, RegistryModule } from './registry';
import { TelemetryHttpModule } from './telemetry';

/** The areas, as the API loads them: their controllers, and no processor. */
export const API_AREAS = [RegistryHttpModule, TelemetryHttpModule, EvaluationHttpModule];

/** The API process. */
@Module({})
export class ApiModule {
  static forRoot(environment: Environment): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        ConfigModule.forRoot(environment),
        DatabaseModule.forRoot(),
        AuthModule.withAccounts(RegistryModule),
        HttpModule,
        HealthModule,
        ...API_AREAS,
      ],
    };
  }
}

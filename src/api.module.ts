import { type DynamicModule, Module } from '@nestjs/common';
import { ConfigModule, type Environment } from '#platform/config';
import { DatabaseModule } from '#platform/db';
import { HealthModule } from '#platform/health';
import { HttpModule } from '#platform/http';

/** The areas, as the API loads them: their controllers, and no processor. */
export const API_AREAS = [];

/** The API process. */
@Module({})
export class ApiModule {
  static forRoot(environment: Environment): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        ConfigModule.forRoot(environment),
        DatabaseModule.forRoot(),
        HttpModule,
        HealthModule,
        ...API_AREAS,
      ],
    };
  }
}

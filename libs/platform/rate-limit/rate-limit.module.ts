import { type DynamicModule, Module } from '@nestjs/common';
import { Environment } from '#platform/config';
import { UnauthorizedLimit } from '#platform/http';
import { MetricsModule } from '#platform/metrics';
import { UnauthorizedRateLimit } from './address-limits';
import { ClientAddresses } from './client-addresses';
import { LimiterStore, limiterStoreOf } from './limiter-stores';
import { RateLimits } from './rate-limits';

/** The rate limits of an API process. `AuthModule` needs the `RateLimitGuard` among its guards. */
@Module({})
export class RateLimitModule {
  /** @param isShared whether other API processes may use the same database */
  static forRoot(isShared: boolean): DynamicModule {
    return {
      module: RateLimitModule,
      global: true,
      imports: [MetricsModule],
      providers: [
        {
          provide: LimiterStore,
          inject: [Environment],
          useFactory: (environment: Environment) => limiterStoreOf(environment, isShared),
        },
        RateLimits,
        ClientAddresses,
        { provide: UnauthorizedLimit, useClass: UnauthorizedRateLimit },
      ],
      exports: [RateLimits, ClientAddresses, UnauthorizedLimit],
    };
  }
}

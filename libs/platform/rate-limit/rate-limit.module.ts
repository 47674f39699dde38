import type { IncomingMessage, ServerResponse } from 'node:http';
import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import { Environment } from '#platform/config';
import { UnauthorizedLimit } from '#platform/http';
import { MetricsModule } from '#platform/metrics';
import { ClientAddresses } from './client-addresses';
import { LimiterStore, limiterStoreOf } from './limiter-stores';
import { RateLimits } from './rate-limits';

/** Limits the requests of an address that end in 401. Requests with a valid credential are never counted. */
@Injectable()
class UnauthorizedRateLimit extends UnauthorizedLimit {
  constructor(
    private readonly limits: RateLimits,
    private readonly addresses: ClientAddresses,
  ) {
    super();
  }

  override count(request: IncomingMessage, response: ServerResponse): Promise<void> {
    return this.limits.count('unauthorized', this.addresses.of(request), response);
  }
}

/** The rate limits of an API process. */
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

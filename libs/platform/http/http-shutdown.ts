import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Environment } from '#platform/config';
import { finishingMs } from '#platform/process';
import { ServiceAdapter } from './service-adapter';

/** First of all that stops: no request comes in any more, while jobs and the requests under way are finished. */
@Injectable()
export class HttpShutdown implements OnModuleDestroy {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly environment: Environment,
  ) {}

  onModuleDestroy(): void {
    const { httpAdapter } = this.host;
    if (httpAdapter instanceof ServiceAdapter)
      httpAdapter.stopAccepting(finishingMs(this.environment.SHUTDOWN_SECONDS));
  }
}

import { Module } from '@nestjs/common';
import { MetricsModule } from '#platform/metrics';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { BodyInterceptor } from './body.interceptor';
import { BodyRooms } from './body-rooms';
import { DeadlineInterceptor } from './deadline.interceptor';
import { HttpMetrics } from './http.metrics';
import { HttpShutdown } from './http-shutdown';
import { IdempotencyInterceptor } from './idempotency.interceptor';
import { IdempotencyStore } from './idempotency.store';
import { ProblemFilter } from './problem.filter';
import { QueryInterceptor } from './query.interceptor';
import { ResponseInterceptor } from './response.interceptor';
import { SpoolSpace } from './spool-space';
import { ServiceValidationPipe } from './validation.pipe';

/** The way of every request after its guards: query, body, deadline, idempotency, validation, handler, answer. */
@Module({
  imports: [MetricsModule],
  providers: [
    BodyRooms,
    HttpMetrics,
    HttpShutdown,
    IdempotencyStore,
    SpoolSpace,
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_INTERCEPTOR, useClass: ResponseInterceptor },
    { provide: APP_INTERCEPTOR, useClass: QueryInterceptor },
    { provide: APP_INTERCEPTOR, useClass: BodyInterceptor },
    { provide: APP_INTERCEPTOR, useClass: DeadlineInterceptor },
    { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
    { provide: APP_PIPE, useClass: ServiceValidationPipe },
  ],
})
export class HttpModule {}

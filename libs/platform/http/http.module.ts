import { Injectable, Module, type OnModuleDestroy } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE, HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { Environment } from '#platform/config';
import { MetricsModule } from '#platform/metrics';
import { finishingMs } from '#platform/process';
import { BodyInterceptor } from './body.interceptor';
import { BodyBudgets } from './body-budgets';
import { DeadlineInterceptor } from './deadline';
import { HttpMetrics } from './http.metrics';
import { IdempotencyInterceptor } from './idempotency.interceptor';
import { IdempotencyRepository } from './idempotency.repository';
import { JsonBodiesModule } from './json-bodies';
import { ProblemFilter } from './problem.filter';
import { QueryInterceptor } from './query.interceptor';
import { ResponseInterceptor } from './response.interceptor';
import { requestContext } from './request-context';
import { ServiceAdapter } from './service-adapter';
import { ServiceValidationPipe } from './validation.pipe';

/** Stops accepting requests at the start of a shutdown, while running jobs and requests finish. */
@Injectable()
class HttpShutdown implements OnModuleDestroy {
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

/** Handles a request after its guards, in this order: query, body, deadline, idempotency, validation, handler, response. */
@Module({
  imports: [JsonBodiesModule, MetricsModule],
  providers: [
    BodyBudgets,
    HttpMetrics,
    HttpShutdown,
    IdempotencyRepository,
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

/** The headers that scripts of other origins may read, besides those that browsers always show. */
const EXPOSED = [
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Idempotency-Replayed',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Repr-Digest',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
];

/** How long browsers may keep the answer to a preflight. */
const PREFLIGHT_SECONDS = 600;

/** Sets the headers of every response. Responses are private to their caller and revalidated by ETag. */
function responseHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'private, no-cache');
  next();
}

/** Applies the settings of Express and the middleware before all routes. Create the application with `bodyParser: false`. */
export function configureHttp(app: NestExpressApplication): void {
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');
  const metrics = app.get(HttpMetrics, { strict: false });
  const measure = (request: Request, response: Response, next: NextFunction): void => {
    response.once('close', () => metrics.count(request, response));
    next();
  };
  app.use(requestContext, measure, responseHeaders);
  const { CORS_ORIGINS } = app.get(Environment, { strict: false });
  if (CORS_ORIGINS.length > 0) {
    app.enableCors({ origin: [...CORS_ORIGINS], exposedHeaders: EXPOSED, maxAge: PREFLIGHT_SECONDS });
  }
}

import { Injectable, Module, type OnModuleDestroy } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE, HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import cors from 'cors';
import { Environment } from '#platform/config';
import { MetricsModule } from '#platform/metrics';
import { finishingMs } from '#platform/process';
import { BodyReceiver } from './body.receiver';
import { BodyBudgetsModule } from './body-budgets';
import { type Endpoint, listenerOf, type RequestStep, setOwnHeaders } from './endpoint';
import { Deadline } from './deadline';
import { HttpMetrics } from './http.metrics';
import { Idempotency } from './idempotency';
import { IdempotencyRepository } from './idempotency.repository';
import { ProblemFilter } from './problem.filter';
import { RequestBytes } from './request-bytes';
import { RequestInterceptor } from './request.interceptor';
import { ResponseWriter } from './response.writer';
import { beginRequest } from './request-context';
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

/** Handles requests after their admission. See `RequestInterceptor`. */
@Module({
  imports: [BodyBudgetsModule, MetricsModule],
  exports: [BodyBudgetsModule, RequestBytes],
  providers: [
    BodyReceiver,
    Deadline,
    HttpMetrics,
    HttpShutdown,
    Idempotency,
    IdempotencyRepository,
    ProblemFilter,
    RequestBytes,
    ResponseWriter,
    { provide: APP_FILTER, useExisting: ProblemFilter },
    { provide: APP_INTERCEPTOR, useClass: RequestInterceptor },
    { provide: APP_PIPE, useClass: ServiceValidationPipe },
  ],
})
export class HttpModule {}

/** The headers that scripts of other origins may read, in addition to those that browsers always expose. */
const EXPOSED = [
  'Accept-Ranges',
  'Allow',
  'Cache-Status',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Idempotency-Replayed',
  'Location',
  'Proxy-Status',
  'RateLimit',
  'RateLimit-Policy',
  'Repr-Digest',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
  'X-Should-Retry',
  'traceresponse',
];

/** Seconds for which browsers may cache the response to a preflight. */
const PREFLIGHT_SECONDS = 600;

/** Returns the first step of every request: its ids, its log line and its metrics. */
function beginStep(app: NestExpressApplication): RequestStep {
  const metrics = app.get(HttpMetrics, { strict: false });
  return (request, response, next) =>
    beginRequest(request, response, () => metrics.count(request, response), next);
}

/** Returns the step that lets pages of `CORS_ORIGINS` call the service, and responds to their preflights. */
function corsStep(app: NestExpressApplication): RequestStep {
  const { CORS_ORIGINS } = app.get(Environment, { strict: false });
  if (CORS_ORIGINS.length === 0) return (_request, _response, next) => next();
  const allow = cors({ origin: [...CORS_ORIGINS], exposedHeaders: EXPOSED, maxAge: PREFLIGHT_SECONDS });
  return (request, response, next) => {
    const { headers, method } = request;
    if (method !== 'OPTIONS') return allow(request as never, response, () => next());
    // the package treats every OPTIONS request as a preflight and responds to it
    const isPreflight = headers['access-control-request-method'] !== undefined;
    if (isPreflight) {
      response.setHeader('X-Request-Id', request.context.requestId);
      setOwnHeaders(response);
    }
    allow((isPreflight ? request : { method: 'GET', headers }) as never, response, () => next());
  };
}

/** Serves all requests below a path with an endpoint, after the steps of every request. The only step that sets headers is CORS. */
export function mountEndpoint(app: NestExpressApplication, path: string, endpoint: Endpoint): void {
  const adapter = app.getHttpAdapter() as unknown as ServiceAdapter;
  const filter = app.get(ProblemFilter, { strict: false });
  adapter.mount(path, listenerOf([beginStep(app), corsStep(app)], endpoint, filter));
}

/** Applies the settings of Express and the middleware before all routes. Create the application with `bodyParser: false`. */
export function configureHttp(app: NestExpressApplication): void {
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');
  const setHeaders: RequestStep = (request, response, next) => {
    response.setHeader('X-Request-Id', request.context.requestId);
    setOwnHeaders(response);
    next();
  };
  app.use(beginStep(app), setHeaders, corsStep(app));
}

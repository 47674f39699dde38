import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { HttpMetrics } from './http.metrics';
import { requestContext } from './request-context';

/** What every answer carries. Answers are private to their caller, and revalidated by ETag. */
function answerHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'private, no-cache');
  next();
}

/** Settings of Express and the middleware before all routes. The application is made with `bodyParser: false`. */
export function configureHttp(app: NestExpressApplication): void {
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');
  app.set('case sensitive routing', true);
  const metrics = app.get(HttpMetrics, { strict: false });
  const measure = (request: Request, response: Response, next: NextFunction): void => {
    response.once('close', () => metrics.count(request, response));
    next();
  };
  app.use(requestContext, measure, answerHeaders);
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { UnauthorizedLimit } from '#platform/http';
import type { Problem } from '#platform/problem';
import { ClientAddresses } from './client-addresses';
import { RateLimits } from './rate-limits';

/** Documents that everyone can read. */
const DOCUMENTS = /^\/(openapi\.json|docs|\.well-known)(\/|$)/;

/** Limits the requests of an address that end in 401. Requests with a valid credential are never counted. */
@Injectable()
export class UnauthorizedRateLimit extends UnauthorizedLimit {
  constructor(
    private readonly limits: RateLimits,
    private readonly addresses: ClientAddresses,
  ) {
    super();
  }

  override check(request: IncomingMessage, response: ServerResponse): Promise<Problem | undefined> {
    return this.limits.check('unauthorized', this.addresses.of(request), response);
  }
}

/** Limits the requests of an address for public documents. Call it before the documents are routed. */
export function limitDocuments(app: NestExpressApplication): void {
  const limits = app.get(RateLimits, { strict: false });
  const addresses = app.get(ClientAddresses, { strict: false });
  app.use((request: Request, response: Response, next: NextFunction): void => {
    if (!DOCUMENTS.test(request.path)) return next();
    limits.check('documents', addresses.of(request), response).then(next, next);
  });
}

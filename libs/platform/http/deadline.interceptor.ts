import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { catchError, type Observable, throwError, timeout, TimeoutError } from 'rxjs';
import { Environment } from '#platform/config';
import { Problem } from '#platform/problem';
import type { ServiceRequest } from './request-context';

export const LONG_RUNNING = 'http:long-running';

/** Which requests of a route may take longer; their bodies are read and parsed, but not yet checked. */
export type IsLongRunning = (request: ServiceRequest) => boolean;

/** On a route that calls a scorer while its client waits: `TEST_SCORING_TIMEOUT_MS` applies to these requests of it. */
export const LongRunning = (which: IsLongRunning) => SetMetadata(LONG_RUNNING, which);

/** Answers 504 when a handler takes longer than a request may, counted from the end of the request's body. */
@Injectable()
export class DeadlineInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly environment: Environment,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const isLong = this.reflector.get<IsLongRunning | undefined>(LONG_RUNNING, context.getHandler());
    const limit = isLong?.(context.switchToHttp().getRequest())
      ? this.environment.TEST_SCORING_TIMEOUT_MS
      : this.environment.REQUEST_TIMEOUT_MS;
    return next.handle().pipe(
      timeout(limit),
      catchError((error: unknown) =>
        throwError(() =>
          error instanceof TimeoutError
            ? new Problem('request_timeout', `The request took longer than ${limit / 1000} s.`)
            : error,
        ),
      ),
    );
  }
}

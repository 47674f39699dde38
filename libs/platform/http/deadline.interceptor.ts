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
import { Problem, problem } from '#platform/problem';
import type { ServiceRequest } from './request-context';

export const LONG_RUNNING = 'http:long-running';

/** How long such a request may take, in milliseconds. */
export type TimeLimit = (environment: Environment) => number;

interface LongRunningRule {
  which: IsLongRunning;
  limit: TimeLimit;
}

/** Which requests of a route may take longer; their bodies are read and parsed, but not yet checked. */
export type IsLongRunning = (request: ServiceRequest) => boolean;

/** On a route of which some requests may take longer than `REQUEST_TIMEOUT_MS`. */
export const LongRunning = (which: IsLongRunning, limit: TimeLimit) =>
  SetMetadata(LONG_RUNNING, { which, limit } satisfies LongRunningRule);

const LATE_DETAIL = 'http:late-detail';

/**
 * On routes, or a controller of them, whose lateness tells that what they read is not available: they answer 503
 * `service_unavailable`, with `Retry-After`, and this detail.
 */
export const UnavailableWhenLate = (detail: string) => SetMetadata(LATE_DETAIL, detail);

/**
 * Answers 504, or 503 by `@UnavailableWhenLate()`, when a handler takes longer than a request may, counted from the end of
 * the request's body, and has what it began end (`@RequestSignal()`).
 */
@Injectable()
export class DeadlineInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly environment: Environment,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    const rule = this.reflector.get<LongRunningRule | undefined>(LONG_RUNNING, context.getHandler());
    const limit = rule?.which(request) ? rule.limit(this.environment) : this.environment.REQUEST_TIMEOUT_MS;
    return next.handle().pipe(
      timeout(limit),
      catchError((error: unknown) => {
        if (!(error instanceof TimeoutError)) return throwError(() => error);
        const late = this.lateness(context, limit);
        request.ending?.abort(late);
        return throwError(() => late);
      }),
    );
  }

  private lateness(context: ExecutionContext, limit: number): Problem {
    const detail = this.reflector.getAllAndOverride<string | undefined>(LATE_DETAIL, [
      context.getHandler(),
      context.getClass(),
    ]);
    return detail === undefined
      ? new Problem('request_timeout', `The request took longer than ${limit / 1000} s.`)
      : problem.unavailable(detail, { headers: { 'Retry-After': '1' } });
  }
}

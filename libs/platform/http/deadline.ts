import type { ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { Environment } from '#platform/config';
import { Problem, problem } from '#platform/problem';
import { Reply } from './reply';
import type { ServiceRequest } from './request-context';
import { StreamedBody } from './streamed-body';

export const LONG_RUNNING = 'http:long-running';

/** Returns how long a request may take, in milliseconds. */
export type TimeLimit = (environment: Environment) => number;

interface LongRunningRule {
  which: IsLongRunning;
  limit: TimeLimit;
}

/** Returns whether a request may take longer. Its body is parsed, but not validated. */
export type IsLongRunning = (request: ServiceRequest) => boolean;

/** Lets some requests of a route take longer than `REQUEST_TIMEOUT_MS`. */
export const LongRunning = (which: IsLongRunning, limit: TimeLimit) =>
  SetMetadata(LONG_RUNNING, { which, limit } satisfies LongRunningRule);

/** Lets all requests of a route take as long as imports, because they read or write large content. */
export const TakesAsLongAsImports = () =>
  LongRunning(
    () => true,
    ({ IMPORT_TIMEOUT_MS }) => IMPORT_TIMEOUT_MS,
  );

const LATE_DETAIL = 'http:late-detail';

/** Makes late requests of a route or controller return 503 `service_unavailable`, with `Retry-After` and this detail. */
export const UnavailableWhenLate = (detail: string) => SetMetadata(LATE_DETAIL, detail);

/**
 * Returns 504, or 503 with `@UnavailableWhenLate()`, when a handler takes too long after the end of the request's body. Also
 * aborts its `@RequestSignal()`.
 */
@Injectable()
export class Deadline {
  constructor(
    private readonly reflector: Reflector,
    private readonly environment: Environment,
  ) {}

  /** Returns the result of `handle`, or throws if it is late. */
  run(context: ExecutionContext, request: ServiceRequest, handle: () => Promise<unknown>): Promise<unknown> {
    const rule = this.reflector.get<LongRunningRule | undefined>(LONG_RUNNING, context.getHandler());
    const limit = rule?.which(request) ? rule.limit(this.environment) : this.environment.REQUEST_TIMEOUT_MS;
    // the time for parsing a large body counts
    const spent = request.bodyReadAt === undefined ? 0 : performance.now() - request.bodyReadAt;
    const handled = handle();
    // an open connection references its last request, which must not keep the result in memory
    request.handled = handled.then(drop, drop);
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      let isSettled = false;
      const expire = (): void => {
        const fault = this.timeoutProblem(context, limit);
        request.ending?.abort(fault);
        handled.then(cancelBody).catch(drop);
        reject(fault);
      };
      const begin = (): void => {
        if (!isSettled) timer = setTimeout(expire, Math.max(limit - spent, 1));
      };
      const settle = (): void => {
        isSettled = true;
        clearTimeout(timer);
        resolve(handled);
      };
      handled.then(settle, settle);
      if (request.incoming) void bodyEnd(request).then(begin);
      else begin();
    });
  }

  private timeoutProblem(context: ExecutionContext, limit: number): Problem {
    const detail = this.reflector.getAllAndOverride<string | undefined>(LATE_DETAIL, [
      context.getHandler(),
      context.getClass(),
    ]);
    return detail === undefined
      ? new Problem('request_timeout', `The request took longer than ${limit / 1000} s.`)
      : problem.unavailable(detail, { headers: { 'Retry-After': '1' } });
  }
}

/**
 * Injects an AbortSignal that is aborted when nobody waits for the response any more: after a timeout, with its problem as
 * the reason, or when the client has disconnected.
 */
export const RequestSignal = createParamDecorator((_: unknown, context: ExecutionContext): AbortSignal => {
  const http = context.switchToHttp();
  return endingOf(http.getRequest<ServiceRequest>(), http.getResponse<Response>()).signal;
});

const drop = (): void => undefined;

/** Closes the source of a response that nobody receives any more. */
async function cancelBody(result: unknown): Promise<void> {
  if (result instanceof Reply && result.body instanceof StreamedBody) await result.body.cancel();
}

/** Resolves when the body has arrived, or never will. */
function bodyEnd(request: ServiceRequest): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    request.once('end', () => resolve()).once('close', () => resolve());
  });
}

/** Returns the controller of a request's signal. Created on demand, because most handlers never need it. */
export function endingOf(request: ServiceRequest, response: ServerResponse): AbortController {
  if (request.ending) return request.ending;
  const ending = new AbortController();
  const abort = (): void => {
    if (!response.writableFinished) ending.abort(clientDisconnected());
  };
  if (response.closed || response.destroyed) abort();
  else response.once('close', abort);
  request.ending = ending;
  return ending;
}

/** Nobody receives this problem. The log marks the request as not `completed`. */
const clientDisconnected = (): Problem =>
  new Problem('request_timeout', 'The client closed the connection before the response.', { status: 408 });

import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Response } from 'express';
import { rootLogger } from '#platform/logging';
import { Problem, problem, type ProblemBody, problemOfDatabaseError } from '#platform/problem';
import type { ServiceRequest } from './request-context';
import { methodsOf } from './route-methods';

/** Writes a problem in another form than JSON: OTLP answers protobuf requests with `google.rpc.Status`. */
export type ProblemWriter = (response: Response, body: ProblemBody) => void;

/** Where a route's middleware leaves its own writer, in `response.locals`. */
export const PROBLEM_WRITER = 'problemWriter';

/** Whatever is thrown anywhere in a request ends here, and is answered as a problem. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<ServiceRequest>();
    const response = http.getResponse<Response>();
    const found = this.problemOf(error, request);
    if (found.status >= 500) {
      rootLogger.error(
        {
          err: found.cause ?? found,
          request_id: request.context?.requestId,
          trace_id: request.context?.traceId,
          code: found.code,
        },
        'request failed',
      );
    }
    // A stream that fails after its first byte is broken off, never ended as if it were complete.
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (found.status === 401) response.setHeader('WWW-Authenticate', challenge(found));
    for (const [name, value] of Object.entries(found.headers)) response.setHeader(name, value);
    const body = found.toBody(request.context?.traceId ?? null);
    response.status(found.status);
    response.removeHeader('ETag');
    const writer = response.locals[PROBLEM_WRITER] as ProblemWriter | undefined;
    if (writer) return writer(response, body);
    response.setHeader('Content-Type', 'application/problem+json');
    response.end(JSON.stringify(body));
  }

  private problemOf(error: unknown, request: ServiceRequest): Problem {
    if (error instanceof Problem) return error;
    const ofDatabase = problemOfDatabaseError(error);
    if (ofDatabase) return ofDatabase;
    if (error instanceof HttpException) return this.problemOfNest(error, request);
    return unforeseen(error);
  }

  /** Nest's own exceptions: an unknown route, a URL that cannot be decoded, or a file that is not as the client has it. */
  private problemOfNest(error: HttpException, request: ServiceRequest): Problem {
    const status = error.getStatus();
    if (status === 404) {
      const allowed = methodsOf(this.host.httpAdapter.getInstance(), request.path);
      if (allowed.length === 0) return new Problem('not_found', 'No operation has this path.');
      return new Problem('method_not_allowed', `This path answers ${allowed.join(', ')}.`, {
        headers: { Allow: allowed.join(', ') },
      });
    }
    if (status === 412) {
      return new Problem(
        'precondition_failed',
        'The file is not the one that If-Match or its like asks for.',
      );
    }
    if (status < 500) {
      return problem.invalidRequest('The path cannot be decoded: it is to be percent-encoded UTF-8.', {
        cause: error,
      });
    }
    return unforeseen(error);
  }
}

const unforeseen = (cause: unknown): Problem =>
  new Problem('internal_error', 'Something went wrong on our side. Quote the request id if you report it.', {
    cause,
  });

/** Codes of requests that hold no token: no `Authorization`, or one of another scheme. */
const WITHOUT_TOKEN: ReadonlySet<string> = new Set(['token_missing', 'unauthorized']);

/** RFC 6750, section 3: the error is named only where a token was sent. */
const challenge = ({ code }: Problem): string =>
  WITHOUT_TOKEN.has(code) ? 'Bearer' : 'Bearer error="invalid_token"';

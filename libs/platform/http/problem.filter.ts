import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Response } from 'express';
import { rootLogger } from '#platform/logging';
import { Problem, problem, type ProblemBody, problemOfDatabaseError } from '#platform/problem';
import type { ServiceRequest } from './request-context';

/** Writes a problem in another format than JSON, such as the `google.rpc.Status` of OTLP. */
export type ProblemWriter = (response: Response, body: ProblemBody) => void;

/** Key of a route's own writer in `response.locals`. */
export const PROBLEM_WRITER = 'problemWriter';

/** Answers every exception of a request with a problem. */
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
    // a stream that fails after its first byte must not end as if it were complete
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
    return internalError(error);
  }

  /** Maps Nest's own exceptions: an unknown route, a malformed URL, or a failed condition on a static file. */
  private problemOfNest(error: HttpException, request: ServiceRequest): Problem {
    const status = error.getStatus();
    if (status === 404) {
      const allowed = methodsOf(this.host.httpAdapter.getInstance(), request.path);
      if (allowed.length === 0) return new Problem('not_found', 'No operation has this path.');
      return new Problem('method_not_allowed', `This path supports ${allowed.join(', ')}.`, {
        headers: { Allow: allowed.join(', ') },
      });
    }
    if (status === 412) {
      return new Problem('precondition_failed', 'The file does not match the condition of the request.');
    }
    if (status < 500) {
      return problem.invalidRequest('The path is not percent-encoded UTF-8. Encode it again.', {
        cause: error,
      });
    }
    return internalError(error);
  }
}

const internalError = (cause: unknown): Problem =>
  new Problem('internal_error', 'Internal error. Quote the request id when you report it.', {
    cause,
  });

/** Codes of requests without a token. */
const WITHOUT_TOKEN: ReadonlySet<string> = new Set(['token_missing', 'unauthorized']);

/** Names the error only when a token was sent (RFC 6750, section 3). */
const challenge = ({ code }: Problem): string =>
  WITHOUT_TOKEN.has(code) ? 'Bearer' : 'Bearer error="invalid_token"';

interface Layer {
  route?: { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** Returns the methods of all routes at a path, for `Allow`; none for an unknown path. */
function methodsOf(express: unknown, path: string): string[] {
  const { stack } = (express as { router: { stack: Layer[] } }).router;
  const methods = new Set<string>();
  for (const layer of stack) {
    if (layer.route && matches(layer, path)) {
      for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
    }
  }
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}

function matches(layer: Layer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    return false; // a path that cannot be decoded matches nothing
  }
}

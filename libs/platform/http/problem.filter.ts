import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from 'express';
import { rootLogger } from '#platform/logging';
import { Problem, problem, type ProblemBody, problemOfDatabaseError } from '#platform/problem';
import type { ServiceRequest } from './request-context';

/** Writes a problem in another format than JSON, such as the `google.rpc.Status` of OTLP. */
export type ProblemWriter = (response: ServerResponse, body: ProblemBody) => void;

/** Key of a route's own writer in `response.locals`. */
export const PROBLEM_WRITER = 'problemWriter';

/** Key in `response.locals` of the URL that a route's 401s name as `resource_metadata` (RFC 9728, section 5.1). */
export const RESOURCE_METADATA = 'resourceMetadata';

/** Limits how many 401s a client gets. `#platform/rate-limit` provides it. */
@Injectable()
export abstract class UnauthorizedLimit {
  /** Counts a request that ends in 401. Throws the 429 that replaces it beyond the limit. */
  abstract count(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/**
 * Logs a failure that is not the client's fault. A failure of a tenant's own system is logged at level `info` and without a
 * stack, so that it raises no alert. Overload is only counted, because logging each rejected request would add to it.
 *
 * @param context further members of the log line, such as the request id
 */
export function logFailure(failure: Problem, context: object, message: string): void {
  const { status, code, detail, isUpstream } = failure;
  if (status < 500 || code === 'service_overloaded') return;
  if (isUpstream) rootLogger.info({ ...context, code, detail }, message);
  else rootLogger.error({ err: failure.cause ?? failure, ...context, code }, message);
}

/** Turns every exception of a request into a problem. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly unauthorized: UnauthorizedLimit,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.respond(error, http.getRequest<ServiceRequest>(), http.getResponse<ServerResponse>());
  }

  /** Responds to a request with the problem of an error. */
  respond(error: unknown, request: ServiceRequest, response: ServerResponse, writer?: ProblemWriter): void {
    const failure = this.problemOf(error, request);
    const send = (outcome = failure): void => this.send(outcome, request, response, writer);
    if (failure.status !== 401) return send();
    // every 401 passes here; a 401 that cannot be counted is sent all the same
    void this.unauthorized.count(request, response).then(
      () => send(),
      (limited: unknown) => send(limited instanceof Problem ? limited : failure),
    );
  }

  private send(
    failure: Problem,
    request: ServiceRequest,
    response: ServerResponse,
    ownWriter: ProblemWriter | undefined,
  ): void {
    const { requestId: request_id, traceId: trace_id } = request.context ?? {};
    logFailure(failure, { request_id, trace_id }, 'request failed');
    // a stream that fails after its first byte must not end as if it were complete
    if (response.headersSent) {
      response.destroy();
      return;
    }
    // Express sets them
    const { locals = {} } = response as Partial<Response>;
    if (failure.status === 401) {
      const metadata = locals[RESOURCE_METADATA] as string | undefined;
      response.setHeader('WWW-Authenticate', challenge(failure, metadata));
    }
    for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value);
    const body = failure.toBody(request.context?.traceId ?? null);
    response.statusCode = failure.status;
    for (const name of SUCCESS_HEADERS) response.removeHeader(name);
    const writer = ownWriter ?? (locals[PROBLEM_WRITER] as ProblemWriter | undefined);
    if (writer) return writer(response, body);
    const bytes = Buffer.from(JSON.stringify(body));
    response.setHeader('Content-Type', 'application/problem+json');
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
  }

  private problemOf(error: unknown, request: ServiceRequest): Problem {
    if (error instanceof Problem) return error;
    const databaseProblem = problemOfDatabaseError(error);
    if (databaseProblem) return databaseProblem;
    if (error instanceof HttpException) return this.problemOfNest(error, request);
    return internalError(error);
  }

  /** Maps Nest's own exceptions: an unknown route or a malformed URL. */
  private problemOfNest(error: HttpException, request: ServiceRequest): Problem {
    const status = error.getStatus();
    if (status === 404) {
      const allowed = methodsOf(this.host.httpAdapter.getInstance(), request.path);
      if (allowed.length === 0)
        return new Problem('not_found', 'No operation has this path. See /docs for the operations.');
      return new Problem('method_not_allowed', `This path supports ${allowed.join(', ')}.`, {
        headers: { Allow: allowed.join(', ') },
      });
    }
    if (status < 500) {
      return problem.invalidRequest('The path is not valid percent-encoded UTF-8. Fix its encoding.', {
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

/** Headers that may have been set before the request failed. */
const SUCCESS_HEADERS = [
  'ETag',
  'Content-Disposition',
  'Repr-Digest',
  'Content-Length',
  'Content-Encoding',
  'Location',
];

/** Codes of requests without a token. */
const WITHOUT_TOKEN: ReadonlySet<string> = new Set(['token_missing', 'unauthorized']);

/** Names the error only when a token was sent (RFC 6750, section 3). */
function challenge({ code }: Problem, metadata: string | undefined): string {
  const parameters = [
    ...(WITHOUT_TOKEN.has(code) ? [] : ['error="invalid_token"']),
    ...(metadata === undefined ? [] : [`resource_metadata="${metadata}"`]),
  ];
  return ['Bearer', parameters.join(', ')].join(' ').trimEnd();
}

interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
  match(path: string): boolean;
}

/**
 * Returns the methods of the routes at a path, for `Allow`; none for an unknown path. A route with this very path hides those
 * with a parameter in its place: `GET` and `PATCH` of `/datasets/{id}` do not apply to `/datasets/search`.
 */
function methodsOf(express: unknown, path: string): string[] {
  const { stack } = (express as { router: { stack: Layer[] } }).router;
  const found = stack.flatMap((layer) => (layer.route && matches(layer, path) ? [layer.route] : []));
  const exact = found.filter((route) => route.path === path);
  const routes = exact.length > 0 ? exact : found;
  const methods = new Set(
    routes.flatMap((route) => Object.keys(route.methods).map((method) => method.toUpperCase())),
  );
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

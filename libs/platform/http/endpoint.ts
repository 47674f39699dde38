import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Problem } from '#platform/problem';
import type { ProblemFilter, ProblemWriter } from './problem.filter';
import type { ServiceRequest } from './request-context';

/** A step before the handler of a request. It continues, or ends the request with a problem. */
export type RequestStep = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (fault?: Problem) => void,
) => void;

/** Serves the requests below a path without the routes and the interceptors of Nest. */
export interface Endpoint {
  /** Changes a request before any step reads it. */
  prepare?(request: ServiceRequest): void;
  /** Responds to a request, and sets all headers of the response. Its errors become problems. */
  handle(request: ServiceRequest, response: ServerResponse): Promise<void>;
  /** Returns further headers for the problem of an error of a step or of `handle`. The problem's own headers take precedence. */
  problemHeaders?(error: unknown): Readonly<Record<string, string>>;
  /** Returns the writer for the problems of a request. Default: the writer of the service. */
  problemWriter?(request: ServiceRequest): ProblemWriter;
}

/** Sets the headers of the service's own responses. They are private to their caller and revalidated by ETag. */
export function setOwnHeaders(response: ServerResponse): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'private, no-cache');
}

/** Returns a listener that runs the steps in order, and then the endpoint. */
export function listenerOf(
  steps: readonly RequestStep[],
  endpoint: Endpoint,
  filter: ProblemFilter,
): RequestListener {
  return (incoming, response) => {
    const request = incoming as ServiceRequest;
    const fail = (error: unknown): void => {
      if (!response.headersSent) {
        response.setHeader('X-Request-Id', request.context.requestId);
        setOwnHeaders(response);
        for (const [name, value] of Object.entries(endpoint.problemHeaders?.(error) ?? {}))
          response.setHeader(name, value);
      }
      filter.respond(error, request, response, endpoint.problemWriter?.(request));
    };
    const run = (index: number): void => {
      const step = steps[index];
      if (step) step(request, response, (fault) => (fault ? fail(fault) : run(index + 1)));
      else request.handled = endpoint.handle(request, response).catch(fail);
    };
    endpoint.prepare?.(request);
    run(0);
  };
}

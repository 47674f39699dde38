import type { RequestListener, ServerResponse } from 'node:http';
import type { ServiceRequest } from './request-context';
import type { ProblemFilter, ProblemWriter } from './problem.filter';

/** Calls the next step of a request, or responds. */
export type RequestStep = (request: ServiceRequest, response: ServerResponse, next: () => void) => void;

/** Serves the requests below a path without the routes, the guards and the interceptor of Nest. */
export interface Endpoint {
  /** Admits a request, responds to it, and sets all headers of the response. Its errors become problems. */
  handle(request: ServiceRequest, response: ServerResponse): Promise<void>;
  /** Returns further headers for the problem of an error of `handle`. The problem's own headers take precedence. */
  problemHeaders?(error: unknown): Readonly<Record<string, string>>;
  /** Returns the writer for the problems of a request. Default: the writer of the service. */
  problemWriter?(request: ServiceRequest): ProblemWriter;
}

/** Sets the headers of the service's own responses. They are private to their caller and revalidated by ETag. */
export function setOwnHeaders(response: ServerResponse): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'private, no-cache');
}

/** Returns a listener that runs the steps of every request, and then the endpoint. */
export function listenerOf(
  [begin, allowOrigins]: readonly [RequestStep, RequestStep],
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
    begin(request, response, () =>
      allowOrigins(request, response, () => {
        request.handled = endpoint.handle(request, response).catch(fail);
      }),
    );
  };
}

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Problem } from '#platform/problem';
import type { ProblemFilter } from './problem.filter';
import type { ServiceRequest } from './request-context';

/** A step before the handler of a request. It continues, or answers with a problem. */
export type RequestStep = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (refused?: Problem) => void,
) => void;

/**
 * Handles the requests below a path without the routes and the interceptors of Nest. What it throws becomes a problem. It
 * sends the headers of its responses itself.
 */
export type EndpointHandler = (request: ServiceRequest, response: ServerResponse) => Promise<void>;

/** Sets the headers of the service's own responses. They are private to their caller and revalidated by ETag. */
export function setOwnHeaders(response: ServerResponse): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'private, no-cache');
}

/** Returns a listener that runs the steps in order, and then the handler. */
export function listenerOf(
  steps: readonly RequestStep[],
  handler: EndpointHandler,
  filter: ProblemFilter,
): RequestListener {
  return (incoming, response) => {
    const request = incoming as ServiceRequest;
    const fail = (error: unknown): void => {
      if (!response.headersSent) {
        response.setHeader('X-Request-Id', request.context.requestId);
        setOwnHeaders(response);
      }
      filter.respond(error, request, response);
    };
    const run = (index: number): void => {
      const step = steps[index];
      if (step) step(request, response, (refused) => (refused ? fail(refused) : run(index + 1)));
      else handler(request, response).catch(fail);
    };
    run(0);
  };
}

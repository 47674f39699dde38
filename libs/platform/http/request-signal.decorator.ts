import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';
import { Problem } from '#platform/problem';
import type { ServiceRequest } from './request-context';

/**
 * An AbortSignal that says when nobody waits for the answer any more: the request's time is over (its reason is the
 * problem 504 that was answered), or the client has gone. For work that would otherwise go on, or wait, for nothing.
 */
export const RequestSignal = createParamDecorator((_: unknown, context: ExecutionContext): AbortSignal => {
  const http = context.switchToHttp();
  return endingOf(http.getRequest<ServiceRequest>(), http.getResponse<Response>()).signal;
});

/** Made when a handler asks for it: most answer before it could matter. */
function endingOf(request: ServiceRequest, response: Response): AbortController {
  if (request.ending) return request.ending;
  const ending = new AbortController();
  const gone = (): void => {
    if (!response.writableFinished) ending.abort(clientGone());
  };
  if (response.closed || response.destroyed) gone();
  else response.once('close', gone);
  request.ending = ending;
  return ending;
}

/** Is answered to nobody; the log tells such a request from one that failed by `completed`. */
const clientGone = (): Problem =>
  new Problem('request_timeout', 'The client closed the connection before the answer.', { status: 408 });

import type { NextFunction, Request, Response } from 'express';
import { PROBLEM_WRITER, type ProblemWriter } from '#platform/http';

/** Adds `error` to the problems of the gateway, in the form that the clients of OpenAI and of Anthropic read. */
export function gatewayProblems(request: Request, response: Response, next: NextFunction): void {
  const isAnthropic = request.originalUrl.startsWith('/model/v1/messages');
  const write: ProblemWriter = (answer, body) => {
    const isQuota = answer.getHeader('X-Should-Retry') === 'false';
    const type = isAnthropic ? anthropicType(body.status) : openAiType(body.status, isQuota);
    const error = {
      message: body.detail,
      type,
      code: isQuota ? 'insufficient_quota' : body.code,
      param: null,
    };
    const bytes = Buffer.from(JSON.stringify({ ...body, ...(isAnthropic && { type: 'error' }), error }));
    answer.setHeader('Content-Type', 'application/problem+json');
    answer.setHeader('Content-Length', bytes.length);
    answer.end(bytes);
  };
  response.locals[PROBLEM_WRITER] = write;
  next();
}

function openAiType(status: number, isQuota: boolean): string {
  if (isQuota) return 'insufficient_quota';
  const types: Readonly<Record<number, string>> = {
    401: 'authentication_error',
    403: 'permission_error',
    429: 'rate_limit_error',
  };
  return types[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
}

function anthropicType(status: number): string {
  const types: Readonly<Record<number, string>> = {
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    503: 'overloaded_error',
    504: 'timeout_error',
  };
  return types[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

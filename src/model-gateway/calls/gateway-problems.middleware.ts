import type { NextFunction, Request, Response } from 'express';
import { PROBLEM_WRITER, type ProblemWriter } from '#platform/http';
import type { ProblemBody } from '#platform/problem';

/** Adds `error` to the problems of the gateway, in the form that the clients of OpenAI and of Anthropic read. */
export function gatewayProblems(request: Request, response: Response, next: NextFunction): void {
  const isAnthropic = request.originalUrl.startsWith('/model/v1/messages');
  const write: ProblemWriter = (answer, written) => {
    const { error_code: errorCode, ...body } = written as ProblemBody & { error_code?: string };
    const code = errorCode ?? body.code;
    const type = isAnthropic ? anthropicType(body.status, code) : openAiType(body.status, code);
    const error = { message: body.detail, type, code, param: null };
    const bytes = Buffer.from(JSON.stringify({ ...body, ...(isAnthropic && { type: 'error' }), error }));
    answer.setHeader('Content-Type', 'application/problem+json');
    answer.setHeader('Content-Length', bytes.length);
    answer.end(bytes);
  };
  response.locals[PROBLEM_WRITER] = write;
  next();
}

function openAiType(status: number, code: string): string {
  if (code === 'insufficient_quota') return code;
  const types: Readonly<Record<number, string>> = {
    401: 'authentication_error',
    403: 'permission_error',
    429: 'rate_limit_error',
  };
  return types[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
}

function anthropicType(status: number, code: string): string {
  if (code === 'service_overloaded') return 'overloaded_error';
  const types: Readonly<Record<number, string>> = {
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    504: 'timeout_error',
  };
  return types[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/**
 * Takes the key from `x-api-key`, as the clients of Anthropic send it by default, if the request has no `Authorization`. Runs before
 * authentication.
 */
export function acceptApiKey(request: Request, _response: Response, next: NextFunction): void {
  const key = request.headers['x-api-key'];
  if (request.headers.authorization === undefined && typeof key === 'string') {
    request.headers.authorization = `Bearer ${key}`;
    request.rawHeaders.push('Authorization', `Bearer ${key}`);
  }
  next();
}

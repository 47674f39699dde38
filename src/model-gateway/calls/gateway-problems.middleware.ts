import type { NextFunction, Request, Response } from 'express';
import { PROBLEM_WRITER, type ProblemWriter } from '#platform/http';
import type { ProblemBody } from '#platform/problem';

/** Adds `error` to the problems of the gateway, in the form that OpenAI's and Anthropic's clients read. */
export function gatewayProblems(request: Request, response: Response, next: NextFunction): void {
  response.locals[PROBLEM_WRITER] = gatewayProblemWriter(request.originalUrl);
  next();
}

/** Returns the function that writes problems for a path. */
export function gatewayProblemWriter(path: string): ProblemWriter {
  const isAnthropic = path.startsWith('/model/v1/messages');
  return (response, problem) => {
    const { error_code: errorCode, ...body } = problem as ProblemBody & { error_code?: string };
    const code = errorCode ?? body.code;
    const type = isAnthropic ? anthropicType(body.status, code) : openAiType(body.status, code);
    const error = { message: body.detail, type, code, param: null };
    const bytes = Buffer.from(JSON.stringify({ ...body, ...(isAnthropic && { type: 'error' }), error }));
    response.setHeader('Content-Type', 'application/problem+json');
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
  };
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

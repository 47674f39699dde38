import { createHash } from 'node:crypto';
import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  StreamableFile,
} from '@nestjs/common';
import type { Response } from 'express';
import { mergeMap, type Observable } from 'rxjs';
import { toJsonText } from '#platform/json';
import { Reply } from './reply';
import type { ServiceRequest } from './request-context';
import { StreamedBody } from './streamed-body';

/**
 * Writes what a handler returned: a view, or a `Reply`. Views are serialised here, by the one JSON writer. What is
 * read carries an ETag, its version's or a digest of its text, and is 304 when `If-None-Match` names that.
 */
@Injectable()
export class ResponseInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<ServiceRequest>();
    return next
      .handle()
      .pipe(mergeMap((result: unknown) => write(request, http.getResponse<Response>(), result)));
  }
}

async function write(request: ServiceRequest, response: Response, result: unknown): Promise<unknown> {
  let body = result;
  if (result instanceof Reply) {
    response.status(result.status);
    for (const [name, value] of Object.entries(result.headers)) response.setHeader(name, value);
    body = result.body;
  }
  if (body === undefined || Buffer.isBuffer(body) || body instanceof StreamableFile) return body;
  const isRead = (request.method === 'GET' || request.method === 'HEAD') && response.statusCode === 200;
  if (body instanceof StreamedBody) {
    if (!isRead || !isHeld(request, response)) return body;
    await body.cancel();
    response.status(304);
    return undefined;
  }
  const text = toJsonText(body);
  if (isRead) {
    if (!response.hasHeader('ETag')) response.setHeader('ETag', digestOf(text));
    if (isHeld(request, response)) {
      response.status(304);
      return undefined;
    }
  }
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  return text;
}

/**
 * Whether the client has what is answered. Express would pass over the condition where the request also says
 * `Cache-Control: no-cache`, as fetch does.
 */
const isHeld = (request: ServiceRequest, response: Response): boolean =>
  names(request.headers['if-none-match'], String(response.getHeader('ETag')));

const digestOf = (text: string): string => `"${createHash('sha1').update(text).digest('base64url')}"`;

/** RFC 9110, section 13.1.2: weak comparison with a list of tags, or `*`. */
function names(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  if (condition.trim() === '*') return true;
  return condition.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

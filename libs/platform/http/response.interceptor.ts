import { createHash } from 'node:crypto';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Response } from 'express';
import { mergeMap, type Observable } from 'rxjs';
import { toJsonText } from '#platform/json';
import { etagOf, Reply, Versioned } from './reply';
import type { ServiceRequest } from './request-context';
import { StreamedBody } from './streamed-body';

/**
 * Writes the view or `Reply` that a handler returned. Reads have an ETag, from their version or a digest of the text, and
 * are 304 when `If-None-Match` names it.
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
  } else if (result instanceof Versioned) {
    response.setHeader('ETag', etagOf(result.version));
    body = result.view;
  }
  if (body === undefined || Buffer.isBuffer(body)) return body;
  const isRead = (request.method === 'GET' || request.method === 'HEAD') && response.statusCode === 200;
  // Express ignores the condition when the request has `Cache-Control: no-cache`, which fetch sends
  const isKnown = (): boolean =>
    isRead && names(request.headers['if-none-match'], String(response.getHeader('ETag')));
  if (body instanceof StreamedBody) {
    if (!isKnown()) return body;
    await body.cancel();
    return notModified(response);
  }
  const text = toJsonText(body);
  if (isRead && !response.hasHeader('ETag')) response.setHeader('ETag', digestOf(text));
  if (isKnown()) return notModified(response);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  return text;
}

/** Removes the headers that describe the missing content (RFC 9110, section 15.4.5). */
function notModified(response: Response): undefined {
  response.status(304);
  for (const name of ['Content-Type', 'Content-Length', 'Content-Disposition']) response.removeHeader(name);
}

const digestOf = (text: string): string => `"${createHash('sha1').update(text).digest('base64url')}"`;

/** Returns whether a list of tags, or `*`, names an ETag by weak comparison (RFC 9110, section 13.1.2). */
function names(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  if (condition.trim() === '*') return true;
  return condition.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

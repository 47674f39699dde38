import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  StreamableFile,
} from '@nestjs/common';
import type { Response } from 'express';
import { map, type Observable } from 'rxjs';
import { toJsonText } from '#platform/json';
import { Reply } from './reply';
import type { ServiceRequest } from './request-context';

/** Writes what a handler returned: a view, or a `Reply`. Views are serialised here, by the one JSON writer. */
@Injectable()
export class ResponseInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<ServiceRequest>();
    request.context.route = (request.route as { path?: string } | undefined)?.path;
    return next.handle().pipe(map((result: unknown) => write(http.getResponse<Response>(), result)));
  }
}

function write(response: Response, result: unknown): unknown {
  let body = result;
  if (result instanceof Reply) {
    response.status(result.status);
    for (const [name, value] of Object.entries(result.headers)) response.setHeader(name, value);
    body = result.body;
  }
  if (body === undefined || Buffer.isBuffer(body) || body instanceof StreamableFile) return body;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  return toJsonText(body);
}

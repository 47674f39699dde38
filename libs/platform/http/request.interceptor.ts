import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { BodyReceiver, parametersOf } from './body.receiver';
import { Deadline } from './deadline';
import { Idempotency } from './idempotency';
import { bindCursor, checkCursor } from './list-cursor';
import type { ServiceRequest } from './request-context';
import { ResponseWriter } from './response.writer';
import { unknownParameters } from './validation.pipe';

/**
 * Handles a request after its admission, in this order: query, body, cursor, deadline, idempotency, validation, handler, response. These
 * are steps of one interceptor, because each interceptor of Nest adds observables and promises to every request.
 */
@Injectable()
export class RequestInterceptor implements NestInterceptor {
  /** By handler, whether it has a parameter with `@Query()`. */
  private readonly takesQuery = new WeakMap<object, boolean>();

  constructor(
    private readonly responses: ResponseWriter,
    private readonly bodies: BodyReceiver,
    private readonly deadline: Deadline,
    private readonly idempotency: Idempotency,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return from(this.handle(context, next));
  }

  private async handle(context: ExecutionContext, next: CallHandler): Promise<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<ServiceRequest>();
    const response = http.getResponse<Response>();
    this.responses.prepare(request);
    this.checkQuery(context, request);
    const received = this.bodies.receive(context, request, response);
    if (received) await received;
    checkCursor(request);
    const handler = (): Promise<unknown> => lastValueFrom(next.handle(), { defaultValue: undefined });
    const result = await this.deadline.run(context, request, () =>
      this.idempotency.run(context, request, response, handler),
    );
    bindCursor(request, result);
    return this.responses.write(request, response, result);
  }

  /**
   * Rejects query parameters of an operation that takes none, because a misplaced filter must not go unnoticed. Public
   * routes ignore them, because probes and browsers may add their own.
   */
  private checkQuery(context: ExecutionContext, { query, user }: ServiceRequest): void {
    const names = Object.keys(query);
    if (names.length === 0 || !user) return;
    const handler = context.getHandler();
    const takesQuery = this.takesQuery.get(handler) ?? parametersOf(context, 'query').length > 0;
    this.takesQuery.set(handler, takesQuery);
    if (!takesQuery) throw unknownParameters(names);
  }
}

import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { unknownParameters } from './validation.pipe';
import { takes } from './handler-parameters';
import type { ServiceRequest } from './request-context';

/**
 * Refuses the query of an operation that takes none, as one that takes some refuses what it does not know: a filter
 * sent to where it means nothing must not go unnoticed. Public routes take whatever comes: a probe, or a browser, may
 * add what it likes to their addresses.
 */
@Injectable()
export class QueryInterceptor implements NestInterceptor {
  private readonly takesQuery = new WeakMap<object, boolean>();

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    const names = Object.keys(request.query);
    if (names.length > 0 && request.user && !this.isTaken(context)) throw unknownParameters(names);
    return next.handle();
  }

  private isTaken(context: ExecutionContext): boolean {
    const handler = context.getHandler();
    let isTaken = this.takesQuery.get(handler);
    if (isTaken === undefined) {
      isTaken = takes(context, 'query');
      this.takesQuery.set(handler, isTaken);
    }
    return isTaken;
  }
}

import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { unknownParameters } from './validation.pipe';
import { parametersOf } from './body.interceptor';
import type { ServiceRequest } from './request-context';

/**
 * Refuses query parameters of an operation that takes none, because a misplaced filter must not go unnoticed. Public routes
 * ignore them, because probes and browsers may add their own.
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
      isTaken = parametersOf(context, 'query').length > 0;
      this.takesQuery.set(handler, isTaken);
    }
    return isTaken;
  }
}

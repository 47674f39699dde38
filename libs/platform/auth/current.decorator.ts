import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { ServiceRequest } from '#platform/http';
import type { Principal, Scope } from '#platform/scope';

/** The scope of the request: its organization, and its workspace if the route requires one. */
export const CurrentScope = createParamDecorator((_: unknown, context: ExecutionContext): Scope => {
  return context.switchToHttp().getRequest<ServiceRequest>().scope as Scope;
});

/** The verified caller. */
export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  return context.switchToHttp().getRequest<ServiceRequest>().user as Principal;
});

/** `X-Request-Id` of the request. */
export const CurrentRequestId = createParamDecorator(
  (_: unknown, context: ExecutionContext): string =>
    context.switchToHttp().getRequest<ServiceRequest>().context.requestId,
);

import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { PLATFORM_OWNER, setCurrentOwner } from '#platform/concurrency';
import type { ServiceRequest } from '#platform/http';
import { accessRuleOf } from './access.decorator';
import { Authenticator } from './authenticator';
import { bearerToken } from './bearer-token';
import { BEARER, type BearerOptions } from './bearer.strategy';
import { platformRefused } from './principal-reader';

/**
 * Authenticates every request, except on `Public` routes. Stores the principal in `request.user`, and the route's access
 * rule in `request.rule` for the guards that follow. Cached credentials bypass Passport, which costs several times as much
 * as the look-up. Also implements the last step: rejects platform principals on tenant routes.
 */
@Injectable()
export class BearerGuard extends AuthGuard(BEARER) {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
  ) {
    super();
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const rule = accessRuleOf(this.reflector, context);
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    request.rule = rule;
    if (rule?.kind === 'public') return true;
    const cached = this.authenticator.getCached(bearerToken(request));
    if (!cached) return this.verify(context, request);
    request.user = cached;
    return admit(request);
  }

  private async verify(context: ExecutionContext, request: ServiceRequest): Promise<boolean> {
    await super.canActivate(context);
    request.verified?.(request.user?.orgId ?? PLATFORM_OWNER);
    return admit(request);
  }

  override getAuthenticateOptions(): BearerOptions & { session: false } {
    return { session: false, authenticator: this.authenticator };
  }
}

/** Attributes a request to its organization, and rejects platform principals on tenant routes. */
function admit({ user, rule }: ServiceRequest): boolean {
  setCurrentOwner(user?.orgId ?? PLATFORM_OWNER);
  if (user?.type === 'platform' && rule?.kind !== 'platform' && rule?.kind !== 'principal') {
    throw platformRefused();
  }
  return true;
}

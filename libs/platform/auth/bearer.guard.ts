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
 * Authenticates every request, except on `Public` routes, and stores the principal in `request.user`. Cached credentials
 * bypass Passport, which costs several times as much as the look-up. Also implements the last step: platform principals
 * are refused on the routes of tenants.
 */
@Injectable()
export class BearerGuard extends AuthGuard(BEARER) {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
  ) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const rule = accessRuleOf(this.reflector, context);
    if (rule?.kind === 'public') return true;
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    const cached = this.authenticator.getCached(bearerToken(request));
    if (cached) request.user = cached;
    else await super.canActivate(context);
    const owner = request.user?.orgId ?? PLATFORM_OWNER;
    setCurrentOwner(owner);
    if (!cached) request.verified?.(owner);
    if (request.user?.type === 'platform' && rule?.kind !== 'platform' && rule?.kind !== 'principal') {
      throw platformRefused();
    }
    return true;
  }

  override getAuthenticateOptions(): BearerOptions & { session: false } {
    return { session: false, authenticator: this.authenticator };
  }
}

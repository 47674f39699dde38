import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { ServiceRequest } from '#platform/http';
import { Problem, problem } from '#platform/problem';
import { ACCESS_RULE, type AccessRule } from './access.decorator';
import type { Principal } from './principal';

/** Holds each route to the access rule it declares; a route without one is refused to everybody. */
@Injectable()
export class RoleGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const rule = this.reflector.getAllAndOverride<AccessRule | undefined>(ACCESS_RULE, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (rule?.kind === 'public') return true;
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    const principal = request.user as Principal;
    if (rule?.kind === 'platform') {
      if (principal.type === 'platform') return true;
      throw problem.accessDenied('Only platform principals may do this.');
    }
    if (principal.type === 'platform') {
      throw new Problem(
        'platform_principal_refused',
        'Platform principals manage organizations, not their data.',
      );
    }
    if (rule?.kind === 'member') return true;
    const held = request.scope?.roles;
    if (rule?.kind === 'roles' && held && rule.anyOf.some((role) => held.has(role))) return true;
    const needed = rule?.kind === 'roles' ? rule.anyOf.join(' or ') : 'owner';
    throw problem.accessDenied(`This needs the role ${needed}.`);
  }
}

import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { ServiceRequest } from '#platform/http';
import { problem } from '#platform/problem';
import { type AccessRule, accessRuleOf } from './access.decorator';
import type { Role } from './roles';

/** Holds each route to the access rule it declares; a route without one is refused to everybody. */
@Injectable()
export class RoleGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const rule = accessRuleOf(this.reflector, context);
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    if (rule && allows(rule, request)) return true;
    throw problem.accessDenied(refusalOf(rule));
  }
}

function allows(rule: AccessRule, { user, scope }: ServiceRequest): boolean {
  switch (rule.kind) {
    case 'public':
      return true;
    case 'platform':
      return user?.type === 'platform';
    case 'principal':
      return user !== undefined;
    case 'member':
      return scope !== undefined;
    case 'roles':
      return scope !== undefined && rule.anyOf.some((role) => scope.roles.has(role));
    case 'roles_everywhere':
      return scope !== undefined && rule.anyOf.some((role) => scope.rolesEverywhere.has(role));
    case 'roles_somewhere':
      return (
        scope !== undefined &&
        rule.anyOf.some((role) => scope.roles.has(role) || heldSomewhere(scope.workspacesWith(role)))
      );
  }
}

const heldSomewhere = (workspaces: ReadonlySet<string> | null): boolean =>
  workspaces === null || workspaces.size > 0;

function refusalOf(rule: AccessRule | undefined): string {
  if (rule?.kind === 'platform') return 'Only platform principals may do this.';
  const needed: readonly Role[] = rule && 'anyOf' in rule ? rule.anyOf : [];
  if (needed.length === 0) return 'Nobody may do this.';
  const reach = rule?.kind === 'roles_everywhere' ? ', in all of the organization' : '';
  return `This needs the role ${needed.join(' or ')}${reach}.`;
}

import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { ServiceRequest } from '#platform/http';
import { problem } from '#platform/problem';
import { WORKSPACE_HEADER } from './access.decorator';
import { type AccessRule, isRead, reduceRoles, type Role } from '#platform/scope';

/** Enforces the access rule of each route. A route without a rule rejects every request. */
@Injectable()
export class RoleGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    const { rule } = request;
    if (rule && allows(rule, request)) return true;
    throw problem.accessDenied(refusalOf(request));
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
    case 'roles':
      return scope !== undefined && rule.anyOf.some((role) => scope.roles.has(role));
    case 'roles_everywhere':
      return scope !== undefined && rule.anyOf.some((role) => scope.rolesEverywhere.has(role));
    case 'roles_somewhere':
      return (
        scope !== undefined &&
        rule.anyOf.some((role) => scope.roles.has(role) || isHeldSomewhere(scope.workspacesWith(role)))
      );
  }
}

const isHeldSomewhere = (workspaces: ReadonlySet<string> | null): boolean =>
  workspaces === null || workspaces.size > 0;

/** Returns a detail that names the missing role, where it is required, and the caller's roles there. */
function refusalOf({ rule, scope, method }: ServiceRequest): string {
  if (rule?.kind === 'platform') return 'Only platform principals can call this operation.';
  const needed: readonly Role[] = rule && 'anyOf' in rule ? rule.anyOf : [];
  if (needed.length === 0) return 'No role allows this operation.';
  const roles = `Requires the role ${needed.join(' or ')}`;
  if (rule?.kind === 'roles_everywhere') return `${roles} in the whole organization.`;
  const isInWorkspace = scope !== undefined && 'workspaceId' in scope;
  if (!isInWorkspace && rule?.kind === 'roles_somewhere') {
    const isAnyEnough = rule.isOfOrganization === true || method === 'GET' || isRead(rule);
    return `${roles} in ${isAnyEnough ? 'at least one workspace' : 'the workspace'}.`;
  }
  if (!scope) return `${roles}.`;
  const place = isInWorkspace ? `the workspace of ${WORKSPACE_HEADER}` : 'the organization';
  return `${roles} in ${place}. Your roles there: ${reduceRoles(scope.roles).join(', ') || 'none'}.`;
}

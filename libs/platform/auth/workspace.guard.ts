import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { ServiceRequest } from '#platform/http';
import { problem } from '#platform/problem';
import { ACCESS_RULE, type AccessRule, WORKSPACE_HEADER, WORKSPACE_REQUIRED } from './access.decorator';
import { AccountDirectory } from './account-directory';
import { orgScope, type Principal, rolesIn, workspaceScope } from './principal';

/**
 * Turns the principal and the workspace header into the `Scope` that services take. Where a workspace is required:
 * no header 400, one that is unknown or another organization's 409, one the principal may not reach 403.
 */
@Injectable()
export class WorkspaceGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly directory: AccountDirectory,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    const rule = this.reflector.getAllAndOverride<AccessRule | undefined>(ACCESS_RULE, targets);
    if (rule?.kind === 'public' || rule?.kind === 'platform') return true;
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    const principal = request.user as Principal & { orgId: string };
    const workspaceId = request.get(WORKSPACE_HEADER);
    if (!this.reflector.getAllAndOverride<boolean | undefined>(WORKSPACE_REQUIRED, targets)) {
      request.scope = orgScope(principal.orgId, principal.id, principal.roles);
      return true;
    }
    if (!workspaceId) {
      throw problem.invalidHeader(WORKSPACE_HEADER, 'name the workspace in this header');
    }
    const roles = rolesIn(principal, workspaceId);
    if (!(await this.directory.workspaceExists(principal.orgId, workspaceId))) {
      throw problem.conflict(`${WORKSPACE_HEADER} names a workspace that does not exist.`);
    }
    if (roles.size === 0) {
      throw problem.accessDenied(`You cannot reach the workspace that ${WORKSPACE_HEADER} names.`);
    }
    request.scope = workspaceScope(principal.orgId, workspaceId, principal.id, roles);
    request.context.workspaceId = workspaceId;
    return true;
  }
}

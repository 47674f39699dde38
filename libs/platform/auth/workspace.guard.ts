import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { ServiceRequest } from '#platform/http';
import { problem } from '#platform/problem';
import { requiresWorkspace, WORKSPACE_HEADER } from './access.decorator';
import type { WorkspaceState } from './account-directory';
import { isRead, scopeOf } from '#platform/scope';
import {
  type Member,
  scopeWithin,
  workspaceDenied,
  workspaceInHeader,
  WorkspaceScopes,
} from './workspace-scopes';

const WITHOUT_SCOPE = new Set(['public', 'platform', 'principal']);

/**
 * Turns the principal and the workspace header into the scope that services take. Throws 400 for a header with several
 * workspaces. If the route requires a workspace, throws 400 without the header, 409 for an unknown workspace, 403 without
 * access to it, and 409 for a write to an archived one. On other routes the header is optional: throws 403 without access
 * to the workspace, and selects nothing otherwise.
 */
@Injectable()
export class WorkspaceGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly workspaces: WorkspaceScopes,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    const { rule } = request;
    if (rule && WITHOUT_SCOPE.has(rule.kind)) return true;
    const principal = request.user as Member;
    const workspaceId = workspaceInHeader(request.headers);
    if (!requiresWorkspace(this.reflector, context)) {
      request.scope = scopeOf(principal, request.context.requestId);
      return workspaceId === undefined || this.check(principal, workspaceId);
    }
    if (workspaceId === undefined) {
      throw problem.invalidHeader(WORKSPACE_HEADER, 'is required. Send the id of your workspace');
    }
    const cached = this.workspaces.getCached(principal.orgId, workspaceId);
    return cached
      ? enter(request, principal, workspaceId, cached)
      : this.find(request, principal, workspaceId);
  }

  private async check(principal: Member, workspaceId: string): Promise<true> {
    await this.workspaces.checkAccess(principal, workspaceId);
    return true;
  }

  private async find(request: ServiceRequest, principal: Member, workspaceId: string): Promise<true> {
    const workspace = await this.workspaces.find(principal.orgId, workspaceId);
    if (!workspace)
      throw problem.conflict(
        `The workspace in ${WORKSPACE_HEADER} does not exist. GET /registry/v1/workspaces lists yours.`,
      );
    return enter(request, principal, workspaceId, workspace);
  }
}

/** Sets the scope of a request to the workspace that it names. */
function enter(
  request: ServiceRequest,
  principal: Member,
  workspaceId: string,
  { archived }: WorkspaceState,
): true {
  const scope = scopeWithin(principal, workspaceId, request.context.requestId);
  if (!scope) throw workspaceDenied();
  if (archived && !isRead(request.rule)) {
    throw problem.conflict('The workspace is archived. Its resources can be read but not changed.');
  }
  request.scope = scope;
  request.context.workspaceId = workspaceId;
  return true;
}

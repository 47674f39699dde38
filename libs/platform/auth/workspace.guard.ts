import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { ServiceRequest } from '#platform/http';
import { problem } from '#platform/problem';
import { accessRuleOf, requiresWorkspace, WORKSPACE_HEADER } from './access.decorator';
import { type AccessRule, isRead, scopeOf } from '#platform/scope';
import { type Member, workspaceDenied, WorkspaceScopes } from './workspace-scopes';

const WITHOUT_SCOPE = new Set(['public', 'platform', 'principal']);

/**
 * Turns the principal and the workspace header into the scope that services take. If the route requires a workspace, it
 * answers 400 without the header, 409 for an unknown workspace, 403 without access to it, and 409 for a write to an
 * archived one. On other routes the header is optional: 403 without access to the workspace, no effect otherwise.
 */
@Injectable()
export class WorkspaceGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly workspaces: WorkspaceScopes,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const rule = accessRuleOf(this.reflector, context);
    if (rule && WITHOUT_SCOPE.has(rule.kind)) return true;
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    const principal = request.user as Member;
    const named = request.headers[WORKSPACE_HEADER.toLowerCase()];
    const workspaceId = typeof named === 'string' && named !== '' ? named : undefined;
    if (requiresWorkspace(this.reflector, context)) {
      await this.enter(request, principal, workspaceId, rule);
    } else {
      await this.workspaces.checkHeader(principal, request.headers);
      request.scope = scopeOf(principal, request.context.requestId);
    }
    return true;
  }

  private async enter(
    request: ServiceRequest,
    principal: Member,
    workspaceId: string | undefined,
    rule: AccessRule | undefined,
  ): Promise<void> {
    if (workspaceId === undefined) {
      throw problem.invalidHeader(WORKSPACE_HEADER, 'is required: send the id of the workspace');
    }
    // Node joins a header that is sent more than once
    if (workspaceId.includes(',')) throw problem.invalidHeader(WORKSPACE_HEADER, 'name one workspace, once');
    if (!(await this.workspaces.find(principal.orgId, workspaceId))) {
      throw problem.conflict(`The workspace in ${WORKSPACE_HEADER} does not exist.`);
    }
    const workspace = await this.workspaces.enter(principal, workspaceId, request.context.requestId);
    if (!workspace) throw workspaceDenied();
    if (workspace.archived && !isRead(rule)) {
      throw problem.conflict('The workspace is archived. Its resources can be read but not changed.');
    }
    request.scope = workspace.scope;
    request.context.workspaceId = workspaceId;
  }
}

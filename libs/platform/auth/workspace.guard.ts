import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { ServiceRequest } from '#platform/http';
import { problem } from '#platform/problem';
import { type AccessRule, accessRuleOf, requiresWorkspace, WORKSPACE_HEADER } from './access.decorator';
import { AccountDirectory, type WorkspaceState } from './account-directory';
import { type Principal, rolesIn } from './principal';
import { scopeOf, workspaceScope } from './scope';
import { WorkspaceCache } from './workspace-cache';

type Member = Principal & { orgId: string };

const WITHOUT_SCOPE = new Set(['public', 'platform', 'principal']);

/**
 * Turns the principal and the workspace header into the scope that services take. Where a workspace is required: no
 * header 400, one that is unknown or another organization's 409, one the principal may not reach 403, a write to one
 * that is archived 409. Where none is, a header narrows what the request reaches; one that cannot be reached is 403.
 */
@Injectable()
export class WorkspaceGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly directory: AccountDirectory,
    private readonly workspaces: WorkspaceCache,
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
      if (workspaceId !== undefined) await this.narrow(request, principal, workspaceId);
      request.scope = scopeOf(principal, workspaceId, request.context.requestId);
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
      throw problem.invalidHeader(WORKSPACE_HEADER, 'name the workspace in this header');
    }
    // Node joins a header that is sent more than once
    if (workspaceId.includes(',')) throw problem.invalidHeader(WORKSPACE_HEADER, 'name one workspace, once');
    const workspace = await this.find(principal.orgId, workspaceId);
    if (!workspace) throw problem.conflict(`${WORKSPACE_HEADER} names a workspace that does not exist.`);
    const roles = rolesIn(principal, workspaceId);
    if (roles.size === 0) throw outOfReach();
    if (workspace.archived && !isRead(rule)) {
      throw problem.conflict('The workspace is archived: what it holds can be read, and takes no changes.');
    }
    const { requestId } = request.context;
    request.scope = workspaceScope(principal.orgId, workspaceId, principal.id, roles, requestId);
    request.context.workspaceId = workspaceId;
  }

  private async narrow(request: ServiceRequest, principal: Member, workspaceId: string): Promise<void> {
    const reached = rolesIn(principal, workspaceId).size > 0;
    if (!reached || !(await this.find(principal.orgId, workspaceId))) throw outOfReach();
    request.context.workspaceId = workspaceId;
  }

  private find(orgId: string, workspaceId: string): Promise<WorkspaceState | null> {
    return this.workspaces.find(orgId, workspaceId, () => this.directory.findWorkspace(orgId, workspaceId));
  }
}

/** What viewers may do changes nothing. */
const isRead = (rule: AccessRule | undefined): boolean =>
  rule?.kind === 'roles' && rule.anyOf.includes('viewer');

const outOfReach = () =>
  problem.accessDenied(`You cannot reach the workspace that ${WORKSPACE_HEADER} names.`);

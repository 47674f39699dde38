import { Injectable } from '@nestjs/common';
import { type OrgScope, type Role, type Scope, WORKSPACE_HEADER, workspaceScope } from '#platform/auth';
import { Database, type SqlExecutor } from '#platform/db';
import { type Problem, problem } from '#platform/problem';
import { WorkspacesRepository } from './workspace.repository';

/**
 * What the caller may do in a workspace that a path, a body or a resource names. Routes without a required workspace
 * header are let through for a role that is held anywhere (`RequireRoleSomewhere`); here it is held to the workspace
 * that is acted upon.
 */
@Injectable()
export class WorkspaceAccess {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesRepository,
  ) {}

  /**
   * The scope within the workspace that a create body names. Errors: 400 at `/workspace_id` when it is unknown or out
   * of the caller's reach, 403 without one of the roles in it, 409 when it is archived.
   */
  async enter(
    scope: OrgScope,
    workspaceId: string,
    anyOf: readonly Role[],
    on: SqlExecutor = this.database,
  ): Promise<Scope> {
    const held = scope.rolesIn(workspaceId);
    const [found] = held.size > 0 ? await this.workspaces.findAmong(scope, [workspaceId], on) : [];
    if (!found) {
      throw problem.invalidFields([
        { pointer: '/workspace_id', detail: 'must be a workspace that exists and that you can reach' },
      ]);
    }
    this.demand(scope, workspaceId, anyOf);
    if (found.archived) throw problem.conflict('The workspace is archived and takes no new resources.');
    return this.within(scope, workspaceId);
  }

  /** The scope within the workspace of a resource that was read: 404, as of `kind`, when it is out of reach. */
  reach(scope: OrgScope, workspaceId: string, kind: string, id: string): Scope {
    if (scope.rolesIn(workspaceId).size === 0) throw problem.notFound(kind, id);
    return this.within(scope, workspaceId);
  }

  /** 403 unless the caller holds one of the roles in the workspace. */
  demand(scope: OrgScope, workspaceId: string, anyOf: readonly Role[]): void {
    const held = scope.rolesIn(workspaceId);
    if (!anyOf.some((role) => held.has(role))) {
      throw problem.accessDenied(`This needs the role ${anyOf.join(' or ')} in the workspace.`);
    }
  }

  private within(scope: OrgScope, workspaceId: string): Scope {
    return workspaceScope(scope.orgId, workspaceId, scope.principalId, scope.rolesIn(workspaceId));
  }
}

/**
 * 404 for a workspace that a request names. Where the header narrows the request to another one, it says so, which
 * holds for every other id and so tells nothing of this one.
 */
export function workspaceNotFound({ narrowedTo }: OrgScope, workspaceId: string): Problem {
  const isNarrowed = narrowedTo !== null && narrowedTo !== workspaceId;
  const hint = isNarrowed ? `${WORKSPACE_HEADER} narrows this request to ${narrowedTo}.` : '';
  return problem.notFound('workspace', workspaceId, hint);
}

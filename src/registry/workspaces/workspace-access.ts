import { type OrgScope, type Role, WORKSPACE_HEADER } from '#platform/auth';
import { type Problem, problem } from '#platform/problem';

/**
 * 403 unless the caller holds one of the roles in the workspace that a path names. Routes without a required workspace
 * header are let through for a role that is held anywhere (`RequireRoleSomewhere`); here it is held to the workspace
 * that is acted upon.
 */
export function demandRole(scope: OrgScope, workspaceId: string, anyOf: readonly Role[]): void {
  const held = scope.rolesIn(workspaceId);
  if (!anyOf.some((role) => held.has(role))) {
    throw problem.accessDenied(`This needs the role ${anyOf.join(' or ')} in the workspace.`);
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

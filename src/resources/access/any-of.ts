import type { OrgScope, Role } from '#platform/auth';
import { problem } from '#platform/problem';

/** A list of roles, any one of which is sufficient. */
export type AnyOf = readonly [Role, ...Role[]];

/** The roles that may read, by default. */
export const READERS: AnyOf = ['viewer'];

/** Tells whether the caller holds one of the roles in a workspace. */
export function holdsAny(scope: OrgScope, workspaceId: string, anyOf: AnyOf): boolean {
  const roles = scope.rolesIn(workspaceId);
  return anyOf.some((role) => roles.has(role));
}

/** Throws 403 unless the caller holds one of the roles in a workspace. */
export function requireRole(scope: OrgScope, workspaceId: string, anyOf: AnyOf): void {
  if (!holdsAny(scope, workspaceId, anyOf)) {
    throw problem.accessDenied(`Requires the role ${anyOf.join(' or ')} in the workspace.`);
  }
}

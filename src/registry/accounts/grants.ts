import { expandRoles, type OrgScope, type Role } from '#platform/auth';
import { problem } from '#platform/problem';

/** What an account holds, as far as it can be granted. */
export interface Holding {
  /** In the organization. */
  readonly roles: readonly Role[];
  /** The workspaces that those roles reach. */
  readonly workspaceIds: readonly string[];
}

export const NOTHING: Holding = { roles: [], workspaceIds: [] };

/**
 * Nobody gives or takes a role that they lack, be it in the organization or in a workspace, and nobody gives a
 * workspace that they cannot reach. Throws 403 when the step from one holding to the other would.
 */
export function checkGrant(scope: OrgScope, before: Holding, after: Holding): void {
  checkRoles(scope.roles, before.roles, after.roles, 'in the organization');
  const [had, has] = [new Set(before.workspaceIds), new Set(after.workspaceIds)];
  for (const workspaceId of new Set([...had, ...has])) {
    const held = scope.rolesIn(workspaceId);
    if (has.has(workspaceId) && !had.has(workspaceId) && held.size === 0) {
      throw problem.accessDenied(`You cannot reach the workspace ${workspaceId}, so you cannot grant it.`);
    }
    checkRoles(
      held,
      had.has(workspaceId) ? before.roles : [],
      has.has(workspaceId) ? after.roles : [],
      `in the workspace ${workspaceId}`,
    );
  }
}

/** The same for the roles of one workspace, or those of the organization alone. */
export function checkRoles(
  held: ReadonlySet<Role>,
  before: readonly Role[],
  after: readonly Role[],
  place: string,
): void {
  const [had, has] = [expandRoles(before), expandRoles(after)];
  for (const role of new Set([...had, ...has])) {
    if (had.has(role) !== has.has(role) && !held.has(role)) {
      throw problem.accessDenied(`You do not hold the role ${role} ${place}, so you cannot give or take it.`);
    }
  }
}

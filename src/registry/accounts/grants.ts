import { type AccountStatus, EVERY_WORKSPACE, expandRoles, type OrgScope, type Role } from '#platform/auth';
import { problem } from '#platform/problem';

/** The roles and workspaces of an account that can be granted to others. */
export interface Holding {
  /** Roles in the organization. */
  readonly roles: readonly Role[];
  /** The workspaces in which those roles apply, or `EVERY_WORKSPACE`. */
  readonly workspaceIds: readonly string[];
}

export const NOTHING: Holding = { roles: [], workspaceIds: [] };

/**
 * Throws 403 if the caller grants or revokes a role that they do not hold, in the organization or in a workspace, or grants a
 * workspace that they cannot access.
 */
export function checkGrant(scope: OrgScope, before: Holding, after: Holding): void {
  checkRoles(scope.roles, before.roles, after.roles, 'in the organization');
  const [oldIds, newIds] = [new Set(before.workspaceIds), new Set(after.workspaceIds)];
  for (const workspaceId of new Set([...oldIds, ...newIds])) {
    const callerRoles = rolesAt(scope, workspaceId);
    if (newIds.has(workspaceId) && !oldIds.has(workspaceId) && callerRoles.size === 0) {
      throw problem.accessDenied(
        `You do not have access to ${placeOf(workspaceId)}, so you cannot grant it.`,
      );
    }
    checkRoles(
      callerRoles,
      oldIds.has(workspaceId) ? before.roles : [],
      newIds.has(workspaceId) ? after.roles : [],
      `in ${placeOf(workspaceId)}`,
    );
  }
}

/** Throws 403 unless the caller holds the roles of all these memberships. */
export function checkHoldsMemberships(
  scope: OrgScope,
  memberships: readonly { workspace_id: string; roles: readonly Role[] }[],
): void {
  for (const { workspace_id, roles } of memberships) {
    checkRoles(scope.rolesIn(workspace_id), [], roles, `in ${placeOf(workspace_id)}`);
  }
}

const rolesAt = (scope: OrgScope, workspaceId: string): ReadonlySet<Role> =>
  workspaceId === EVERY_WORKSPACE ? scope.rolesEverywhere : scope.rolesIn(workspaceId);

const placeOf = (workspaceId: string): string =>
  workspaceId === EVERY_WORKSPACE ? 'every workspace' : `the workspace ${workspaceId}`;

/** Throws 409 if callers weaken their own account, so that the last admin cannot lock everyone out. */
export function checkOwnAccount(
  { principalId }: OrgScope,
  account: { id: string; status: AccountStatus } & Holding,
  after: { status: AccountStatus | 'archived' } & Holding,
): void {
  if (account.id !== principalId) return;
  const isKept =
    after.status === account.status &&
    isWithin(expandRoles(account.roles), expandRoles(after.roles)) &&
    (after.workspaceIds.includes(EVERY_WORKSPACE) ||
      isWithin(account.workspaceIds, new Set(after.workspaceIds)));
  if (isKept) return;
  throw problem.conflict('You cannot archive, suspend or demote your own account. Ask another admin.');
}

const isWithin = <Value>(subset: Iterable<Value>, all: ReadonlySet<Value>): boolean =>
  [...subset].every((value) => all.has(value));

/**
 * Throws 403 unless the caller is admin in every workspace that an account can access.
 *
 * @param workspaceIds the workspaces of the account, or `EVERY_WORKSPACE`
 */
export function checkManages(scope: OrgScope, workspaceIds: readonly string[]): void {
  const outside = workspaceIds.find((workspaceId) => !rolesAt(scope, workspaceId).has('admin'));
  if (outside === undefined && (workspaceIds.length > 0 || scope.rolesEverywhere.has('admin'))) return;
  throw problem.accessDenied(
    outside === undefined
      ? 'To manage an account without workspaces, you need the role admin in the whole organization.'
      : `The account has access to ${placeOf(outside)}. To manage the account, you need the role admin there.`,
  );
}

/** Throws 403 if the caller grants or revokes a role that they do not hold. @param place where, for the problem detail */
export function checkRoles(
  callerRoles: ReadonlySet<Role>,
  before: readonly Role[],
  after: readonly Role[],
  place: string,
): void {
  const [oldRoles, newRoles] = [expandRoles(before), expandRoles(after)];
  for (const role of new Set([...oldRoles, ...newRoles])) {
    if (oldRoles.has(role) !== newRoles.has(role) && !callerRoles.has(role)) {
      throw problem.accessDenied(
        `You do not hold the role ${role} ${place}, so you cannot grant or revoke it.`,
      );
    }
  }
}

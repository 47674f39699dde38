import { type AccountStatus, EVERY_WORKSPACE, expandRoles, type OrgScope, type Role } from '#platform/auth';
import { problem } from '#platform/problem';

/** The roles and workspaces that an account holds and that can be granted. */
export interface Holding {
  /** In the organization. */
  readonly roles: readonly Role[];
  /** The workspaces that those roles reach, or `EVERY_WORKSPACE`. */
  readonly workspaceIds: readonly string[];
}

export const NOTHING: Holding = { roles: [], workspaceIds: [] };

/**
 * Throws 403 when the caller gives or takes a role that they lack, in the organization or in a workspace, or gives a
 * workspace that they cannot reach.
 */
export function checkGrant(scope: OrgScope, before: Holding, after: Holding): void {
  checkRoles(scope.roles, before.roles, after.roles, 'in the organization');
  const [had, has] = [new Set(before.workspaceIds), new Set(after.workspaceIds)];
  for (const workspaceId of new Set([...had, ...has])) {
    const held = rolesAt(scope, workspaceId);
    if (has.has(workspaceId) && !had.has(workspaceId) && held.size === 0) {
      throw problem.accessDenied(
        `You do not have access to ${placeOf(workspaceId)}, so you cannot grant it.`,
      );
    }
    checkRoles(
      held,
      had.has(workspaceId) ? before.roles : [],
      has.has(workspaceId) ? after.roles : [],
      `in ${placeOf(workspaceId)}`,
    );
  }
}

/** Throws 403 unless the caller holds the roles of these memberships. */
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

/** Throws 409 when callers weaken their own account, so that an account cannot lock everybody out. */
export function checkKeepsOwn(
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

const isWithin = <Value>(some: Iterable<Value>, all: ReadonlySet<Value>): boolean =>
  [...some].every((one) => all.has(one));

/**
 * Throws 403 unless the caller is admin in every workspace that an account reaches.
 *
 * @param reached the workspaces of the account, or `EVERY_WORKSPACE`
 */
export function checkManages(scope: OrgScope, reached: readonly string[]): void {
  const outside = reached.find((workspaceId) => !rolesAt(scope, workspaceId).has('admin'));
  if (outside === undefined && (reached.length > 0 || scope.rolesEverywhere.has('admin'))) return;
  throw problem.accessDenied(
    outside === undefined
      ? 'Managing an account without workspaces requires the role admin in the whole organization.'
      : `The account has access to ${placeOf(outside)}. Managing it requires the role admin there.`,
  );
}

/** Throws 403 when the caller gives or takes a role that they do not hold. @param place for the detail */
export function checkRoles(
  held: ReadonlySet<Role>,
  before: readonly Role[],
  after: readonly Role[],
  place: string,
): void {
  const [had, has] = [expandRoles(before), expandRoles(after)];
  for (const role of new Set([...had, ...has])) {
    if (had.has(role) !== has.has(role) && !held.has(role)) {
      throw problem.accessDenied(
        `You do not hold the role ${role} ${place}, so you cannot grant or revoke it.`,
      );
    }
  }
}

import {
  type AccountStatus,
  EVERY_WORKSPACE,
  expandRoles,
  type OrgScope,
  type Role,
  WORKSPACE_HEADER,
} from '#platform/auth';
import { problem } from '#platform/problem';

/** What an account holds, as far as it can be granted. */
export interface Holding {
  /** In the organization. */
  readonly roles: readonly Role[];
  /** The workspaces that those roles reach, or `EVERY_WORKSPACE`. */
  readonly workspaceIds: readonly string[];
}

export const NOTHING: Holding = { roles: [], workspaceIds: [] };

/** What an account holds in one workspace by being a member of it. */
export interface HeldByMembership {
  readonly workspace_id: string;
  readonly roles: readonly Role[];
}

/**
 * Nobody gives or takes a role that they lack, be it in the organization or in a workspace, and nobody gives a
 * workspace that they cannot reach: every workspace is more than a request reaches that the header narrows to one.
 * Throws 403 when the step from one holding to the other would.
 */
export function checkGrant(scope: OrgScope, before: Holding, after: Holding): void {
  const addsEvery =
    after.workspaceIds.includes(EVERY_WORKSPACE) && !before.workspaceIds.includes(EVERY_WORKSPACE);
  if (addsEvery && scope.narrowedTo !== null) {
    throw problem.accessDenied(
      `${WORKSPACE_HEADER} narrows this request to ${scope.narrowedTo}, so it cannot grant every workspace.`,
    );
  }
  checkStep(scope, before, after);
}

function checkStep(scope: OrgScope, before: Holding, after: Holding): void {
  checkRoles(scope.roles, before.roles, after.roles, 'in the organization');
  const [had, has] = [new Set(before.workspaceIds), new Set(after.workspaceIds)];
  for (const workspaceId of new Set([...had, ...has])) {
    const held = rolesAt(scope, workspaceId);
    if (has.has(workspaceId) && !had.has(workspaceId) && held.size === 0) {
      throw problem.accessDenied(`You cannot reach ${placeOf(workspaceId)}, so you cannot grant it.`);
    }
    checkRoles(
      held,
      had.has(workspaceId) ? before.roles : [],
      has.has(workspaceId) ? after.roles : [],
      `in ${placeOf(workspaceId)}`,
    );
  }
}

/** Who gives or takes all that an account holds must hold it too, where the account does: 403 otherwise. */
export function checkHoldsAll(
  scope: OrgScope,
  holding: Holding,
  memberships: readonly HeldByMembership[],
): void {
  checkStep(scope, NOTHING, holding);
  for (const { workspace_id, roles } of memberships) {
    checkRoles(scope.rolesIn(workspace_id), [], roles, `in ${placeOf(workspace_id)}`);
  }
}

const rolesAt = (scope: OrgScope, workspaceId: string): ReadonlySet<Role> =>
  workspaceId === EVERY_WORKSPACE ? scope.rolesEverywhere : scope.rolesIn(workspaceId);

const placeOf = (workspaceId: string): string =>
  workspaceId === EVERY_WORKSPACE ? 'every workspace' : `the workspace ${workspaceId}`;

/**
 * Nobody takes from the account by which they act: so there always is one left that holds what they hold. 409
 * otherwise.
 */
export function checkKeepsOwn(
  { principalId }: OrgScope,
  account: { id: string; status: AccountStatus } & Holding,
  after: { status: AccountStatus | 'archived' } & Holding,
): void {
  if (account.id !== principalId) return;
  const keeps =
    after.status === account.status &&
    isWithin(expandRoles(account.roles), expandRoles(after.roles)) &&
    (after.workspaceIds.includes(EVERY_WORKSPACE) ||
      isWithin(account.workspaceIds, new Set(after.workspaceIds)));
  if (keeps) return;
  throw problem.conflict(
    'An account cannot be archived, suspended, or lose roles or workspaces by itself: somebody else has to do it.',
  );
}

const isWithin = <Value>(some: Iterable<Value>, all: ReadonlySet<Value>): boolean =>
  [...some].every((one) => all.has(one));

/**
 * Who manages an account decides over all that it reaches, so they must be admin of all of that: 403 otherwise.
 *
 * @param reached the workspaces of the account, or `EVERY_WORKSPACE`
 */
export function checkManages(scope: OrgScope, reached: readonly string[]): void {
  const outside = reached.find((workspaceId) => !rolesAt(scope, workspaceId).has('admin'));
  if (outside === undefined && (reached.length > 0 || scope.rolesEverywhere.has('admin'))) return;
  throw problem.accessDenied(
    outside === undefined
      ? 'Managing an account that no workspace holds needs the role admin, in all of the organization.'
      : `The account reaches ${placeOf(outside)}, and managing it needs the role admin there.`,
  );
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

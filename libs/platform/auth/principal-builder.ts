import type { Account } from './account-directory';
import { type Credential, type Principal, expandRoles, type Role } from '#platform/scope';

/** Roles that a token adds to its stored account, and the limit it sets. An API key has neither. */
export interface Grant {
  /** Roles in the organization, in addition to the stored ones. */
  readonly roles: readonly Role[];
  /** The only workspaces that the principal may access; null for no limit. */
  readonly workspaceIds: readonly string[] | null;
}

export const NO_GRANT: Grant = { roles: [], workspaceIds: null };

/** Combines a stored account with the grant of its token. */
export function buildPrincipal(account: Account, grant: Grant, credential: Credential): Principal {
  const limit = grant.workspaceIds && new Set(grant.workspaceIds);
  const within = (workspaceId: string): boolean => limit === null || limit.has(workspaceId);
  const stored = account.workspaceIds;
  return Object.freeze({
    type: account.type,
    id: account.id,
    orgId: account.orgId,
    roles: expandRoles([...account.roles, ...grant.roles]),
    workspaceIds: stored ? new Set(stored.filter(within)) : limit,
    workspaceRoles: new Map(
      account.memberships
        .filter(({ workspaceId }) => within(workspaceId))
        .map(({ workspaceId, roles }) => [workspaceId, expandRoles(roles)]),
    ),
    credential,
  });
}

/** Tells whether a principal can access any workspace. A service account without one can do nothing. */
export const isBound = ({ workspaceIds, workspaceRoles }: Principal): boolean =>
  workspaceIds === null || workspaceIds.size > 0 || workspaceRoles.size > 0;

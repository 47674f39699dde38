import type { Account } from './account-directory';
import { type Credential, type Principal, expandRoles, type Role } from '#platform/scope';

/** What a token adds to, and takes from, what is stored of its account. An API key adds and takes nothing. */
export interface Grant {
  /** Roles in the organization besides the stored ones. */
  readonly roles: readonly Role[];
  /** All that the principal may reach; null for no such limit. */
  readonly workspaceIds: readonly string[] | null;
}

export const NO_GRANT: Grant = { roles: [], workspaceIds: null };

/** Unites what a token says with what is stored. */
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

/** Whether a principal has any workspace at all: a service account without one can do nothing. */
export const isBound = ({ workspaceIds, workspaceRoles }: Principal): boolean =>
  workspaceIds === null || workspaceIds.size > 0 || workspaceRoles.size > 0;

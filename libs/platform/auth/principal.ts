import type { Role } from './roles';

export type PrincipalType = 'user' | 'service_account' | 'platform';

/**
 * Who calls: what a verified token or key amounts to, together with what is stored of the account. Immutable, and
 * remembered for a short while by the hash of the token.
 */
export interface Principal {
  readonly type: PrincipalType;
  /** `user_id`, `service_account_id`, or the subject of a platform principal. */
  readonly id: string;
  /** Null for platform principals alone. */
  readonly orgId: string | null;
  /** Roles held in the whole organization, expanded. */
  readonly roles: ReadonlySet<Role>;
  /** Roles held in single workspaces besides, expanded. */
  readonly workspaceRoles: ReadonlyMap<string, ReadonlySet<Role>>;
  /** The workspaces that the roles of the organization reach; null for all of them. */
  readonly workspaceIds: ReadonlySet<string> | null;
  /** What the token itself says, for `GET /registry/v1/me` and for revoking. */
  readonly token: { readonly issuer: string; readonly jti: string | null; readonly expiresAt: Date | null };
}

/** The roles a principal has in a workspace: empty where it cannot reach it. */
export function rolesIn(principal: Principal, workspaceId: string): ReadonlySet<Role> {
  const reached = principal.workspaceIds === null || principal.workspaceIds.has(workspaceId);
  const own = principal.workspaceRoles.get(workspaceId);
  if (!reached) return own ?? new Set();
  return own ? new Set([...principal.roles, ...own]) : principal.roles;
}

/** The column and value that keep one tenant's rows apart from all others. */
export interface TenantKey {
  readonly column: 'workspace_id' | 'org_id';
  readonly value: string;
}

/** On whose behalf something is done: the first argument of every service and repository method. */
export interface OrgScope {
  readonly orgId: string;
  /** `created_by` of what is made. */
  readonly principalId: string;
  readonly roles: ReadonlySet<Role>;
  /** `org_id`: rows of the organization. */
  readonly orgKey: TenantKey;
}

/** The same, within one workspace. */
export interface Scope extends OrgScope {
  readonly workspaceId: string;
  /** `workspace_id`: rows of the workspace. */
  readonly key: TenantKey;
}

export function orgScope(orgId: string, principalId: string, roles: ReadonlySet<Role>): OrgScope {
  return Object.freeze({ orgId, principalId, roles, orgKey: { column: 'org_id', value: orgId } as const });
}

export function workspaceScope(
  orgId: string,
  workspaceId: string,
  principalId: string,
  roles: ReadonlySet<Role>,
): Scope {
  return Object.freeze({
    ...orgScope(orgId, principalId, roles),
    workspaceId,
    key: { column: 'workspace_id', value: workspaceId } as const,
  });
}

import type { Allow } from './allow';
import { NO_ROLES, type Role } from './roles';

export type PrincipalType = 'user' | 'service_account' | 'platform';

/** The credential that a principal authenticated with. */
export type Credential =
  | { readonly kind: 'token'; readonly issuer: string; readonly jti: string | null; readonly expiresAt: Date }
  | { readonly kind: 'api_key'; readonly keyId: string; readonly expiresAt: Date | null };

/**
 * The caller: a verified token or key combined with its stored account. Immutable, and cached for a short time by the
 * hash of the token.
 */
export interface Principal {
  readonly type: PrincipalType;
  /** `user_id`, `service_account_id`, or the subject of a platform principal. */
  readonly id: string;
  /** Null for platform principals only. */
  readonly orgId: string | null;
  /** Roles held in the whole organization, expanded. */
  readonly roles: ReadonlySet<Role>;
  /** Additional roles in single workspaces, expanded. */
  readonly workspaceRoles: ReadonlyMap<string, ReadonlySet<Role>>;
  /** The workspaces where `roles` apply; null for all of them. */
  readonly workspaceIds: ReadonlySet<string> | null;
  /** What the key allows, or the key that the token was exchanged for. Null for no limits other than the roles. */
  readonly allow: Allow | null;
  /** For `GET /registry/v1/me` and for revocation. */
  readonly credential: Credential;
}

/** Returns the roles that apply to the whole organization; none if the principal is limited to some workspaces. */
export const rolesEverywhere = ({ roles, workspaceIds }: Principal): ReadonlySet<Role> =>
  workspaceIds === null ? roles : NO_ROLES;

/** Returns the roles of a principal in a workspace of its organization; none if it has no access. */
export function rolesIn(principal: Principal, workspaceId: string): ReadonlySet<Role> {
  const isIncluded = principal.workspaceIds === null || principal.workspaceIds.has(workspaceId);
  const own = principal.workspaceRoles.get(workspaceId);
  if (!isIncluded) return own ?? NO_ROLES;
  return own ? new Set([...principal.roles, ...own]) : principal.roles;
}

/** Returns the workspaces where a principal has this role, or any role; null for all of its organization. */
export function workspacesWith(principal: Principal, role?: Role): ReadonlySet<string> | null {
  const everywhere = holds(principal.roles, role);
  if (everywhere && principal.workspaceIds === null) return null;
  const workspaces = new Set(everywhere ? principal.workspaceIds : []);
  for (const [workspaceId, roles] of principal.workspaceRoles) {
    if (holds(roles, role)) workspaces.add(workspaceId);
  }
  return workspaces;
}

/** Tells whether the roles include this one or, without `role`, any role. */
export const holds = (roles: ReadonlySet<Role>, role?: Role): boolean =>
  role === undefined ? roles.size > 0 : roles.has(role);

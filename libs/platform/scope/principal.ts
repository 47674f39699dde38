import { NO_ROLES, type Role } from './roles';

export type PrincipalType = 'user' | 'service_account' | 'platform';

/** What a principal showed to prove who it is. */
export type Credential =
  | { readonly kind: 'token'; readonly issuer: string; readonly jti: string | null; readonly expiresAt: Date }
  | { readonly kind: 'api_key'; readonly keyId: string; readonly expiresAt: Date | null };

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
  /** For `GET /registry/v1/me` and for revoking. */
  readonly credential: Credential;
}

/** The roles that reach all of a principal's organization: none where it is bound to workspaces. */
export const rolesEverywhere = ({ roles, workspaceIds }: Principal): ReadonlySet<Role> =>
  workspaceIds === null ? roles : NO_ROLES;

/** The roles a principal has in a workspace of its organization: none where it cannot reach it. */
export function rolesIn(principal: Principal, workspaceId: string): ReadonlySet<Role> {
  const reached = principal.workspaceIds === null || principal.workspaceIds.has(workspaceId);
  const own = principal.workspaceRoles.get(workspaceId);
  if (!reached) return own ?? NO_ROLES;
  return own ? new Set([...principal.roles, ...own]) : principal.roles;
}

/** The workspaces in which a principal holds a role, or any role at all; null for all of its organization. */
export function workspacesWith(principal: Principal, role?: Role): ReadonlySet<string> | null {
  const everywhere = holds(principal.roles, role);
  if (everywhere && principal.workspaceIds === null) return null;
  const found = new Set(everywhere ? principal.workspaceIds : []);
  for (const [workspaceId, roles] of principal.workspaceRoles) {
    if (holds(roles, role)) found.add(workspaceId);
  }
  return found;
}

/** Whether a role, or any at all, is among those held. */
export const holds = (held: ReadonlySet<Role>, role?: Role): boolean =>
  role === undefined ? held.size > 0 : held.has(role);

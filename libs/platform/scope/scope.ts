import { holds, type Principal, rolesEverywhere, rolesIn, workspacesWith } from './principal';
import { NO_ROLES, type Role } from './roles';

/** The column and value that keep one tenant's rows apart from all others. */
export interface TenantKey {
  readonly column: 'workspace_id' | 'org_id';
  readonly value: string;
}

/**
 * On whose behalf something is done: the first argument of every service and repository method. Immutable. Made
 * from a principal, it holds what that principal may reach; made for a job, it reaches what the job was given.
 */
export interface OrgScope {
  readonly orgId: string;
  /** `created_by` of what is made. */
  readonly principalId: string;
  /** Roles held here: in the organization, or, for a `Scope`, in its workspace. Expanded. */
  readonly roles: ReadonlySet<Role>;
  /** Those of them that reach all of the organization. What concerns more than some workspaces needs one of them. */
  readonly rolesEverywhere: ReadonlySet<Role>;
  /** `org_id`: rows of the organization. */
  readonly orgKey: TenantKey;
  /** The request on whose behalf it is, as its log line names it; null for what the service does of itself. */
  readonly requestId: string | null;
  /** Roles held in one workspace of the organization; none where it is out of reach. */
  rolesIn(workspaceId: string): ReadonlySet<Role>;
  /**
   * The workspaces in which a role, or any role at all, is held; null for all of the organization. What a list is
   * narrowed to.
   */
  workspacesWith(role?: Role): ReadonlySet<string> | null;
}

/** The same, within one workspace. */
export interface Scope extends OrgScope {
  readonly workspaceId: string;
  /** `workspace_id`: rows of the workspace. */
  readonly key: TenantKey;
}

/** Returns a scope that holds these roles in every workspace of the organization: for a job, or a platform principal. */
export function orgScope(
  orgId: string,
  principalId: string,
  roles: ReadonlySet<Role>,
  requestId: string | null = null,
): OrgScope {
  return Object.freeze({
    orgId,
    principalId,
    roles,
    rolesEverywhere: roles,
    orgKey: { column: 'org_id', value: orgId } as const,
    requestId,
    rolesIn: () => roles,
    workspacesWith: (role?: Role) => (holds(roles, role) ? null : new Set<string>()),
  });
}

/** A scope within one workspace. */
export function workspaceScope(
  orgId: string,
  workspaceId: string,
  principalId: string,
  roles: ReadonlySet<Role>,
  requestId: string | null = null,
): Scope {
  return Object.freeze({
    orgId,
    workspaceId,
    principalId,
    roles,
    rolesEverywhere: NO_ROLES,
    orgKey: { column: 'org_id', value: orgId } as const,
    requestId,
    key: { column: 'workspace_id', value: workspaceId } as const,
    rolesIn: (other: string) => (other === workspaceId ? roles : NO_ROLES),
    workspacesWith: (role?: Role) => new Set(holds(roles, role) ? [workspaceId] : []),
  });
}

/** Returns the scope of a request to a route that needs no workspace. */
export function scopeOf(principal: Principal & { orgId: string }, requestId: string | null = null): OrgScope {
  return Object.freeze({
    orgId: principal.orgId,
    principalId: principal.id,
    roles: principal.roles,
    rolesEverywhere: rolesEverywhere(principal),
    orgKey: { column: 'org_id', value: principal.orgId } as const,
    requestId,
    rolesIn: (workspaceId: string) => rolesIn(principal, workspaceId),
    workspacesWith: (role?: Role) => workspacesWith(principal, role),
  });
}

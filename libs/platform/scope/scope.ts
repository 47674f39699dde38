import type { Allow } from './allow';
import { holds, type Principal, rolesEverywhere, rolesIn, workspacesWith } from './principal';
import { NO_ROLES, type Role } from './roles';

/** The column and value that select the rows of one tenant. */
export interface TenantKey {
  readonly column: 'workspace_id' | 'org_id';
  readonly value: string;
}

/**
 * The tenant, the caller and its roles: the first argument of every service and repository method. Immutable. The scope of
 * a principal has the principal's access; the scope of a job has the access that the job needs.
 */
export interface OrgScope {
  readonly orgId: string;
  /** `created_by` of new resources. */
  readonly principalId: string;
  /** Roles in the organization or, for a `Scope`, in its workspace. Expanded. */
  readonly roles: ReadonlySet<Role>;
  /** Roles that apply to the whole organization. Operations that affect all workspaces need one of them. */
  readonly rolesEverywhere: ReadonlySet<Role>;
  /** What the caller's key allows. Null for no limits other than the roles. */
  readonly allow: Allow | null;
  /** `org_id`: rows of the organization. */
  readonly orgKey: TenantKey;
  /** Id of the request, also in its log line; null for the service's own work. */
  readonly requestId: string | null;
  /** Returns the roles in one workspace of the organization; none without access to it. */
  rolesIn(workspaceId: string): ReadonlySet<Role>;
  /**
   * Returns the workspaces with this role, or with any role; null for all of the organization. Lists are limited to them.
   */
  workspacesWith(role?: Role): ReadonlySet<string> | null;
}

/** A scope within one workspace. */
export interface Scope extends OrgScope {
  readonly workspaceId: string;
  /** `workspace_id`: rows of the workspace. */
  readonly key: TenantKey;
}

/** Returns a scope with these roles in every workspace of the organization, for a job or a platform principal. */
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
    allow: null,
    orgKey: { column: 'org_id', value: orgId } as const,
    requestId,
    rolesIn: () => roles,
    workspacesWith: (role?: Role) => (holds(roles, role) ? null : new Set<string>()),
  });
}

/** Returns a scope within one workspace. */
export function workspaceScope(
  orgId: string,
  workspaceId: string,
  principalId: string,
  roles: ReadonlySet<Role>,
  requestId: string | null = null,
  allow: Allow | null = null,
): Scope {
  return Object.freeze({
    orgId,
    workspaceId,
    principalId,
    roles,
    rolesEverywhere: NO_ROLES,
    allow,
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
    allow: principal.allow,
    orgKey: { column: 'org_id', value: principal.orgId } as const,
    requestId,
    rolesIn: (workspaceId: string) => rolesIn(principal, workspaceId),
    workspacesWith: (role?: Role) => workspacesWith(principal, role),
  });
}

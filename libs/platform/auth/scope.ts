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
  /**
   * The workspace to which the header narrows a request that needs none; null where nothing is narrowed. What concerns
   * the organization itself stays with `rolesEverywhere`; nothing that reaches another workspace is within reach.
   */
  readonly narrowedTo: string | null;
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

/** A scope of the service's own, for a job: these roles, in every workspace of the organization. */
export function orgScope(orgId: string, principalId: string, roles: ReadonlySet<Role>): OrgScope {
  return Object.freeze({
    orgId,
    principalId,
    roles,
    rolesEverywhere: roles,
    narrowedTo: null,
    orgKey: { column: 'org_id', value: orgId } as const,
    requestId: null,
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
    narrowedTo: null,
    orgKey: { column: 'org_id', value: orgId } as const,
    requestId,
    key: { column: 'workspace_id', value: workspaceId } as const,
    rolesIn: (other: string) => (other === workspaceId ? roles : NO_ROLES),
    workspacesWith: (role?: Role) => new Set(holds(roles, role) ? [workspaceId] : []),
  });
}

/**
 * The scope of a request to a route that needs no workspace.
 *
 * @param only the workspace that the header names although none is needed: resources elsewhere are out of reach
 *   then. It never adds to the roles held in the organization.
 */
export function scopeOf(
  principal: Principal & { orgId: string },
  only?: string,
  requestId: string | null = null,
): OrgScope {
  const scope = {
    orgId: principal.orgId,
    principalId: principal.id,
    roles: principal.roles,
    rolesEverywhere: rolesEverywhere(principal),
    narrowedTo: only ?? null,
    orgKey: { column: 'org_id', value: principal.orgId } as const,
    requestId,
  };
  if (only === undefined) {
    return Object.freeze({
      ...scope,
      rolesIn: (workspaceId: string) => rolesIn(principal, workspaceId),
      workspacesWith: (role?: Role) => workspacesWith(principal, role),
    });
  }
  const held = rolesIn(principal, only);
  return Object.freeze({
    ...scope,
    rolesIn: (workspaceId: string) => (workspaceId === only ? held : NO_ROLES),
    workspacesWith: (role?: Role) => new Set(holds(held, role) ? [only] : []),
  });
}

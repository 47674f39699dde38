import { Injectable } from '@nestjs/common';
import { type OrgScope, type Scope, workspaceScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { type Problem, problem } from '#platform/problem';
import { type AnyOf, holdsAny, READERS, requireRole } from './any-of';
import { WorkspaceAccessRepository } from './workspace-access.repository';

/** A resource in a workspace. */
interface Placed {
  workspace_id: string;
}

/**
 * Checks the caller's roles in the workspace of a resource, for routes without the workspace header. The admission
 * only checks that the caller holds a role somewhere (`RequireRoleSomewhere`).
 */
@Injectable()
export class WorkspaceAccess {
  constructor(private readonly workspaces: WorkspaceAccessRepository) {}

  /**
   * Enters the workspace of a new resource, and prevents it from being archived until the transaction ends.
   *
   * @param named the `workspace_id` of the body
   * @throws 400 for a workspace that does not exist or that the caller cannot access, 403 without one of the roles, 409 when
   *   it is archived
   */
  async enter(tx: Tx, scope: OrgScope, named: string, anyOf: AnyOf): Promise<Scope> {
    if (scope.rolesIn(named).size === 0) throw unknownWorkspace();
    const workspace = await this.workspaces.hold(tx, scope, named);
    if (!workspace) throw unknownWorkspace();
    requireRole(scope, named, anyOf);
    checkOpen(workspace);
    return narrowScope(scope, named);
  }

  /**
   * Checks that a workspace exists, archived or not, and that the caller holds one of the roles in it.
   *
   * @param named the `workspace_id` of the body
   * @throws 400 for a workspace that does not exist or that the caller cannot access, 403 without one of the roles
   */
  async checkExists(tx: Tx, scope: OrgScope, named: string, anyOf: AnyOf): Promise<void> {
    if (scope.rolesIn(named).size === 0) throw unknownWorkspace();
    if (!(await this.workspaces.hold(tx, scope, named))) throw unknownWorkspace();
    requireRole(scope, named, anyOf);
  }

  /**
   * Returns the resource if the caller may change it. Afterwards check `If-Match`, and then hold the workspace open.
   *
   * @param row the locked row, or null
   * @param kind the noun of problem details, such as `agent`
   * @throws 404 for an unknown or invisible resource, 403 without one of the roles
   */
  admit<Row extends Placed>(
    scope: OrgScope,
    row: Row | null,
    kind: string,
    id: string,
    anyOf: AnyOf,
    readers: AnyOf = READERS,
  ): Row {
    const resource = readable(scope, row, kind, id, [...readers, ...anyOf]);
    requireRole(scope, resource.workspace_id, anyOf);
    return resource;
  }

  /** Prevents a workspace from being archived until the transaction ends. Throws 409 when it is archived. */
  async holdOpen(tx: Tx, scope: OrgScope, workspaceId: string): Promise<void> {
    const workspace = await this.workspaces.hold(tx, scope, workspaceId);
    if (workspace) checkOpen(workspace);
  }
}

/** Returns the resource if the caller may read it. Throws 404 otherwise. */
export function readable<Row extends Placed>(
  scope: OrgScope,
  row: Row | null,
  kind: string,
  id: string,
  readers: AnyOf = READERS,
): Row {
  if (!row || !holdsAny(scope, row.workspace_id, readers)) throw problem.notFound(kind, id);
  return row;
}

/** Throws 422 when a patch names another workspace than the resource's own. */
export function checkNotMoved(row: Placed, named: string | undefined): void {
  if (named !== undefined && named !== row.workspace_id) {
    throw problem.validationFailed([
      { pointer: '/workspace_id', detail: 'cannot be changed: a resource cannot move to another workspace' },
    ]);
  }
}

/** Narrows the scope of a caller to a workspace that they have entered. */
export const narrowScope = (scope: OrgScope, workspaceId: string): Scope =>
  workspaceScope(
    scope.orgId,
    workspaceId,
    scope.principalId,
    scope.rolesIn(workspaceId),
    scope.requestId,
    scope.allow,
  );

function checkOpen({ archived }: { archived: boolean }): void {
  if (archived) {
    throw problem.conflict('The workspace is archived. Its resources can be read but not changed.');
  }
}

const unknownWorkspace = (): Problem =>
  problem.invalidField('/workspace_id', 'is not a workspace that you have access to');

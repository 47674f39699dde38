import { Injectable } from '@nestjs/common';
import { type OrgScope, type Scope, workspaceScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { type Problem, problem } from '#platform/problem';
import { type AnyOf, demandRole, holdsAny, READERS } from './any-of';
import { WorkspaceAccessRepository } from './workspace-access.repository';

/** A resource that lies in a workspace. */
interface Placed {
  workspace_id: string;
}

/**
 * Checks the caller's roles in the workspace of a resource, for routes without the workspace header. Their guards only
 * check that the caller holds a role somewhere (`RequireRoleSomewhere`).
 */
@Injectable()
export class WorkspaceAccess {
  constructor(private readonly workspaces: WorkspaceAccessRepository) {}

  /**
   * Enters the workspace of a new resource, and keeps it from being archived until the transaction ends.
   * Errors: 400 for one that does not exist or is out of reach, 403 without one of the roles, 409 when it is archived.
   *
   * @param named the `workspace_id` of the body
   */
  async enter(tx: Tx, scope: OrgScope, named: string, anyOf: AnyOf): Promise<Scope> {
    if (scope.rolesIn(named).size === 0) throw unknownWorkspace();
    const workspace = await this.workspaces.hold(tx, scope, named);
    if (!workspace) throw unknownWorkspace();
    demandRole(scope, named, anyOf);
    checkOpen(workspace);
    return within(scope, named);
  }

  /**
   * Admits a change of a resource. The caller then checks `If-Match`, and holds the workspace open. Errors: 404 for an
   * unknown or invisible resource, 403 without one of the roles.
   *
   * @param row the locked row, or null
   * @param kind the noun of problem details, such as `agent`
   */
  admit<Row extends Placed>(
    scope: OrgScope,
    row: Row | null,
    kind: string,
    id: string,
    anyOf: AnyOf,
    readers: AnyOf = READERS,
  ): Row {
    const seen = readable(scope, row, kind, id, [...readers, ...anyOf]);
    demandRole(scope, seen.workspace_id, anyOf);
    return seen;
  }

  /** Keeps a workspace from being archived until the transaction ends. Errors: 409 when it is archived. */
  async holdOpen(tx: Tx, scope: OrgScope, workspaceId: string): Promise<void> {
    const workspace = await this.workspaces.hold(tx, scope, workspaceId);
    if (workspace) checkOpen(workspace);
  }
}

/** Returns the resource if the caller may read it. Errors: 404. */
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
      { pointer: '/workspace_id', detail: 'a resource cannot be moved to another workspace' },
    ]);
  }
}

/** Returns the caller's scope within a workspace that they have entered. */
export const within = (scope: OrgScope, workspaceId: string): Scope =>
  workspaceScope(scope.orgId, workspaceId, scope.principalId, scope.rolesIn(workspaceId), scope.requestId);

function checkOpen({ archived }: { archived: boolean }): void {
  if (archived) {
    throw problem.conflict('The workspace is archived. Its resources can be read but not changed.');
  }
}

const unknownWorkspace = (): Problem =>
  problem.invalidFields([{ pointer: '/workspace_id', detail: 'is not a workspace that you have access to' }]);
